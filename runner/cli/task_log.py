"""`runner tasks log`: the transcript of an attempt, for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from runner.cli import boards, here, output
from runner.cli.event_line import local_time
from runner.core.ids import safe_name
from runner.errors import RunnerError

_SHOWN = 240  # characters of one text


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
    lines = list(lines_of(file))
    if as_json:
        output.print_json(lines)
        return
    whose = "" if subagent is None else f"subagent {subagent} of "
    output.say(f"{whose}attempt {whole.stem} at task {task.id}, from {file}")
    for line in lines:
        if line.get("text") != "" or line.get("kind") != "assistant":  # calls only: they follow
            output.say(_told(line))
    if subagent is None and children:
        output.say(f"subagents: {', '.join(children)}; --subagent ID shows one")


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
    there = sorted((path for path in folder.glob("*.jsonl") if path.stem.isdecimal()), key=_number)
    found = [path for path in there if attempt in {None, _number(path)}]
    if not found:
        which = f"attempt {attempt} at task {task_id}" if attempt is not None else f"task {task_id}"
        known = ", ".join(path.stem for path in there)
        hint = f"there are those of attempt {known}" if known else "no agent worked on it"
        raise RunnerError(f"{which} has no transcript: {hint}")
    return found[-1]


def _number(path: Path) -> int:
    return int(path.stem)


def lines_of(file: Path) -> Iterator[dict[str, Any]]:
    """The lines; one that is damaged costs itself only."""
    for text in file.read_bytes().split(b"\n"):
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict):
            yield line


def _told(line: dict[str, Any]) -> str:
    """`12:00:01 call       bash {"command": "make"}`."""
    moment = local_time(line)
    clock = moment.strftime("%H:%M:%S") if moment else "--:--:--"
    kind = output.one_line(line.get("kind"))
    return f"{clock} {kind:<10} {_shortened(_content(kind, line))}".rstrip()


def _content(kind: str, line: dict[str, Any]) -> str:
    if kind == "start":
        return f"{line.get('teammate')}, agent {line.get('agent')}, model {line.get('model')}"
    if kind == "call":
        arguments = json.dumps(line.get("arguments"), ensure_ascii=False)
        return f"{line.get('name')} {arguments}"
    if kind == "result":
        failed = " error" if line.get("isError") else ""
        return f"{line.get('name')}{failed}: {line.get('text')}"
    if kind == "end":
        why = f": {line['why']}" if line.get("why") else ""
        return f"{line.get('outcome')}{why}"
    return str(line.get("text") or "")


def _shortened(text: str) -> str:
    line = output.one_line(text)
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
