"""Keeping our keys out of everything that is written or sent."""

from __future__ import annotations

import json
from collections.abc import Mapping

from runner.work.processes.environment import tool_environment

REDACTED = "[redacted]"
_SHORTEST_SECRET = 8  # shorter values are words such as `true` that occur everywhere


class Redactor:
    """Replaces the values of the variables that tools may not see."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        shown = tool_environment(environ)
        values = {
            value
            for name, value in environ.items()
            if name not in shown and _is_secret(name) and len(value) >= _SHORTEST_SECRET
        }
        # in a JSON line a value may stand escaped
        forms = values | {json.dumps(value)[1:-1] for value in values}
        self._secrets = sorted(forms, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return text


def _is_secret(name: str) -> bool:
    """Hidden variables that are no secret: git's own, and addresses of servers."""
    name = name.upper()
    return not name.startswith("GIT_") and not name.endswith(("_BASE_URL", "_ENDPOINT", "_MODEL"))
