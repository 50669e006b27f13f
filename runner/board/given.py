"""Fields that people and models hand in: what a task should not hold is refused at the door.

Reading a file is lenient, this is not: whoever asks is there to be told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runner.board import fields
from runner.board.saving import OWN_FIELDS
from runner.core.ids import ONE_LINE, is_one_line, is_safe, key_of, safe_name
from runner.errors import UnsafeName, UsageError


def check_given(given: Mapping[str, Any]) -> None:
    """Look at what `add` or `edit` was given; null values are not looked at.

    Owners and ids become paths, so they have to be safe names. Agents and roles are only looked
    up, so any text of one line will do. Raises: UsageError, UnsafeName.
    """
    _refuse_own(given)
    for field, check in _CHECKS.items():
        for key in fields.spellings(field):
            if given.get(key) is not None:
                check(key, given[key])


def _refuse_own(given: Mapping[str, Any]) -> None:
    own = sorted(OWN_FIELDS & given.keys())
    if own:
        raise UsageError(f"{', '.join(own)}: written by the runner alone")
    if fields.status_of(given.get("status")) == "in_progress":
        raise UsageError("status: a task gets in progress by being claimed (`runner tasks claim`)")


def _one_line(key: str, value: object) -> None:
    if not is_one_line(value):
        raise _unfit(key, value, ONE_LINE)


def _owner(key: str, value: object) -> None:
    """Blank is nobody; what is no text is left to the reader of files."""
    if isinstance(value, str) and value.strip():
        safe_name(key, value.strip())


def _priority(key: str, value: object) -> None:
    try:
        fields.priority(value)
    except fields.NotUnderstood as error:
        raise _unfit(key, value, str(error)) from None


def _ids(key: str, value: object) -> None:
    for item in fields.id_list(value):
        if not is_safe(key_of(item)):
            raise UnsafeName(f"{key}: id", item)


def _object(key: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise _unfit(key, value, "an object")


def _unfit(key: str, value: object, expected: str) -> UsageError:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return UsageError(f"{key}: found {shown}, expected {expected}")


_CHECKS: Mapping[str, Callable[[str, object], None]] = {
    "subject": _one_line,
    "owner": _owner,
    "agent": _one_line,
    "required_role": _one_line,
    "priority": _priority,
    "blockedBy": _ids,
    "blocks": _ids,
    "metadata": _object,
}
