"""JSON values that pass between models and files: their kinds, their text, what JSON cannot say."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("null", (type(None),)),
    ("boolean", (bool,)),
    ("string", (str,)),
    ("integer", (int,)),
    ("number", (float,)),
    ("array", (list, tuple)),
    ("object", (Mapping,)),
)


def kind_of(value: Any) -> str:
    """What JSON calls a value of this kind."""
    return next((kind for kind, types in _KINDS if isinstance(value, types)), "no JSON value")


def as_json(value: Any) -> str:
    """The value on one line, as a model would write it."""
    return json.dumps(value, ensure_ascii=False, default=str)


def number_text(number: float) -> str | None:
    """`NaN`, `Infinity` or `-Infinity`, which JSON has no numbers for; None for a number."""
    return None if math.isfinite(number) else json.dumps(number)


def misfits(value: Any, at: str = "$") -> Iterator[str]:
    """`$.path: NaN is no JSON value` for every number in `value` that JSON cannot say."""
    if isinstance(value, float) and (text := number_text(value)):
        yield f"{at}: {text} is no JSON value"
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from misfits(inner, f"{at}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from misfits(inner, f"{at}[{index}]")


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """The value with every text in it changed, names of fields included.

    What is no number of JSON becomes the text that stands for it, so the result can be saved.
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, float):
        return number_text(value) or value
    if isinstance(value, Mapping):
        return {change(str(key)): with_texts(inner, change) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [with_texts(inner, change) for inner in value]
    return value
