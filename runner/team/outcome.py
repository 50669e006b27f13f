"""How an attempt ends: one type per kind, each mapped to one verb of the board."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an attempt used. `usd` is None when a price is unknown. Times are seconds.

    Tokens, money and files are those of its subagents too, `subagents` of them in all; turns and
    calls are its own. `warnings` is what a reader of the record should know about the result.
    """

    turns: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    changed_files: tuple[str, ...] = ()
    subagents: int = 0
    warnings: tuple[str, ...] = ()

    def and_subagent(self, its: Usage) -> Usage:
        """With what one more subagent has used."""
        known = self.usd is not None and its.usd is not None
        return replace(
            self,
            input_tokens=self.input_tokens + its.input_tokens,
            output_tokens=self.output_tokens + its.output_tokens,
            usd=(self.usd or 0.0) + (its.usd or 0.0) if known else None,
            changed_files=tuple(sorted({*self.changed_files, *its.changed_files})),
            subagents=self.subagents + 1 + its.subagents,
        )

    def to_json(self) -> dict[str, Any]:
        """The form in a task file and in reports: camelCase keys.

        `subagents` and `warnings` only if there are any.
        """
        subagents = {"subagents": self.subagents} if self.subagents else {}
        warnings = {"warnings": list(self.warnings)} if self.warnings else {}
        return {
            "turns": self.turns,
            "toolCalls": self.tool_calls,
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "usd": self.usd,
            "seconds": round(self.seconds, 3),
            "changedFiles": list(self.changed_files),
            **subagents,
            **warnings,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A checked result. `has_result`: one was handed in, even if it is null."""

    result: Any = None
    has_result: bool = False
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Final: declared by the agent, `run` exit other than 0, verify, schema or reminder limit."""

    error: str
    result: Any = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached:
    """A limit ended the attempt.

    `max_turns`, `timeout` and `repeated_calls` fail the task; `budget` hands it back and ends the
    run with exit 4.
    """

    limit: Literal["max_turns", "timeout", "repeated_calls", "budget"]
    error: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faulted:
    """A fault that may pass (5xx, network, unexpected exception): retried with back-off."""

    error: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedBack:
    """Back to pending without fault: stop, agent or model gone, bad key.

    `stop_claiming` is set when claiming on would fail task after task (401, 403).
    """

    reason: str
    stop_claiming: bool = False
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The claim was gone: nothing is written to the task."""

    found: str
    usage: Usage = field(default_factory=Usage)


Outcome = Done | Failed | LimitReached | Faulted | HandedBack | Lost


def reason(outcome: Outcome) -> str | None:
    """The error or reason of an outcome that has one."""
    match outcome:
        case Done():
            return None
        case HandedBack():
            return outcome.reason
        case Lost():
            return outcome.found
        case _:
            return outcome.error
