"""Walking a tree, globs, and the search for lines.

Only the standard library is imported: this file also runs as a bare program. A regular expression
of a model can take for ever, and Python cannot interrupt one; a process can be killed.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import stat
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SKIPPED = frozenset(
    ".tasks .team .git .hg .svn .venv node_modules __pycache__ "
    ".mypy_cache .ruff_cache .pytest_cache .tox .nox".split()
)
"""Folders that are not walked into; a walk may start inside one that is open to tools."""

_LARGEST_FILE = 20_000_000  # bytes
_LINE_CHARACTERS = 500
_SNIFF = 8_192
_MOST_ALTERNATIVES = 64


def walk(start: str) -> Iterator[tuple[str, bool]]:
    """Every path below `start`, relative to it, sorted by folder, and whether it is a folder.

    Links are listed and not followed; a folder that cannot be read is an empty one.
    """
    pending = deque([""])
    while pending:
        folder = pending.popleft()
        try:
            with os.scandir(os.path.join(start, folder)) as found:  # noqa: PTH118 - plain strings
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name.lower() in SKIPPED:
                continue
            path = f"{folder}/{entry.name}" if folder else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder:
                pending.append(path)
            yield path, is_folder


class Glob:
    """A pattern with `*`, `?`, `[...]`, `{a,b}` and `**` for any folders.

    Without a slash it means the name at any depth. Time is bounded: no backtracking over `**`.
    """

    def __init__(self, pattern: str) -> None:
        self._alternatives = [_parts(text) for text in _braces(pattern)]

    def matches(self, path: str) -> bool:
        names = path.split("/")
        return any(_fits(names, parts) for parts in self._alternatives)


_Part = re.Pattern[str] | None  # None is `**`


def _braces(pattern: str) -> list[str]:
    done: list[str] = []
    pending = deque([pattern])
    while pending and len(done) + len(pending) < _MOST_ALTERNATIVES:
        text = pending.popleft()
        group = re.search(r"\{([^{}]*,[^{}]*)\}", text)
        if group is None:
            done.append(text)
            continue
        pending.extend(
            text[: group.start()] + choice + text[group.end() :] for choice in group[1].split(",")
        )
    return [*done, *pending]


def _parts(pattern: str) -> list[_Part]:
    pattern = pattern.removeprefix("./").strip("/")
    texts = pattern.split("/") if "/" in pattern else ["**", pattern]
    return [None if text == "**" else re.compile(fnmatch.translate(text)) for text in texts]


def _fits(names: Sequence[str], parts: Sequence[_Part]) -> bool:
    """Wildcard matching with one fall-back point, the latest `**`."""
    name = part = 0
    retry: tuple[int, int] | None = None
    while name < len(names):
        pattern = parts[part] if part < len(parts) else _NOTHING
        if pattern is None:
            part += 1
            retry = (name, part)
        elif pattern.match(names[name]):
            name, part = name + 1, part + 1
        elif retry is not None:
            retry = (retry[0] + 1, retry[1])
            name, part = retry
        else:
            return False
    return all(pattern is None for pattern in parts[part:])


_NOTHING = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search for lines. `path` is a file or folder; `context` lines around each are shown.

    `label` stands for `path` in what is printed; for a folder it is empty or ends in a slash.
    """

    path: str
    label: str
    pattern: str
    glob: str | None = None
    ignore_case: bool = False
    context: int = 0
    limit: int = 200


def search(query: Query) -> Iterator[str]:
    """Lines `file:12: text`, and `file-13- text` for context. Raises: re.error."""
    expression = re.compile(query.pattern, re.IGNORECASE if query.ignore_case else 0)
    found = 0
    for label, path in _files(query):
        for is_match, line in _search_file(label, path, expression, query.context):
            if is_match and found == query.limit:
                yield f"[stopped after {found} matching lines; narrow the search]"
                return
            found += is_match
            yield line


def _files(query: Query) -> Iterator[tuple[str, str]]:
    if not os.path.isdir(query.path):  # noqa: PTH112 - plain strings
        yield query.label, query.path
        return
    glob = Glob(query.glob) if query.glob else None
    for path, is_folder in walk(query.path):
        if not is_folder and (glob is None or glob.matches(path)):
            yield query.label + path, os.path.join(query.path, path)  # noqa: PTH118 - plain strings


def _search_file(
    label: str, path: str, expression: re.Pattern[str], context: int
) -> Iterator[tuple[bool, str]]:
    lines = _lines(path)
    hits = {number for number, line in enumerate(lines) if expression.search(line)}
    shown = sorted(
        {
            number
            for hit in hits
            for number in range(max(0, hit - context), min(len(lines), hit + context + 1))
        }
    )
    for before, number in zip([None, *shown], shown, strict=False):
        if before is not None and context and number > before + 1:
            yield False, "--"
        mark = ":" if number in hits else "-"
        text = lines[number]
        if len(text) > _LINE_CHARACTERS:
            text = text[:_LINE_CHARACTERS] + " [...]"
        yield number in hits, f"{label}{mark}{number + 1}{mark} {text}"


def _lines(path: str) -> list[str]:
    """The lines of a text file; none for what is binary, too large, a link, or unreadable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return []
            data = stream.read(_LARGEST_FILE + 1)
    except OSError:
        return []
    if len(data) > _LARGEST_FILE or b"\0" in data[:_SNIFF]:
        return []
    return data.decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\n").split("\n")


def main(argument: str) -> int:  # covered in a child process: grep starts this file
    """`argument` is a Query as JSON. Exit 0 with lines, 1 without, 2 for a bad pattern."""
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    printed = False
    try:
        for line in search(Query(**json.loads(argument))):
            sys.stdout.write(f"{line}\n")
            printed = True
    except re.error as error:
        sys.stdout.write(f"the pattern is not a regular expression: {error}\n")
        return 2
    return 0 if printed else 1


if __name__ == "__main__":  # covered in a child process: grep starts this file
    sys.exit(main(sys.argv[1]))
