"""What all wire forms share: calls as they are read, and as they are sent again."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from runner.work.messages import ToolCall

Json = dict[str, Any]

_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")  # the strictest server: 40 characters
_LONGEST_NAME = 64
DEEPEST = 100
"""Levels of nested arguments: what is deeper could be neither walked through nor written again."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def read_call(call_id: object, name: object, written: object) -> ToolCall:
    """A call as a server wrote it.

    Arguments that are blank, missing or null are `{}`; some servers send an object where the API
    says JSON text. What cannot be used as an object is None.
    """
    raw = written if isinstance(written, str) else "" if written is None else json.dumps(written)
    return ToolCall(
        id=call_id if isinstance(call_id, str) else "",
        name=name if isinstance(name, str) else "",
        arguments=_read_arguments(raw),
        raw=raw,
    )


def _read_arguments(raw: str) -> Mapping[str, Any] | None:
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if value is None:
        return {}
    return value if isinstance(value, dict) and not is_deep(value) else None


def is_deep(value: object, levels: int = DEEPEST) -> bool:
    """Whether arrays and objects are nested in it on more than so many levels."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(is_deep(one, levels - 1) for one in inner)


def written_arguments(call: ToolCall) -> str:
    """The arguments as JSON text, `{}` when there are none."""
    return json.dumps(call.arguments or {}, ensure_ascii=False)


def sent_id(call_id: str) -> str:
    """The id if every server takes it, else one made of it: the same for a call and its result."""
    if _ID.fullmatch(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:32]}"


def sent_name(name: str) -> str:
    """The name in the characters that servers take: a model may have made up any."""
    return _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "unnamed"


def joined(texts: Iterable[str]) -> str:
    """Several text blocks of one turn as one text."""
    return "\n\n".join(text for text in texts if text.strip())


def as_object(value: object) -> Json:
    """An object of the answer; anything else, which no server should send, counts as empty."""
    return value if isinstance(value, dict) else {}


def as_count(value: object) -> int:
    """A number of tokens; 0 for anything that is none."""
    return value if isinstance(value, int) and value > 0 else 0
