"""The lines of a transcript, for people: each on one line, or whole."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from runner.cli import output
from runner.cli.moments import clock_time
from runner.core.json_lines import objects_in

_SHOWN = 240  # characters of one text

Line = dict[str, Any]


def lines_of(file: Path) -> list[Line]:
    """The lines; one that is damaged costs itself only."""
    return list(objects_in(file.read_bytes()))


def say_short(lines: Iterable[Line]) -> None:
    """`12:00:01 call       bash {"command": "make"}`, long texts shortened."""
    for line in _telling(lines):
        text = output.one_line(_content(line))
        output.say(f"{_head(line)} {output.cut(text, _SHOWN)}".rstrip())


def say_whole(lines: Iterable[Line]) -> None:
    """Every text as it is, under the line that names it if it has several lines."""
    for line in _telling(lines):
        first, *more = _content(line, whole=True).split("\n")
        output.say_text(f"{_head(line)} {first}".rstrip())
        for text in more:
            output.say_text(f"    {text}".rstrip())


def _telling(lines: Iterable[Line]) -> Iterator[Line]:
    """Without replies of calls only, which follow them."""
    return (line for line in lines if line.get("text") != "" or line.get("kind") != "assistant")


def _head(line: Line) -> str:
    return f"{clock_time(line)} {output.one_line(line.get('kind')):<10}"


def _content(line: Line, *, whole: bool = False) -> str:
    match line.get("kind"):
        case "start":
            return f"{line.get('teammate')}, agent {line.get('agent')}, model {line.get('model')}"
        case "call":
            arguments = json.dumps(line.get("arguments"), ensure_ascii=False)
            return f"{line.get('name')} {arguments}"
        case "result":
            failed = " error" if line.get("isError") else ""
            return f"{line.get('name')}{failed}: {line.get('text')}"
        case "end":
            why = f": {line['why']}" if line.get("why") else ""
            return f"{line.get('outcome')}{why}"
        case "identity" | "resumed" | "compacted":
            return _anew(line, whole=whole)
        case _:
            return str(line.get("text") or "")


def _anew(line: Line, *, whole: bool) -> str:
    """The history was made anew; what it is made of stands in other lines, but for summaries."""
    turns = line["turns"] if isinstance(line.get("turns"), list) else []
    goes_on = f"goes on from attempt {line.get('attempt')}, " if line.get("attempt") else ""
    told = f"{goes_on}history of {output.counted(len(turns), 'message')}"
    if not whole or line.get("kind") != "compacted":
        return told
    texts = [str(turn["text"]) for turn in turns if isinstance(turn, dict) and turn.get("text")]
    return "\n\n".join([told, *texts])
