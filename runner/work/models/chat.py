"""The chat completions API, as OpenAI's SDK speaks it to OpenAI and to every compatible server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runner.work.messages import (
    AssistantTurn,
    ModelReply,
    ModelRequest,
    Native,
    Stop,
    ToolCall,
    UserTurn,
)
from runner.work.models.failures import cut, understanding
from runner.work.models.native import blocks_for
from runner.work.models.provided import Asked
from runner.work.models.streams import take_events
from runner.work.models.wire import (
    Json,
    as_count,
    as_object,
    read_call,
    sent_id,
    sent_name,
    written_arguments,
)

FORM = "openai-chat"
_STOPS: Mapping[str, Stop] = {
    "stop": "end",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "refusal",
}
_THINKING_KEYS = ("reasoning_content", "reasoning")  # the key depends on the server
_CHARACTERS_PER_TOKEN = 4


class ChatCompletions:
    """Requests and replies in the form of chat completions.

    `limit_key` is how the server calls the limit of the reply: `max_completion_tokens` at OpenAI,
    `max_tokens` nearly everywhere else.
    """

    def __init__(self, limit_key: str = "max_tokens") -> None:
        self._limit_key = limit_key

    async def ask(self, client: Any, asked: Asked) -> ModelReply:
        import openai

        body = request_body(asked) | {self._limit_key: asked.max_tokens}
        reading = _Reading(asked.request.on_text)
        opening = client.chat.completions.create(
            model=asked.model,
            messages=[],
            stream=True,
            # not as arguments, which the SDK would walk through again with every request
            extra_body=body,
        )
        content_type = await take_events(opening, reading.take, asked, openai.APIError)
        if not reading.ended:
            raise cut(asked.name, content_type)
        with understanding(asked.name):
            return reading.reply(asked)


def request_body(asked: Asked) -> Json:
    """The body of a request, but for the model and the limit of the reply."""
    request = asked.request
    body: Json = {"messages": _messages(request, asked)}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in request.tools
        ]
    if asked.forced:
        body["tool_choice"] = "required"
    if asked.effort is not None:
        body["reasoning_effort"] = asked.effort
    if asked.terms.usage:
        body["stream_options"] = {"include_usage": True}
    return body


def _messages(request: ModelRequest, asked: Asked) -> list[Json]:
    messages: list[Json] = []
    if request.system.strip():
        messages.append({"role": "system", "content": request.system})
    for turn in request.turns:
        messages += _told(turn) if isinstance(turn, UserTurn) else [_said(turn, asked)]
    return messages


def _told(turn: UserTurn) -> list[Json]:
    """One message for each result, then the text."""
    messages: list[Json] = [
        {"role": "tool", "tool_call_id": sent_id(result.call_id), "content": result.text}
        for result in turn.results
    ]
    return [*messages, {"role": "user", "content": turn.text}] if turn.text else messages


def _said(turn: AssistantTurn, asked: Asked) -> Json:
    message: Json = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": sent_id(call.id),
                "type": "function",
                "function": {"name": sent_name(call.name), "arguments": written_arguments(call)},
            }
            for call in turn.calls
        ]
    for block in blocks_for(turn, FORM, asked.name, asked.terms.spoilt) or ():
        message |= block
    return message


class _Reading:
    """One reply, put together from its chunks."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._text = ""
        self._refusal = ""
        self._thinking: dict[str, str] = {}
        self._calls: list[_CallPieces] = []
        self._stop: str | None = None
        self._usage: Json = {}

    @property
    def ended(self) -> bool:
        return self._stop is not None

    def take(self, chunk: Json) -> None:
        self._usage = as_object(chunk.get("usage")) or self._usage
        for choice in chunk.get("choices") or ():
            self._add(as_object(as_object(choice).get("delta")))
            self._stop = as_object(choice).get("finish_reason") or self._stop

    def _add(self, delta: Json) -> None:
        if text := delta.get("content"):
            self._text += text
            self._on_text(text)
        self._refusal += delta.get("refusal") or ""
        for key in _THINKING_KEYS:
            if isinstance(more := delta.get(key), str):
                self._thinking[key] = self._thinking.get(key, "") + more
        for piece in delta.get("tool_calls") or ():
            self._add_call(as_object(piece))

    def _add_call(self, piece: Json) -> None:
        """Pieces of one call have its index. Some servers give every call the same, or none."""
        index, call_id = piece.get("index"), piece.get("id")
        function = as_object(piece.get("function"))
        call = self._call_at(index, call_id, begins=bool(function.get("name")))
        call.id = call.id or call_id or ""
        call.name = call.name or function.get("name") or ""
        more = function.get("arguments")
        call.arguments += more if isinstance(more, str) else json.dumps(more) if more else ""

    def _call_at(self, index: object, call_id: object, *, begins: bool) -> _CallPieces:
        last = self._calls[-1] if self._calls else None
        if index is None:
            same = last if last is not None and not (call_id or begins) else None
        else:
            same = next((call for call in reversed(self._calls) if call.index == index), None)
        if same is None or (begins and call_id and same.id and call_id != same.id):
            same = _CallPieces(index)
            self._calls.append(same)
        return same

    def reply(self, asked: Asked) -> ModelReply:
        calls = tuple(read_call(call.id, call.name, call.arguments) for call in self._calls)
        stop = _STOPS.get(self._stop or "", "other")
        if self._refusal and not calls:
            stop = "refusal"
        elif calls and stop == "end":
            stop = "tool_calls"
        thinking = {key: text for key, text in self._thinking.items() if text}
        return ModelReply(
            text=self._text or self._refusal,
            calls=calls,
            stop=stop,
            native=Native(form=FORM, model=asked.name, blocks=(thinking,)) if thinking else None,
            **(_counted(self._usage) if self._usage else self._estimated(asked, calls)),
        )

    def _estimated(self, asked: Asked, calls: Sequence[ToolCall]) -> dict[str, int]:
        """For servers that do not tell: a ceiling in tokens must still close some time."""
        sent = len(json.dumps(request_body(asked), default=str))
        came = len(self._text) + sum(len(text) for text in self._thinking.values())
        came += sum(len(call.name) + len(call.raw) for call in calls)
        return {
            "input_tokens": sent // _CHARACTERS_PER_TOKEN,
            "output_tokens": came // _CHARACTERS_PER_TOKEN,
        }


class _CallPieces:
    """A call of which more may come."""

    def __init__(self, index: object) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.arguments = ""


def _counted(usage: Json) -> dict[str, int]:
    details = as_object(usage.get("prompt_tokens_details"))
    return {
        "input_tokens": as_count(usage.get("prompt_tokens")),
        "output_tokens": as_count(usage.get("completion_tokens")),
        "cached_tokens": as_count(details.get("cached_tokens")),
        "cache_write_tokens": as_count(details.get("cache_write_tokens")),
    }
