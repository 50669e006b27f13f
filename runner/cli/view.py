"""What a person sees of a run: the live view while it goes on, the summary at its end.

Pure: pictures and reports in, rich renderables or lines out. No text wraps; what does not fit the
width ends in an ellipsis, so that eight teammates are readable at 80 columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from runner.cli.output import one_line, one_line_kept

COUNTED = ("done", "running", "ready", "blocked", "failed")
STYLES: Mapping[str, str] = {
    "done": "green",
    "running": "cyan",
    "ready": "white",
    "blocked": "yellow",
    "failed": "red",
    "working": "cyan",
    "idle": "dim",
    "shutdown": "dim",
    "completed": "green",
    "in_progress": "cyan",
}
_COUNTED_AS: Mapping[str, str] = {
    "completed": "done",
    "in_progress": "running",
    "stale": "running",
    "ready": "ready",
    "assigned": "ready",
    "failed": "failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One teammate. `task` is `ID SUBJECT`, `seconds` since its last change of state."""

    name: str
    role: str
    state: str
    task: str = ""
    turn: int | None = None
    tool: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One moment of a run. `counts` has the keys of COUNTED; `events` are lines, newest last."""

    board: str
    workspace: str
    run: str
    team: str
    seconds: float
    rows: Sequence[Row]
    counts: Mapping[str, int]
    events: Sequence[str] = ()


def counts(states: Sequence[str]) -> dict[str, int]:
    """Board states in the five groups of the bar; what is deleted is not counted."""
    found = dict.fromkeys(COUNTED, 0)
    for state in states:
        if state != "deleted":
            found[_COUNTED_AS.get(state, "blocked")] += 1
    return found


def live(picture: Picture, width: int) -> RenderableType:
    """The whole live view, `width` columns wide."""
    parts = [_header(picture), _teammates(picture.rows), _bar(picture.counts, width)]
    recent = [_clipped(one_line_kept(line), style="dim") for line in picture.events]
    return Group(*parts, *recent)


def _header(picture: Picture) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 1))
    grid.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    grid.add_column(justify="right", no_wrap=True, overflow="ellipsis", max_width=32)
    grid.add_row(
        _clipped(one_line(f"board {picture.board}")), _clipped(f"run {picture.run}", style="bold")
    )
    grid.add_row(
        _clipped(one_line(f"works in {picture.workspace}")),
        _clipped(one_line(f"team {picture.team} {duration(picture.seconds)}")),
    )
    return grid


def _teammates(rows: Sequence[Row]) -> RenderableType:
    table = _table()
    _column(table, "teammate", width=11)
    _column(table, "role", width=9)
    _column(table, "state", width=8)
    _column(table, "task", ratio=1)
    _column(table, "turn", width=4, justify="right")
    _column(table, "tool", width=10)
    _column(table, "time", width=7, justify="right")
    for row in rows:
        table.add_row(
            one_line(row.name),
            one_line(row.role),
            _styled(row.state),
            one_line(row.task),
            "" if row.turn is None else str(row.turn),
            one_line(row.tool),
            duration(row.seconds),
        )
    return Padding(table, (1, 0))


def _table() -> Table:
    return Table(box=None, expand=True, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")


def _column(
    table: Table,
    name: str,
    *,
    width: int | None = None,
    max_width: int | None = None,
    ratio: int | None = None,
    justify: JustifyMethod = "left",
) -> None:
    table.add_column(
        name,
        width=width,
        max_width=max_width,
        ratio=ratio,
        justify=justify,
        no_wrap=True,
        overflow="ellipsis",
    )


def _bar(numbers: Mapping[str, int], width: int) -> RenderableType:
    """A bar of the board's states, and the same in words under it."""
    total = sum(numbers.values())
    bar = Text(no_wrap=True)
    at = so_far = 0
    for name in COUNTED:
        so_far += numbers[name]
        end = round(so_far / total * width) if total else 0
        bar.append(("━" if name != "blocked" else "─") * (end - at), style=STYLES[name])
        at = end
    words = Text(no_wrap=True, overflow="ellipsis")
    for name in COUNTED:
        words.append(f"{numbers[name]} {name}  ", style=STYLES[name] if numbers[name] else "dim")
    words.append(f"of {total}", style="dim")
    return Group(bar, words)


def _styled(word: str) -> Text:
    return Text(word, style=STYLES.get(word, ""))


def _clipped(text: str, *, style: str = "") -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def duration(seconds: float) -> str:
    """`4.2s`, `2:05`, `1:02:03`."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def final_table(tasks: Sequence[Mapping[str, Any]], subjects: Mapping[Any, str]) -> Table:
    """The tasks of a report (`run --json`) as a table; reasons in full follow in `leftovers`."""
    rows = final_rows(tasks, subjects)
    with_reasons = any(row[-1] for row in rows)
    table = _table()
    _column(table, "task", max_width=11)
    _column(table, "subject", ratio=3)
    _column(table, "status", width=11)
    _column(table, "by", max_width=11)
    _column(table, "tries", width=5, justify="right")
    _column(table, "time", width=7, justify="right")
    if with_reasons:
        _column(table, "reason", ratio=2)
    for identity, subject, status, *rest, reason in rows:
        last = [reason] if with_reasons else []
        table.add_row(identity, subject, _styled(status), *rest, *last)
    return table


def final_rows(tasks: Sequence[Mapping[str, Any]], subjects: Mapping[Any, str]) -> list[list[str]]:
    """Task, subject, status, by, tries, time, reason: a row of words for each task."""
    return [
        [
            one_line(task["id"]),
            one_line(subjects.get(task["id"])),
            shown_status(task),
            one_line(task.get("owner")),
            str(task.get("attempts") or ""),
            "" if task.get("seconds") is None else duration(task["seconds"]),
            one_line(task.get("error") or task.get("reason")),
        ]
        for task in tasks
    ]


def shown_status(task: Mapping[str, Any]) -> str:
    """The state where it says more than `pending` does."""
    status, state = task.get("status"), task.get("state")
    return one_line(state if status in {None, "pending"} and state else status)


def leftovers(tasks: Sequence[Mapping[str, Any]], subjects: Mapping[Any, str]) -> list[str]:
    """One line for every task that is neither done nor deleted, with its whole reason."""
    lines = []
    for task in tasks:
        if task.get("status") in {"completed", "deleted"}:
            continue
        reason = one_line(task.get("error") or task.get("reason")) or "no reason given"
        subject = one_line(subjects.get(task["id"]))
        lines.append(f"{one_line(task['id'])} {subject} ({shown_status(task)}): {reason}")
    return lines


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


def verdict(report: Mapping[str, Any]) -> str:
    """One line: how it ended, what that means, how much was done."""
    tasks = [task for task in report["tasks"] if task.get("status") != "deleted"]
    done = sum(task.get("status") == "completed" for task in tasks)
    code = report["exit"]
    meaning = VERDICTS.get(code, "ended") if tasks or code else "nothing to do"
    return f"{meaning}: {done} of {len(tasks)} tasks completed (exit {code})"
