"""Single fields of a task file, read leniently.

Each reader takes the written value (never null) and gives what it means. Raises: NotUnderstood,
with what was expected, for a value that means nothing here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from runner.board.task import Claim, Status
from runner.core.clock import from_iso
from runner.core.ids import Key, is_safe, key_of
from runner.core.readers import finite_number, written_number


class NotUnderstood(Exception):
    """A value that means nothing in its field; the text says what was expected."""


# the canonical name first; a file keeps the spelling that it uses
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "task_id"),
    "subject": ("subject", "title", "name"),
    "owner": ("owner", "claimed_by"),
    "blockedBy": ("blockedBy", "blocked_by"),
    "required_role": ("required_role", "claim_role", "requiredRole"),
}

_STATUSES: Mapping[str, Status] = {
    "pending": "pending",
    "open": "pending",
    "todo": "pending",
    "in_progress": "in_progress",
    "doing": "in_progress",
    "completed": "completed",
    "done": "completed",
    "closed": "completed",
    "failed": "failed",
    "deleted": "deleted",
    "cancelled": "deleted",
    "canceled": "deleted",
}
_PRIORITIES = {"urgent": 2, "high": 1, "medium": 0, "normal": 0, "low": -1}
_YES_NO = {"true": True, "yes": True, "false": False, "no": False, "": False}


def spellings(field: str) -> tuple[str, ...]:
    """The keys under which `field` may stand in a file."""
    return SPELLINGS.get(field, (field,))


def status_of(value: object) -> Status | None:
    """The meaning of a status word; None for one that nobody knows."""
    if not isinstance(value, str):
        return None
    return _STATUSES.get(value.strip().lower().replace("-", "_").replace(" ", "_"))


def words(value: object) -> str:
    """Text for people: anything else is shown as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "something nested too deep to show"


def name(value: object) -> str | None:
    """A name; blank text is nobody."""
    if not isinstance(value, str):
        raise NotUnderstood("text")
    return value.strip() or None


def exact_name(value: object) -> str | None:
    """A name that is looked up as it is written: blanks around it are part of it."""
    return value if name(value) and isinstance(value, str) else None


def id_list(value: object) -> list[Any]:
    """The ids of a list, a comma string or a single value, as written."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return list(value) if isinstance(value, list) else [value]


def keys(value: object) -> tuple[Key, ...]:
    """The keys of a list of ids, each once, in order."""
    found: dict[Key, None] = {}
    for item in id_list(value):
        key = key_of(item)
        if key is None:
            raise NotUnderstood("a list of task ids")
        found[key] = None
    return tuple(found)


def priority(value: object) -> int:
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _PRIORITIES:
            return _PRIORITIES[word]
        value = written_number(word)
    number = finite_number(value)
    if number is None:
        raise NotUnderstood("a whole number, or urgent, high, medium, normal or low")
    return math.floor(number)


def yes_no(value: object) -> bool:
    if isinstance(value, str):
        value = _YES_NO.get(value.strip().lower())
    if not isinstance(value, bool):
        raise NotUnderstood("true or false")
    return value


def seconds(value: object) -> float:
    number = finite_number(written_number(value))
    if number is None or number <= 0:
        raise NotUnderstood("a number of seconds above 0")
    return float(number)


def count(value: object, *, least: int) -> int:
    value = written_number(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise NotUnderstood(f"a whole number from {least} up")
    return value


def counter(value: object) -> int:
    return count(value, least=0)


def max_attempts(value: object) -> int:
    return count(value, least=1)


def moment(value: object) -> datetime | None:
    """An ISO 8601 time; blank text is no time."""
    if not isinstance(value, str):
        raise NotUnderstood("an ISO 8601 time")
    if not value.strip():
        return None
    try:
        return from_iso(value.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise NotUnderstood("an ISO 8601 time") from None


def schema(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise NotUnderstood("an object")
    return value


def command(value: object) -> str | tuple[str, ...]:
    """Text for `sh -c`, or a list that is argv."""
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise NotUnderstood("a command as text, or a list of texts")


def commands(value: object) -> tuple[str, ...]:
    """Shell commands, each a text of its own; blank ones do not count."""
    found = []
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, str):
            raise NotUnderstood("a command as text, or a list of commands")
        found.append(item)
    return tuple(item for item in found if item.strip())


def claim(value: object) -> Claim | None:
    """A claim as we write it; anything else is not ours."""
    if not isinstance(value, dict):
        return None
    claim_id, by, at, place = (_text(value, field) for field in ("id", "by", "at", "place"))
    run = _text(value, "run")
    if not (claim_id and by and at and place) or run != value.get("run"):
        return None
    if run is not None and not is_safe(run):
        return None
    return Claim(
        id=claim_id,
        run=run,
        by=by,
        at=at,
        source="manual" if run is None else "run",
        place=place,
        was=(_text(value, "was") or "").strip() or None,
    )


def _text(value: Mapping[str, Any], field: str) -> str | None:
    found = value.get(field)
    return found if isinstance(found, str) else None
