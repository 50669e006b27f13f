"""What passes between the turn loop and a model, in no provider's form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

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
class ModelRequest:
    """One request.

    `about` tells who asks (`teammate`, `agent`, `task`, `attempt`, `turn`, all str): providers
    ignore it, scripts are keyed on it. `turn` counts the model replies of the attempt from 0.
    """

    system: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "required"] = "auto"
    thinking_level: str | None = None
    max_output_tokens: int | None = None
    about: Mapping[str, str] = field(default_factory=dict)


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
