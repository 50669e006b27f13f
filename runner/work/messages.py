"""What passes between the turn loop and a model, in no provider's form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from runner.core.ids import Key

Stop = Literal["end", "tool_calls", "length", "refusal", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call as the model asked for it.

    `arguments` is None when `raw` is not a JSON object; blank or null `raw` counts as `{}`.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] | None
    raw: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The answer to one call; never empty text."""

    call_id: str
    name: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UserTurn:
    """What the model is told: results of its calls first, then text. Never both empty."""

    results: tuple[ToolResult, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantTurn:
    """What the model said: text, calls, or both. Never neither."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


Turn = UserTurn | AssistantTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as offered to a model; `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks. In a message turn `task` is None and `attempt` 0.

    `turn` counts the model replies of the attempt, or of the subagent, from 0. `subagent` is its
    id within the attempt (`1-2`), None for the teammate itself.
    """

    teammate: str = ""
    agent: str = ""
    task: Key | None = None
    attempt: int = 0
    turn: int = 0
    subagent: str | None = None

    @property
    def written_for(self) -> tuple[str, ...]:
        """The keys under which a script may hold turns for it: this attempt, then the task.

        None for a subagent: the turns of the task are those of who started it.
        """
        if self.task is None or self.subagent is not None:
            return ()
        return f"{self.task}/{self.attempt}", self.task


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request. Providers ignore the `asker`; scripts are keyed on it."""

    system: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "required"] = "auto"
    thinking_level: str | None = None
    max_output_tokens: int | None = None
    asker: Asker = Asker()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """One reply. Tokens are as the provider counts them; `usd` None means no price is known."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    stop: Stop = "end"
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None


class Model(Protocol):
    """What thinks. One instance serves all teammates of a run, concurrently."""

    @property
    def name(self) -> str:
        """`provider/name`."""
        ...

    async def reply(self, request: ModelRequest) -> ModelReply:
        """One model turn. Raises: ModelError (see `runner.errors` for which are retried)."""
        ...
