"""The summary of a run that ended: its tasks, what is left over and why, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runner.cli import output
from runner.cli.output import counted, cut, duration, one_line
from runner.cli.tables import print_table
from runner.cli.used import used

Subjects = Mapping[Any, str]

_COLUMNS = ("task", "status", "by", "tries", "time", "subject")
_SUBJECT_LENGTH = 120
_SPARE = ("by", "tries", "time")
VERDICTS: Mapping[int, str] = {
    0: "all done",
    1: "something failed",
    2: "nothing was started",
    3: "something is left undone",
    4: "a budget or time limit was reached",
    129: "stopped: the terminal went away (SIGHUP)",
    130: "stopped from the keyboard (SIGINT)",
    143: "stopped by a request to end (SIGTERM)",
}


def print_summary(report: Mapping[str, Any], subjects: Subjects) -> None:
    """Everything that is to be said about `report`, which has the shape of `run --json`."""
    tasks = [task for task in report["tasks"] if task.get("status") != "deleted"]
    if tasks:
        print_table(_COLUMNS, [_row(task, subjects) for task in tasks], spare=_SPARE)
    for line in leftovers(tasks, subjects):
        output.say(line)
    for note in report.get("notes", ()):
        output.say(one_line(note))
    if text := used(report.get("totals") or {}):
        output.say(f"used: {text}")
    output.say(verdict(report))


def _row(task: Mapping[str, Any], subjects: Subjects) -> tuple[object, ...]:
    seconds = task.get("seconds")
    return (
        task["id"],
        _status(task),
        task.get("owner"),
        task.get("attempts") or None,
        None if seconds is None else duration(seconds),
        subjects.get(task["id"]),
    )


def _status(task: Mapping[str, Any]) -> str:
    """The state where it says more than `pending` does."""
    status, state = task.get("status"), task.get("state")
    return one_line(state if status in {None, "pending"} and state else status)


def leftovers(tasks: Sequence[Mapping[str, Any]], subjects: Subjects) -> list[str]:
    """One line for every task that is neither done nor deleted, with its whole reason."""
    lines = []
    for task in tasks:
        if task.get("status") in {"completed", "deleted"}:
            continue
        reason = one_line(task.get("error") or task.get("reason")) or "no reason given"
        subject = cut(one_line(subjects.get(task["id"])), _SUBJECT_LENGTH)
        lines.append(f"{one_line(task['id'])} {subject} ({_status(task)}): {reason}")
    return lines


def verdict(report: Mapping[str, Any]) -> str:
    """One line: how it ended, what that means, how much was done."""
    tasks = [task for task in report["tasks"] if task.get("status") != "deleted"]
    done = sum(task.get("status") == "completed" for task in tasks)
    code = report["exit"]
    meaning = VERDICTS.get(code, "ended") if tasks or code else "nothing to do"
    return f"{meaning}: {done} of {counted(len(tasks), 'task')} completed (exit {code})"
