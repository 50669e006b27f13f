"""One message: a line of an inbox."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.core.files import clean_text

CONTROL = frozenset(
    {"shutdown_request", "shutdown_response", "plan_approval", "plan_approval_response"}
)
"""Types of messages that are for the runner, and never shown to a model."""

OWN_KEYS = frozenset({"id", "type", "from", "content", "timestamp"})
"""The keys of a line that are fields of a message; all others are `extra`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One line of an inbox. `timestamp` is ISO 8601 UTC; `extra` holds the line's other keys."""

    id: str
    type: str
    sender: str
    content: str
    timestamp: str
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The line as it stands in the file: `sender` is the key `from`."""
        return {
            "id": self.id,
            "type": self.type,
            "from": self.sender,
            "content": self.content,
            "timestamp": self.timestamp,
            **self.extra,
        }


def decode(line: bytes, offset: int) -> Message | dict[str, Any] | None:
    """A message, what is damaged about the line, or None for an empty line.

    `offset` is where the line begins in its file: the id of a message without one.
    """
    if not line.strip():
        return None
    try:
        value = json.loads(line.decode(), strict=False)
    except (ValueError, RecursionError) as error:
        reason = str(error)
    else:
        if isinstance(value, dict):
            return _message(value, offset)
        reason = "not a JSON object"
    return {
        "offset": offset,
        "reason": reason,
        "text": line.decode(errors="replace"),
        "base64": base64.b64encode(line).decode(),
    }


def _message(value: dict[str, Any], offset: int) -> Message:
    def text(key: str, default: str) -> str:
        found = value.get(key)
        if found is None:
            return default
        return clean_text(found if isinstance(found, str) else json.dumps(found))

    return Message(
        id=text("id", f"@{offset}"),
        type=text("type", "message"),
        sender=text("from", "unknown"),
        content=text("content", ""),
        timestamp=text("timestamp", ""),
        extra={key: found for key, found in value.items() if key not in OWN_KEYS},
    )
