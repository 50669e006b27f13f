"""What a person sees of a run while it goes on.

Pure: a picture in, a rich renderable out. No text wraps; what does not fit the
width ends in an ellipsis, so that eight teammates are readable at 80 columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from runner.cli.output import NARROW, STYLES, duration, one_line, spaced_line

COUNTED = ("done", "running", "ready", "blocked", "failed")
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
    parts = [_header(picture), _teammates(picture.rows, width), _bar(picture.counts, width)]
    recent = [_clipped(spaced_line(line), style="dim") for line in picture.events]
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


def _teammates(rows: Sequence[Row], width: int) -> RenderableType:
    narrow = width < NARROW
    table = _table()
    _column(table, "teammate", width=11)
    if not narrow:
        _column(table, "role", width=9)
    _column(table, "state", width=8)
    _column(table, "task", ratio=1)
    if not narrow:
        _column(table, "turn", width=4, justify="right")
        _column(table, "tool", width=10)
        _column(table, "time", width=7, justify="right")
    for row in rows:
        name, state, task = one_line(row.name), _styled(row.state), one_line(row.task)
        if narrow:
            table.add_row(name, state, task)
            continue
        turn = "" if row.turn is None else str(row.turn)
        tool, time = one_line(row.tool), duration(row.seconds)
        table.add_row(name, one_line(row.role), state, task, turn, tool, time)
    return Padding(table, (1, 0))


def _table() -> Table:
    return Table(box=None, expand=True, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")


def _column(
    table: Table,
    name: str,
    *,
    width: int | None = None,
    ratio: int | None = None,
    justify: JustifyMethod = "left",
) -> None:
    table.add_column(
        name,
        width=width,
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
