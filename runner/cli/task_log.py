"""`runner tasks log`: the transcript of an attempt, for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from runner.board.task import Task
from runner.cli import boards, here, output
from runner.cli.transcript_text import lines_of, say_short, say_whole
from runner.core.ids import is_safe, safe_name
from runner.core.layout import Layout
from runner.errors import RunnerError

_NOBODY = "no agent worked on it; `runner tasks show {}` tells what became of it"


@click.command()
@here.task_id
@click.option("--attempt", metavar="N", type=int, help="Which attempt; default: the last one.")
@click.option("--subagent", metavar="ID", help="That of a subagent of the attempt: 1, 1-2.")
@here.as_json
@click.pass_context
def log(
    context: click.Context, task_id: str, attempt: int | None, subagent: str | None, as_json: bool
) -> None:
    """Show an attempt: turns, calls and their results.

    Long texts are shortened; they are whole in the file, which is named first, and with --json.
    Transcripts of subagents are named last.
    """
    store = boards.open_store(context)
    store.scan()
    task = store.find(task_id)
    folder = store.layout.transcripts / ("task_" + safe_name("task id", task.key))
    whole = _file(folder, task_id, attempt)
    children = _subagents(whole)
    file = whole if subagent is None else _child_file(children, subagent, whole)
    lines = lines_of(file)
    if as_json:
        output.print_json(lines)
        return
    output.say(_heading(task, whole.stem, subagent, file))
    say_short(lines)
    if subagent is None and children:
        output.say(f"subagents: {', '.join(children)}; --subagent ID shows one")


def say_transcripts(layout: Layout, task: Task) -> None:
    """All that was said and done at the task, attempt for attempt, subagents behind each."""
    for attempt, subagent, file in _transcripts(layout, task):
        output.say(f"\n{_heading(task, attempt, subagent, file)}")
        say_whole(lines_of(file))


def transcripts_json(layout: Layout, task: Task) -> list[dict[str, Any]]:
    """`[{"attempt", "subagent", "lines"}]`, `subagent` null for the attempt itself."""
    return [
        {"attempt": int(attempt), "subagent": subagent, "lines": lines_of(file)}
        for attempt, subagent, file in _transcripts(layout, task)
    ]


def _transcripts(layout: Layout, task: Task) -> list[tuple[str, str | None, Path]]:
    """(attempt, subagent, file) of every transcript there is."""
    if not is_safe(task.key):
        return []
    found: list[tuple[str, str | None, Path]] = []
    for whole in _attempts(layout.transcripts / f"task_{task.key}"):
        found.append((whole.stem, None, whole))
        found += ((whole.stem, child, file) for child, file in _subagents(whole).items())
    return found


def _heading(task: Task, attempt: str, subagent: str | None, file: Path) -> str:
    whose = "" if subagent is None else f"subagent {subagent} of "
    return f"{whose}attempt {attempt} at task {task.id}, from {file}"


def _subagents(whole: Path) -> dict[str, Path]:
    """The transcripts of the subagents of an attempt, by their ids, in natural order."""
    prefix = f"{whole.stem}-"
    found = {
        path.stem.removeprefix(prefix): path
        for path in whole.parent.glob(f"{prefix}*.jsonl")
        if path.stem.replace("-", "").isdecimal()
    }
    numbers = {name: [int(part) for part in name.split("-")] for name in found}
    return {name: found[name] for name in sorted(found, key=numbers.__getitem__)}


def _child_file(children: dict[str, Path], wanted: str, whole: Path) -> Path:
    """Raises: RunnerError, when there is no such subagent."""
    if wanted not in children:
        hint = f"there are {', '.join(children)}" if children else "it started none"
        raise RunnerError(f"attempt {whole.stem} has no subagent {wanted!r}: {hint}")
    return children[wanted]


def _file(folder: Path, task_id: str, attempt: int | None) -> Path:
    """Raises: RunnerError, when there is no such transcript."""
    there = _attempts(folder)
    found = [path for path in there if attempt in {None, _number(path)}]
    if not found:
        which = f"attempt {attempt} at task {task_id}" if attempt is not None else f"task {task_id}"
        known = ", ".join(path.stem for path in there)
        hint = f"there are those of attempt {known}" if known else _NOBODY.format(task_id)
        raise RunnerError(f"{which} has no transcript: {hint}")
    return found[-1]


def _attempts(folder: Path) -> list[Path]:
    """The transcripts of the attempts in order."""
    return sorted((path for path in folder.glob("*.jsonl") if path.stem.isdecimal()), key=_number)


def _number(path: Path) -> int:
    return int(path.stem)
