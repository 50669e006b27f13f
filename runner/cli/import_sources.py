"""Where tasks of other tools lie, and what is read there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runner.board.importing import Found, Skipped, Tool
from runner.board.importing_json import beads, claude_code, decoded, tags_of, task_master
from runner.board.importing_markdown import TaskPage, backlog
from runner.core.ids import order_key
from runner.errors import UsageError

_FILES: dict[Tool, tuple[str, ...]] = {
    "task-master": (".taskmaster/tasks/tasks.json", "tasks/tasks.json", "tasks.json"),
    "beads": (".beads/issues.jsonl", "issues.jsonl", ".beads/beads.jsonl", "beads.jsonl"),
}
_BACKLOGS = ("backlog", ".backlog", ".")
# where Backlog.md keeps tasks, and what each place means
_PLACES = (
    ("tasks", "tasks"),
    ("completed", "completed"),
    ("archive/tasks", "archive"),
    ("drafts", "drafts"),
    ("archive/drafts", "archive"),
)
_OF_SUFFIX: dict[str, Tool] = {".json": "task-master", ".jsonl": "beads"}
_EXPECTED = (
    "expected Task Master's tasks.json, beads' issues.jsonl, a Backlog.md folder, a task folder of "
    "Claude Code, or a folder that holds one of them"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file, or a folder of files, that one tool keeps its tasks in."""

    tool: Tool
    path: Path

    def label(self, root: Path) -> str:
        """The same at each import: the path from the board, or the end of it if it lies outside."""
        if self.path.is_relative_to(root):
            return self.path.relative_to(root).as_posix()
        return "/".join(self.path.parts[-3:]).lstrip("/")


def find_source(path: Path, tool: Tool | None) -> Source:
    """What `path` is, or holds. `tool` says which is meant, where there are several.

    Raises: UsageError.
    """
    if path.is_dir():
        found = [one for one in _within(path) if tool in (None, one.tool)]
        if len(found) > 1:
            shown = ", ".join(f"{one.tool} ({one.path})" for one in found)
            raise UsageError(f"{path} holds tasks of several tools: {shown}; say --from TOOL")
        if found:
            return found[0]
        raise UsageError(f"{path}: no tasks of {tool or 'another tool'} found; {_EXPECTED}")
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder; {_EXPECTED}")
    meant = tool or _OF_SUFFIX.get(path.suffix)
    if meant not in _FILES or not path.is_file():
        raise UsageError(f"{path}: not a file of tasks that can be read; {_EXPECTED}")
    return Source(tool=meant, path=path)


def _within(folder: Path) -> Iterator[Source]:
    for tool, names in _FILES.items():
        files = [folder / name for name in names if (folder / name).is_file()]
        if files:
            yield Source(tool=tool, path=files[0])
    here = folder.parent if folder.name == "tasks" else folder
    for root in (*(folder / name for name in _BACKLOGS), here):
        if any(_files(root / "tasks", ".md")):
            yield Source(tool="backlog.md", path=root.resolve())
            break
    if any(path.stem.isdecimal() for path in _files(folder, ".json")):
        yield Source(tool="claude-code", path=folder)


def read_source(source: Source, tags: Sequence[str]) -> list[Found]:
    """What is there: one for each tag of Task Master, one in all for the others.

    Raises: UsageError, for a file that cannot be read at all.
    """
    if tags and source.tool != "task-master":
        raise UsageError(f"--tag: only lists of Task Master have tags, not {source.tool}")
    match source.tool:
        case "task-master":
            return _read_task_master(source.path, tags)
        case "beads":
            return [beads(_read(source.path))]
        case "backlog.md":
            return [_read_backlog(source.path)]
        case _:
            files = _files(source.path, ".json")
            return [_each_read(files, lambda each: claude_code((f.name, data) for f, data in each))]


def _read_task_master(path: Path, tags: Sequence[str]) -> list[Found]:
    try:
        lists = tags_of(decoded(_read(path)))
    except ValueError as error:
        raise UsageError(f"{path}: not JSON: {error}") from error
    if not lists:
        raise UsageError(f"{path}: found no list of tasks; {_EXPECTED}")
    named = ", ".join(f"{tag} ({len(tasks)})" for tag, tasks in lists.items() if tag is not None)
    unknown = [tag for tag in tags if tag not in lists]
    if unknown:
        raise UsageError(f"{path}: no tag {', '.join(unknown)}; there are: {named or 'none'}")
    if len(lists) > 1 and not tags:
        raise UsageError(f"{path} has several lists: {named}; say which: --tag NAME, may repeat")
    return [task_master(tasks, tag) for tag, tasks in lists.items() if not tags or tag in tags]


def _read_backlog(root: Path) -> Found:
    places = {file: place for folder, place in _PLACES for file in _files(root / folder, ".md")}
    return _each_read(
        places,
        lambda each: backlog(
            TaskPage(places[file], file.relative_to(root).as_posix(), data) for file, data in each
        ),
    )


def _each_read(
    files: Iterable[Path], gather: Callable[[Iterable[tuple[Path, bytes]]], Found]
) -> Found:
    """What `gather` makes of the files; one that cannot be read costs itself only."""
    unread: list[Skipped] = []

    def contents() -> Iterator[tuple[Path, bytes]]:
        for file in files:
            try:
                data = file.read_bytes()
            except OSError as error:
                unread.append(Skipped(where=file.name, reason=error.strerror or str(error)))
                continue
            yield file, data

    found = gather(contents())
    return replace(found, skipped=(*found.skipped, *unread))


def _files(folder: Path, suffix: str) -> list[Path]:
    """Regular files of that suffix, in natural order of their names; links to such files too."""
    found = [path for path in folder.glob(f"*{suffix}") if path.is_file()]
    return sorted(found, key=lambda path: order_key(path.stem))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
