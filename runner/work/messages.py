"""What passes between the turn loop and a model, in no provider's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

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
class Native:
    """An assistant's turn in the form of the API that gave it, word for word.

    It keeps what our form has no place for: thinking and its signatures, the order of blocks. Only
    a provider of the same `form` sends it back, and only to the same `model` (`provider/name`);
    for others the turn is built from its text and calls. `blocks` are JSON objects.
    """

    form: str
    model: str
    blocks: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantTurn:
    """What the model said: text, calls, or both. Never neither."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    native: Native | None = None


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
    id within the attempt (`1-2`), None for the teammate itself. A `summary` of the history is asked
    for beside the turns and counts as none. `earlier` has, for each attempt that this one goes on
    from, its number and how many of the replies were given to it.
    """

    teammate: str = ""
    agent: str = ""
    task: Key | None = None
    attempt: int = 0
    turn: int = 0
    subagent: str | None = None
    summary: bool = False
    earlier: tuple[tuple[int, int], ...] = ()

    @property
    def written_for(self) -> tuple[str, ...]:
        """The keys under which a script may hold turns for it: this attempt, then the task.

        None for a subagent: the turns of the task are those of who started it.
        """
        if self.task is None or self.subagent is not None:
            return ()
        return f"{self.task}/{self.attempt}", self.task


def _unheard(text: str) -> None:
    """Nobody listens to what comes in while a reply is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request. Providers ignore the `asker`; scripts are keyed on it.

    `on_text` hears pieces of the reply's text as they come in, for people who look on; a try that
    fails may have told some already.
    """

    system: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "required"] = "auto"
    thinking_level: str | None = None
    max_output_tokens: int | None = None
    asker: Asker = Asker()
    on_text: Callable[[str], None] = field(default=_unheard, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """One reply. Tokens are as the provider counts them; `usd` None means no price is known.

    `input_tokens` are all that went in; `cached_tokens` is the part of them that was read from the
    provider's cache, `cache_write_tokens` the part that was written to it.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    stop: Stop = "end"
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    usd: float | None = None
    native: Native | None = None


class Model(Protocol):
    """What thinks. One instance serves all teammates of a run, concurrently."""

    @property
    def name(self) -> str:
        """`provider/name`."""
        ...

    async def reply(self, request: ModelRequest) -> ModelReply:
        """One model turn. Raises: ModelError (see `runner.errors` for which are retried)."""
        ...


@runtime_checkable
class Windowed(Protocol):
    """A model that knows how much it can read at once."""

    @property
    def window(self) -> int | None:
        """Tokens of a request and its reply together; None when that is not known."""
        ...
