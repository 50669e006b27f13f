"""Files of one JSON object a line, as they may be found after a death."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def objects_in(data: bytes) -> Iterator[dict[str, Any]]:
    """The objects in order; a line that is damaged, or is none, costs itself only."""
    for line in data.split(b"\n"):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
