"""Names that become paths, and random ids."""

from __future__ import annotations

import re
import secrets

from runner.errors import UnsafeName

LEAD = "lead"
"""Reserved: whoever steers the team from outside."""

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
# Device names of Windows: a board is often shared with a checkout there.
_DEVICES = re.compile(r"(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?\Z")


def is_safe(value: object) -> bool:
    """Whether `value` may become one component of a path."""
    return isinstance(value, str) and bool(_SAFE.match(value)) and not _DEVICES.match(value)


def safe_name(what: str, value: object) -> str:
    """`value` itself if it may become a path component. `what` names it in the error.

    Raises: UnsafeName.
    """
    if not is_safe(value):
        raise UnsafeName(what, value)
    return str(value)


def random_id(prefix: str = "") -> str:
    """An id that nobody else has: 12 hex digits behind `prefix`."""
    return prefix + secrets.token_hex(6)
