"""What a server takes of our requests, learned from what it refuses.

Servers that speak the same API differ: one knows no forced calls, one no levels of thinking, one
refuses thinking of a conversation that was shortened. Such a request is sent again without it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from runner.errors import ModelRejected
from runner.work.messages import ModelRequest
from runner.work.models.native import all_seals

_REFUSALS = frozenset({400, 422})
_EFFORT = re.compile(r"effort|thinking\.type|budget_tokens|output_config", re.IGNORECASE)
_FORCE = re.compile(r"tool_choice|forced? tool|tool use is (?:required|forced)", re.IGNORECASE)
_USAGE = re.compile(r"stream_options|include_usage", re.IGNORECASE)
_THINKING = re.compile(r"thinking|signature|reasoning|encrypted|\brs_", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What may be sent.

    `force`: a call may be required. `effort`: a level of thinking may be asked for. `usage`: a
    stream may be asked for its usage. `spoilt`: seals of thinking that must not be sent back.
    """

    force: bool = True
    effort: bool = True
    usage: bool = True
    spoilt: frozenset[int] = frozenset()

    def without(self, error: ModelRejected, request: ModelRequest) -> Terms | None:
        """Terms without what the server has just refused; None when it was something else."""
        text = str(error)
        if error.status not in _REFUSALS:
            return None
        if self.force and request.tool_choice == "required" and _FORCE.search(text):
            return replace(self, force=False)
        if self.effort and _thinks(request) and _EFFORT.search(text):
            return replace(self, effort=False)
        if self.usage and _USAGE.search(text):
            return replace(self, usage=False)
        if _THINKING.search(text) and (more := all_seals(request.turns) - self.spoilt):
            return replace(self, spoilt=self.spoilt | more)
        return None

    def also(self, other: Terms) -> Terms:
        """What both allow: two requests may have learned at the same time."""
        return Terms(
            force=self.force and other.force,
            effort=self.effort and other.effort,
            usage=self.usage and other.usage,
            spoilt=self.spoilt | other.spoilt,
        )


def _thinks(request: ModelRequest) -> bool:
    # a forced call switches thinking off, which is a level too
    return request.thinking_level is not None or request.tool_choice == "required"
