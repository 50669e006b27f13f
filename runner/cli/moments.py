"""When a line of a journal or a transcript was written, as people read it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from runner.core.clock import from_iso


def local_time(line: Mapping[str, Any], key: str = "ts") -> datetime | None:
    """The moment under `key` in the local time zone; None if that cannot be told."""
    try:
        return from_iso(str(line.get(key))).astimezone()
    except (ValueError, OverflowError):
        return None


def clock_time(line: Mapping[str, Any], key: str = "ts") -> str:
    """The same as `12:00:01`; dashes if it cannot be told."""
    moment = local_time(line, key)
    return moment.strftime("%H:%M:%S") if moment else "--:--:--"
