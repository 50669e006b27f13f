"""The JSON of a task file: strict enough that what is written back is what was read."""

from __future__ import annotations

import codecs
import json
from typing import Any

from runner.core.strict_json import finite

MOST_LEVELS = 100


class NotAnObject(Exception):
    """The bytes are no JSON object; `kind` is the word for it in `tasks check`."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


def decode_object(data: bytes) -> tuple[dict[str, Any], bool]:
    """The object, and whether some key stands there twice (the last one counts).

    A byte order mark is forgiven. Raises: NotAnObject.
    """
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode()
        try:
            value, doubled = _EACH_KEY_ONCE.decode(text), False
        except _DoubledKey:
            value, doubled = _LAST_KEY_WINS.decode(text), True
    except UnicodeDecodeError as error:
        raise NotAnObject("invalid-json", f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        raise NotAnObject("invalid-json", f"not JSON: {error.msg} ({at})") from None
    except (ValueError, RecursionError) as error:
        raise NotAnObject("invalid-json", f"not JSON: {error}") from None
    if not isinstance(value, dict):
        found = "null" if value is None else type(value).__name__
        raise NotAnObject("not-an-object", f"expected an object, found {found}")
    return value, doubled


def is_deep(data: bytes, value: object) -> bool:
    """Whether `value`, read from `data`, is nested deeper than can be written back for sure."""
    if data.count(b"[") + data.count(b"{") <= MOST_LEVELS:
        return False
    level: list[object] = [value]
    for _ in range(MOST_LEVELS):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(level)


class _DoubledKey(Exception):
    """Not JSON's business, but one of the two values would be lost when the file is written."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _DoubledKey
    return found


_EACH_KEY_ONCE = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=finite, parse_constant=finite
)
_LAST_KEY_WINS = json.JSONDecoder(parse_float=finite, parse_constant=finite)
