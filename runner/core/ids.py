"""Names that become paths, ids of tasks as keys, and random ids."""

from __future__ import annotations

import math
import re
import secrets
from functools import lru_cache

from runner.errors import UnsafeName

LEAD = "lead"
"""Reserved: whoever steers the team from outside."""

Key = str
"""A normalised id: decimal digits without leading zeros, or any other text as it is."""

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
# Device names of Windows: a board is often shared with a checkout there.
_DEVICES = re.compile(r"(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?\Z")
_NUMBERED = re.compile(r"(?:task_)?([0-9]+)\Z")
_MOST_DIGITS = 15
_DIGITS = re.compile(r"([0-9]+)")
# Controls (line breaks and escape sequences among them), line separators, lone surrogates.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

ONE_LINE = "one line of printable text"
"""What `is_one_line` asks for, in words."""


def is_safe(value: object) -> bool:
    """Whether `value` may become one component of a path."""
    return isinstance(value, str) and bool(_SAFE.match(value)) and not _DEVICES.match(value)


def is_one_line(value: object) -> bool:
    """Whether `value` is a text that shows as one line: a subject, a role, the name of an agent."""
    return isinstance(value, str) and bool(value.strip()) and not _UNPRINTABLE.search(value)


def safe_name(what: str, value: object) -> str:
    """`value` itself if it may become a path component. `what` names it in the error.

    Raises: UnsafeName.
    """
    if not is_safe(value):
        raise UnsafeName(what, value)
    return str(value)


def key_of(value: object) -> Key | None:
    """The key of an id as written in a file; None for what cannot be an id.

    `3`, `"3"`, `3.0`, `"task_3"` and `"task_003"` are one task; other text is kept as it is.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return str(int(value)) if math.isfinite(value) and value.is_integer() else None
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    numbered = _NUMBERED.match(text)
    if numbered:
        return numbered[1].lstrip("0") or "0"
    return text or None


def number_of(key: Key) -> int | None:
    """The number that a key is; None for text, and for one so long that nobody counted up to it."""
    if key.isascii() and key.isdecimal() and len(key) <= _MOST_DIGITS:
        return int(key)
    return None


@lru_cache(maxsize=1 << 16)
def order_key(key: Key) -> tuple[object, ...]:
    """What to sort keys by: numbers first and as numbers, then natural order of the text."""
    if key.isascii() and key.isdigit():
        return (0, len(key), key)
    # the split alternates text and digits, so that equal places always compare
    parts = _DIGITS.split(key)
    natural = tuple(
        (len(part.lstrip("0")), part.lstrip("0")) if place % 2 else part
        for place, part in enumerate(parts)
    )
    return (1, natural, key)


def random_id(prefix: str = "") -> str:
    """An id that nobody else has: 12 hex digits behind `prefix`."""
    return prefix + secrets.token_hex(6)
