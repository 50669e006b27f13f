"""What is wrong with a value by a JSON Schema, told of the fields where it is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from runner.work.json_values import as_json
from runner.work.results.shape import shortened

_CHOICES = ("anyOf", "oneOf")
_Told = tuple[int, str, str]  # depth, path, reason


def problems_of(errors: Iterable[Any]) -> list[str]:
    """`$.path: reason` for what a validator found, the outermost first."""
    told = sorted({one for error in errors for one in _told(error)})
    return [f"{path}: {reason}" for _, path, reason in told]


def _told(error: Any) -> Iterator[_Told]:
    """The error; where a value fits none of several schemas, what keeps it from the nearest."""
    branches = _branches(error) if error.validator in _CHOICES else []
    nearest = min(branches, key=_distance, default=())
    if not nearest or _is_of_other_kind(nearest):
        yield _line(error, in_json(error))
    elif constant := _constant(nearest):
        yield _line(constant, _alternatives(constant, branches))
    else:
        for inner in nearest:
            yield from _told(inner)


def _branches(error: Any) -> list[Sequence[Any]]:
    """What is against each of the schemas of a choice."""
    branches: dict[Any, list[Any]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    return list(branches.values())


def _distance(branch: Sequence[Any]) -> tuple[bool, bool, int]:
    return _is_of_other_kind(branch), _constant(branch) is not None, len(branch)


def _is_of_other_kind(branch: Sequence[Any]) -> bool:
    """Whether the value is wrong as a whole, an object instead of a text for example."""
    return any(error.validator == "type" and not error.relative_path for error in branch)


def _constant(branch: Sequence[Any]) -> Any:
    """A field that must have one value and has another, such as the tag of a variant."""
    return next((error for error in branch if error.validator == "const"), None)


def _alternatives(constant: Any, branches: Iterable[Sequence[Any]]) -> str:
    wanted = [
        as_json(error.validator_value)
        for branch in branches
        for error in branch
        if error.validator == "const" and error.absolute_path == constant.absolute_path
    ]
    return f"{as_json(constant.instance)} is none of {', '.join(wanted)}"


def _line(error: Any, reason: str) -> _Told:
    return len(error.absolute_path), error.json_path, shortened(reason)


def in_json(error: Any) -> str:
    """The message with values as JSON writes them: the library writes them as Python does."""
    if error.validator is None:
        return f"nothing is allowed here, found {as_json(error.instance)}"
    text = str(error.message)
    expected = error.validator_value
    parts = expected if isinstance(expected, list) else ()
    for value in (error.instance, expected, *parts):
        text = text.replace(repr(value), as_json(value))
    return text
