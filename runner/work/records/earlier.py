"""How the attempt before this one ended: what its transcript or the task says about it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.board.task import Task
from runner.core.layout import Layout
from runner.work.records.transcript import task_transcript
from runner.work.results.shape import shortened

_TAIL = 65_536  # bytes; the last line says how it ended
_LONGEST = 1_000  # characters of a reason
_ENDS = {
    "Done": "handed in a result that was accepted; then the task was opened again",
    "Failed": "failed",
    "LimitReached": "failed",
    "Faulted": "was broken off by a fault",
    "HandedBack": "was given back unfinished",
    "Lost": "lost its claim",
}


def earlier_end(layout: Layout, task: Task) -> str:
    """A sentence for the model on the attempt before; there was one. One thread hop."""
    before = replace(task, attempt=task.attempt - 1)
    last = _last_line(task_transcript(layout, before))
    said, why = _ENDS.get(str(last.get("outcome"))), last.get("why")
    if last.get("limit") == "budget":
        said = "was given back unfinished"  # a limit of the run, not of the work
    _, fault, told = (task.error or "").rpartition(f"attempt {before.attempt}: ")
    if fault and last.get("outcome") != "Faulted":
        said = None  # whatever it came to, the board was not told
    return _sentence(before.attempt, said or "did not come to its end", why if said else told)


def _sentence(attempt: int, said: str, why: Any) -> str:
    reason = f": {shortened(why, _LONGEST)}" if isinstance(why, str) and why else "."
    return f"Attempt {attempt} {said}{reason}"


def _last_line(transcript: Path) -> dict[str, Any]:
    """The last line if it can be read, else an empty object."""
    try:
        with transcript.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(size - _TAIL, 0))
            value = json.loads(stream.read().rstrip(b"\n").rpartition(b"\n")[2])
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
