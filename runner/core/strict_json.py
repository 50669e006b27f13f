"""JSON that people wrote for us: strict, so that whatever is taken can be written again."""

from __future__ import annotations

import json
import math
from typing import Any


def read_json(text: str | bytes) -> Any:
    """The value of a whole document. Raises: ValueError, which says what is wrong.

    `NaN`, `Infinity` and numbers too large for a float are refused: only Python would read back
    what they are written as.
    """
    try:
        return json.loads(text, parse_constant=finite, parse_float=finite)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def finite(text: str) -> float:
    """The number that `text` is. Raises: ValueError, when JSON has no way to write it."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is no number that can be kept")
    return number
