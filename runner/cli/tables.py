"""Tables: drawn by rich on a terminal, one line for each row; aligned lines elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from runner.cli.output import STYLES, console, cut, is_terminal, one_line, say

_STATES = ("state", "status")
_GAP, _EDGES = 3, 2  # columns between two cells, and at both ends of a line
_ROOM = 20  # what a shortened column should keep, before others are left out for it
_SHORTEST = 8
_WIDEST = 64  # of what names a row, and of the room kept for a cell where it is no terminal


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    spare: Sequence[str] = (),
    long: Collection[str] = (),
    wrap: bool = False,
) -> None:
    """A table of `rows`, whole where it is no terminal but for very long names.

    On a terminal the columns of `long` (the last one by default) are shortened to the width, or
    with `wrap` told whole over several lines; those of `spare` are left out, the last one first,
    where they would leave no room for that; then all long ones but the first.
    """
    long = long or columns[-1:]
    cells = [
        [
            one_line(cell) if name in long else cut(one_line(cell), _WIDEST)
            for name, cell in zip(columns, row, strict=True)
        ]
        for row in rows
    ]
    if is_terminal():
        _print_drawn(columns, cells, spare, long, wrap=wrap)
        return
    widths = [min(width, _WIDEST) for width in _widths(columns, cells)[:-1]]
    for row in [[column.upper() for column in columns], *cells]:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        say("  ".join([*padded, row[-1]]).rstrip())


def _widths(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(row[at]) for row in [columns, *cells]) for at in range(len(columns))]


def _print_drawn(
    columns: Sequence[str],
    cells: Sequence[Sequence[str]],
    spare: Sequence[str],
    long: Collection[str],
    *,
    wrap: bool,
) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    screen = console()
    wanted = dict(zip(columns, _widths(columns, cells), strict=True))
    widths = fitted(wanted, spare, long, screen.width)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for name, width in widths.items():
        table.add_column(
            name,
            max_width=width,
            overflow="fold" if wrap and name in long else "ellipsis",
            no_wrap=not (wrap and name in long),
        )
    for row in cells:
        named = dict(zip(columns, row, strict=True))
        table.add_row(
            *(Text(named[name], _style(named[name]) if name in _STATES else "") for name in widths)
        )
    screen.print(table)


def _style(state: str) -> str:
    return STYLES.get(state, "")


def fitted(
    wanted: Mapping[str, int], spare: Sequence[str], long: Collection[str], room: int
) -> dict[str, int]:
    """The columns to show and the width of each: what names a row stays whole."""
    shown = dict(wanted)
    for name in reversed([name for name in spare if name in wanted]):
        if _left(shown, long, room) >= sum(min(shown[one], _ROOM) for one in long if one in shown):
            break
        del shown[name]
    while len(some := [name for name in shown if name in long]) > 1:
        if _left(shown, long, room) >= _SHORTEST * len(some):
            break
        del shown[some[-1]]
    left = _left(shown, long, room)
    flexible = sorted((name for name in shown if name in long), key=shown.__getitem__)
    for at, name in enumerate(flexible):  # the short ones get what they need, the rest is shared
        shown[name] = max(min(shown[name], left // (len(flexible) - at)), _SHORTEST)
        left -= shown[name]
    return shown


def _left(shown: Mapping[str, int], long: Collection[str], room: int) -> int:
    """What the columns that stay whole leave of a line for the others."""
    fixed = sum(width for name, width in shown.items() if name not in long)
    return room - fixed - _GAP * (len(shown) - 1) - _EDGES
