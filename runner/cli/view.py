"""What a person sees of a run while it goes on, below the lines of what has happened.

Pure: a picture in, a rich renderable out. No text wraps; what does not fit the width ends in an
ellipsis, so that eight teammates are readable at 80 columns. What does not fit the height are
teammates that are idle, then others; the header and the counts stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from runner.cli.output import STYLES, duration, one_line

NARROW, NARROWEST = 80, 50
"""Below these widths in columns only what matters more, and what matters most, is shown."""
COUNTED = ("done", "running", "ready", "blocked", "failed")
_COUNTED_AS: Mapping[str, str] = {
    "completed": "done",
    "in_progress": "running",
    "stale": "running",
    "ready": "ready",
    "assigned": "ready",
    "failed": "failed",
}


_BLOCKS: Mapping[str, str] = {"done": "█", "running": "▄"}
"""What the bar is made of, so that it can be read without colours; the rest is light."""
_OTHER_LINES = 5  # header, head of the table, bar, counts, and the line of the cursor


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
    """One moment of a run. `counts` has the keys of COUNTED.

    `ends_in` None: the run goes on; else it is ending, and takes at most so many seconds more.
    """

    team: str
    seconds: float
    rows: Sequence[Row]
    counts: Mapping[str, int]
    ends_in: float | None = None


def counts(states: Sequence[str]) -> dict[str, int]:
    """Board states in the five groups of the bar; what is deleted is not counted."""
    found = dict.fromkeys(COUNTED, 0)
    for state in states:
        if state != "deleted":
            found[_COUNTED_AS.get(state, "blocked")] += 1
    return found


def live(picture: Picture, width: int, height: int = 24) -> RenderableType:
    """The whole live view, `width` columns wide and at most `height` lines high."""
    room = max(height - _OTHER_LINES, 1)
    rows = _most_telling(picture.rows, room)
    more = len(picture.rows) - len(rows)
    parts = [_header(picture), _teammates(rows, width)]
    if more:
        parts.append(_clipped(f"and {more} more", style="dim"))
    return Group(*parts, _bar(picture.counts, width))


def _most_telling(rows: Sequence[Row], room: int) -> Sequence[Row]:
    """As many rows as there is room for, in their order; those at work before idle ones."""
    if len(rows) <= room:
        return rows
    at_work = sorted(range(len(rows)), key=lambda at: rows[at].state != "working")
    return [rows[at] for at in sorted(at_work[: max(room - 1, 0)])]


def _header(picture: Picture) -> RenderableType:
    if picture.ends_in is None:
        state = f"running for {duration(picture.seconds)}"
    else:
        state = f"ending, at most {picture.ends_in:.0f} s more"
    return _clipped(one_line(f"{picture.team}: {state}"), style="bold")


def _teammates(rows: Sequence[Row], width: int) -> RenderableType:
    wide, timed = width >= NARROW, width >= NARROWEST
    table = _table()
    _column(table, "teammate", width=11)
    if wide:
        _column(table, "role", width=9)
    _column(table, "state", width=8)
    _column(table, "task", ratio=1)
    if wide:
        _column(table, "turn", width=4, justify="right")
        _column(table, "tool", width=10)
    if timed:
        _column(table, "time", width=7, justify="right")
    for row in rows:
        role = [one_line(row.role)] if wide else []
        turn = ["" if row.turn is None else str(row.turn), one_line(row.tool)] if wide else []
        time = [duration(row.seconds)] if timed else []
        table.add_row(
            one_line(row.name), *role, _styled(row.state), one_line(row.task), *turn, *time
        )
    return table


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
        bar.append(_BLOCKS.get(name, "░") * (end - at), style=STYLES[name])
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
