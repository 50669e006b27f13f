"""How much of a model's window requests take: estimated by their bytes, set right by usage."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from runner.work.messages import Model, ModelRequest, ToolSpec, Turn, UserTurn, Windowed

MAX_OUTPUT_TOKENS = 8192
SHARE = 0.75  # of what the window leaves beside the reply; estimates are no counts
_BYTES_PER_TOKEN = 4
_AROUND = 4  # tokens that the form of a message, call, result or tool takes
_LEAST_RATE, _MOST_RATE = 0.5, 4.0
_REPLY_PART = 4  # of the window: at most a quarter is for the reply
_RESULT_PART = 8
_FORGOTTEN = 100  # sizes of turns that are gone are thrown away when there are so many


def window_of(model: Model) -> int | None:
    """Tokens of a request and its reply together; None when the model does not tell."""
    return model.window if isinstance(model, Windowed) else None


def most_of_a_result(window: int | None, most: int) -> int:
    """Characters of one tool result that may enter a history, `most` at most."""
    if window is None:
        return most
    return min(most, window * _BYTES_PER_TOKEN // _RESULT_PART)


class Room:
    """The window of an attempt's model, and how much of it requests take. Sizes are tokens.

    The estimate of a turn is kept, so that a request costs the same however long the history is.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._known_rate = 1.0
        self._counted: tuple[ModelRequest, int] | None = None
        self._refused: int | None = None  # the smallest estimate that was too long
        self._turns: dict[int, tuple[int, Turn]] = {}
        self._tools: tuple[tuple[ToolSpec, ...], int] = ((), 0)

    @property
    def reply(self) -> int:
        """What a reply may take."""
        window = window_of(self._model)
        if window is None:
            return MAX_OUTPUT_TOKENS
        return min(MAX_OUTPUT_TOKENS, window // _REPLY_PART)

    @property
    def most(self) -> int | None:
        """What a request may take: what the model tells and has not refused; None is not known."""
        window = window_of(self._model)
        known = [] if window is None else [window - self.reply]
        if self._refused is not None:
            known.append(math.floor(self._refused * self._rate))
        return min(known, default=None)

    @property
    def limit(self) -> int | None:
        """What a request may take before its history is shortened."""
        return None if (most := self.most) is None else int(most * SHARE)

    def tokens(self, request: ModelRequest) -> int:
        """What a request takes."""
        return math.ceil(self._estimate(request) * self._rate)

    def characters(self, tokens: int) -> int:
        """About so much text of one byte a character takes these tokens."""
        return int(tokens * _BYTES_PER_TOKEN / self._rate)

    def note(self, request: ModelRequest, input_tokens: int) -> None:
        """A provider has taken this request, and counted it; 0 is no count."""
        if self._refused is not None and self._estimate(request) >= self._refused:
            self._refused = None
        if input_tokens > 0:
            self._counted = request, input_tokens

    def refuse(self, request: ModelRequest) -> bool:
        """A provider has said that this request and its reply are too long.

        True if nothing is wrong with the request: it left too much for the reply, since the model
        had not told its window yet.
        """
        asked, limit = request.max_output_tokens, self.limit
        if asked is not None and asked > self.reply and limit and self.tokens(request) <= limit:
            return True
        estimate = self._estimate(request)
        self._refused = estimate if self._refused is None else min(self._refused, estimate)
        return False

    @property
    def _rate(self) -> float:
        """What the provider counts for a token of ours; worked out only when it is asked for."""
        if self._counted is not None:
            request, tokens = self._counted
            rate = tokens / self._estimate(request)
            self._known_rate = min(max(rate, _LEAST_RATE), _MOST_RATE)
            self._counted = None
        return self._known_rate

    def _estimate(self, request: ModelRequest) -> int:
        system = _AROUND + _of_text(request.system)
        return system + self._of_tools(request.tools) + self._of_turns(request.turns)

    def _of_tools(self, tools: tuple[ToolSpec, ...]) -> int:
        if tools != self._tools[0]:
            self._tools = (tools, sum(_of_tool(tool) for tool in tools))
        return self._tools[1]

    def _of_turns(self, turns: Sequence[Turn]) -> int:
        sizes = self._turns
        if len(sizes) > 2 * len(turns) + _FORGOTTEN:
            sizes.clear()
        for turn in [turn for turn in turns if id(turn) not in sizes]:
            # the turn is kept beside its size, so that no other one gets its id
            sizes[id(turn)] = (_of_turn(turn), turn)
        return sum(size for size, _ in map(sizes.__getitem__, map(id, turns)))


def _of_turn(turn: Turn) -> int:
    if isinstance(turn, UserTurn):
        parts = [_of_text(result.text) for result in turn.results]
    else:
        parts = [_of_text(call.name) + _of_json(call.arguments) for call in turn.calls]
    return _AROUND + _of_text(turn.text) + sum(parts) + _AROUND * len(parts)


def _of_tool(tool: ToolSpec) -> int:
    return _AROUND + _of_text(tool.name + tool.description) + _of_json(tool.parameters)


def _of_json(value: object) -> int:
    return _of_text(json.dumps(value, ensure_ascii=False, default=str))


def _of_text(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return math.ceil(size / _BYTES_PER_TOKEN)
