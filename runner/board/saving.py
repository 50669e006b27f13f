"""What to write into a task file: only the fields that change, under the keys that are there."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from runner.board.fields import id_list, spellings
from runner.core.ids import Key, key_of
from runner.errors import SaveFailed

REMOVED: Final = object()
"""As the new value of a field: the key goes away."""

Changes = Mapping[str, Any]

# kept by the runner alone; an edit by hand may not set them
OWN_FIELDS = frozenset(
    "attempt faults claim unblockedBy result error startedAt finishedAt usage retryAt".split()
)


def changed(raw: Mapping[str, Any], changes: Changes) -> dict[str, Any]:
    """`raw` with the fields of `changes` replaced, each under every spelling that it has there.

    Other keys keep value and order; new ones come last.
    """
    result = dict(raw)
    for field, value in changes.items():
        for key in [key for key in spellings(field) if key in raw] or [field]:
            if value is REMOVED:
                result.pop(key, None)
            else:
                result[key] = value
    return result


def encode_task(file: str, raw: Mapping[str, Any]) -> bytes:
    """The bytes of a task file. Raises: SaveFailed, for what JSON cannot hold.

    Lone surrogates, which UTF-8 cannot hold, are written as the escapes that they were read from.
    """
    try:
        text = json.dumps(raw, indent=2, ensure_ascii=False, allow_nan=False)
    except (RecursionError, TypeError, ValueError) as error:
        raise SaveFailed(file, f"cannot be written as JSON: {error}") from error
    return text.encode("utf-8", "backslashreplace") + b"\n"


def written(raw: Mapping[str, Any], field: str) -> list[Any]:
    """The ids that a field lists, in their written form."""
    for key in spellings(field):
        if raw.get(key) not in (None, "", []):
            return id_list(raw[key])
    return []


def moved(
    raw: Mapping[str, Any], source: str, target: str, chosen: Callable[[Key], bool]
) -> dict[str, Any]:
    """The changes that move the `chosen` ids from the list `source` to the list `target`."""
    ids = [(item, key_of(item)) for item in written(raw, source)]
    going = [(item, key) for item, key in ids if key is not None and chosen(key)]
    if not going:
        return {}
    there = {key_of(item) for item in written(raw, target)}
    gone = {key for _, key in going}
    arriving = {key: item for item, key in reversed(going) if key not in there}
    return {
        source: [item for item, key in ids if key not in gone],
        target: [*written(raw, target), *reversed(arriving.values())],
    }


def without(raw: Mapping[str, Any], field: str, keys: Collection[Key]) -> dict[str, Any]:
    """The change that takes `keys` out of the list `field`, where it is there at all."""
    ids = written(raw, field)
    left = [item for item in ids if key_of(item) not in keys]
    return {field: left} if len(left) != len(ids) else {}


def with_added(raw: Mapping[str, Any], field: str, ids: Collection[Any]) -> dict[str, Any]:
    """The change that puts `ids` into the list `field`, if the file has such a list."""
    if not any(key in raw for key in spellings(field)):
        return {}
    present = written(raw, field)
    there = {key_of(item) for item in present}
    new = [item for item in ids if key_of(item) not in there]
    return {field: [*present, *new]} if new else {}
