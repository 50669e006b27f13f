"""Checks for single configuration values: each returns the value or says what was expected."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from runner.core.ids import ONE_LINE, is_one_line, is_safe

Reader = Callable[[Any], Any]


class Unfit(Exception):
    """A value that a key cannot have: `expected` instead, at `at` inside the value."""

    def __init__(self, expected: str, *, at: str = "", found: Any = None) -> None:
        self.expected, self.at, self._found = expected, at, found
        super().__init__(expected)

    def of(self, whole: Any) -> Any:
        """What was found at the place: the whole value, unless a part of it is at fault."""
        return self._found if self.at else whole


def written_number(value: object) -> object:
    """A number written as text becomes one; anything else stays."""
    if isinstance(value, str):
        for kind in (int, float):
            try:
                return kind(value.strip())
            except ValueError:
                continue
    return value


def finite_number(value: object) -> int | float | None:
    """A number that a float can hold, as it is; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # a whole number of more than 308 digits
        return None


def text(value: Any) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise Unfit("a text (quote words such as no, on or 7)")


def one_line(value: Any) -> str:
    if is_one_line(value):
        return str(value)
    raise Unfit(f"{ONE_LINE} (quote words such as no, on or 7)")


def name(value: Any) -> str:
    if is_safe(value):
        return str(value)
    raise Unfit(
        "a name: 1 to 64 letters, digits, '.', '_' or '-', starting with a letter or digit "
        "(quote names such as no, on or 7)"
    )


def one_of(*words: str) -> Reader:
    def read(value: Any) -> Any:
        if value in words:
            return value
        raise Unfit(f"one of {', '.join(words)}")

    return read


def number(*, above: float | None = None) -> Reader:
    def read(value: Any) -> float:
        found = finite_number(value)
        if found is not None and (found >= 0 if above is None else found > above):
            return float(found)
        raise Unfit("a number from 0 up" if above is None else f"a number above {above:g}")

    return read


def count(*, least: int | None) -> Reader:
    def read(value: Any) -> int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        if whole and (least is None or value >= least):
            return int(value)
        raise Unfit("a whole number" if least is None else f"a whole number from {least} up")

    return read


def mapping(value: Any) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise Unfit("a mapping")
