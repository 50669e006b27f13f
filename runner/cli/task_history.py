"""The attempts at a task, from the journals and the transcripts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from runner.board.attempts import AttemptRecord, attempts_of
from runner.board.task import Task
from runner.cli import output
from runner.cli.tables import print_table
from runner.cli.transcript_text import lines_of
from runner.core.events import events_in
from runner.core.ids import is_safe
from runner.core.layout import Layout

Told = dict[str, Any]
# what `end` lines of transcripts call an outcome
_OUTCOMES = {
    "Done": "completed",
    "Failed": "failed",
    "LimitReached": "failed",
    "Faulted": "retried",
    "HandedBack": "released",
    "Lost": "lost",
}


def history(layout: Layout, task: Task) -> list[Told]:
    """The attempts in order, each `{"attempt", "run", "teammate", "agent", "model", "began",
    "ended", "seconds", "outcome", "reason", "transcript"}`; what is not known is null.
    """
    events = sorted(_events(layout, task), key=lambda event: str(event.get("ts", "")))
    records = attempts_of(task, events)
    folder = layout.transcripts / f"task_{task.key}"
    files = {
        int(path.stem): path
        for path in (folder.glob("*.jsonl") if is_safe(task.key) else ())
        if path.stem.isdecimal() and path.is_file()
    }
    known = {record.attempt for record in records}
    records += [AttemptRecord(attempt=number) for number in files if number not in known]
    records.sort(key=lambda record: record.attempt)
    return [_told(record, files.get(record.attempt)) for record in records]


def print_history(told: Sequence[Told]) -> None:
    """A table of the attempts, under a line of its own."""
    output.say()
    rows = [
        (
            *(one["attempt"], one["outcome"] or "not recorded", one["teammate"], one["run"]),
            one["agent"],
            output.duration(one["seconds"]) if one["seconds"] is not None else None,
            one["reason"],
        )
        for one in told
    ]
    columns = ("attempt", "outcome", "teammate", "run", "agent", "took", "reason")
    print_table(columns, rows, spare=("run", "agent"), wrap=True)


def _events(layout: Layout, task: Task) -> Iterator[Told]:
    """The events that may be about the task; other lines are not even parsed."""
    named = re.compile(rb'"task": "?(?:task_)?0*' + re.escape(task.key.encode()) + rb'"?[,}]')
    for path in layout.journals():
        try:
            data = path.read_bytes()
        except OSError:
            continue
        yield from events_in(b"\n".join(line for line in data.split(b"\n") if named.search(line)))


def _told(record: AttemptRecord, transcript: Path | None) -> Told:
    if transcript is not None and None in (record.began, record.outcome, record.agent):
        record = _with_transcript(record, transcript)
    return {
        **asdict(record),
        "seconds": record.seconds,
        "transcript": str(transcript) if transcript else None,
    }


def _with_transcript(record: AttemptRecord, transcript: Path) -> AttemptRecord:
    """What the journal does not tell, as the first and the last line of the transcript do."""
    for line in lines_of(transcript):
        text = {key: value for key, value in line.items() if isinstance(value, str) and value}
        if line.get("kind") == "start":
            record = replace(
                record,
                teammate=record.teammate or text.get("teammate"),
                agent=record.agent or text.get("agent"),
                model=record.model or text.get("model"),
                began=record.began or text.get("ts"),
            )
        elif line.get("kind") == "end" and record.outcome is None:
            outcome: Any = _OUTCOMES.get(text.get("outcome", ""))
            record = replace(record, outcome=outcome, ended=text.get("ts"), reason=text.get("why"))
    return record
