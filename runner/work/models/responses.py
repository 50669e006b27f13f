"""OpenAI's Responses API: nothing is stored there, thinking comes back to us encrypted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from runner.work.messages import (
    AssistantTurn,
    ModelReply,
    Native,
    Stop,
    ToolCall,
    Turn,
    UserTurn,
)
from runner.work.models.failures import cut, of_kind, understanding
from runner.work.models.native import blocks_for
from runner.work.models.provided import Asked
from runner.work.models.streams import take_events
from runner.work.models.wire import (
    Json,
    as_count,
    as_object,
    is_deep,
    joined,
    read_call,
    sent_id,
    sent_name,
    written_arguments,
)

FORM = "openai-responses"
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_INCOMPLETE: Mapping[str, Stop] = {"max_output_tokens": "length", "content_filter": "refusal"}


class Responses:
    """Requests and replies in the form of the Responses API."""

    async def ask(self, client: Any, asked: Asked) -> ModelReply:
        import openai

        reading = _Reading(asked.request.on_text)
        opening = client.responses.create(
            model=asked.model,
            input=[],
            stream=True,
            # not as arguments, which the SDK would walk through again with every request
            extra_body=request_body(asked),
        )
        content_type = await take_events(opening, reading.take, asked, openai.APIError)
        if reading.failure is not None:
            raise of_kind(asked.name, *reading.failure)
        if reading.response is None:
            raise cut(asked.name, content_type)
        with understanding(asked.name):
            return reading.reply(asked.name)


def request_body(asked: Asked) -> Json:
    """The body of a request, but for the model."""
    request = asked.request
    body: Json = {
        "input": _input(request.turns, asked),
        "max_output_tokens": asked.max_tokens,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if request.system.strip():
        body["instructions"] = request.system
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in request.tools
        ]
    if asked.forced:
        body["tool_choice"] = "required"
    if asked.effort is not None:
        body["reasoning"] = {"effort": asked.effort}
    return body


def _input(turns: Sequence[Turn], asked: Asked) -> list[Json]:
    items: list[Json] = []
    for turn in turns:
        if isinstance(turn, UserTurn):
            items += _told(turn)
        else:
            items += _kept(turn, asked) or _rebuilt(turn)
    return items


def _told(turn: UserTurn) -> list[Json]:
    items: list[Json] = [
        {
            "type": "function_call_output",
            "call_id": sent_id(result.call_id),
            "output": result.text,
        }
        for result in turn.results
    ]
    return [*items, {"role": "user", "content": turn.text}] if turn.text else items


def _rebuilt(turn: AssistantTurn) -> list[Json]:
    items: list[Json] = [{"role": "assistant", "content": turn.text}] if turn.text else []
    return items + [_call({"type": "function_call"}, call) for call in turn.calls]


def _call(item: Mapping[str, Any], call: ToolCall) -> Json:
    return {
        **item,
        "call_id": sent_id(call.id),
        "name": sent_name(call.name),
        "arguments": written_arguments(call),
    }


def _kept(turn: AssistantTurn, asked: Asked) -> list[Json] | None:
    """The items as they came, calls as the history holds them; None when they no longer fit."""
    items = blocks_for(turn, FORM, asked.name, asked.terms.spoilt)
    if items is None or _text(items) != turn.text:
        return None
    calls = list(turn.calls)
    if sum(item.get("type") == "function_call" for item in items) != len(calls):
        return None
    return [
        _call(item, calls.pop(0)) if item.get("type") == "function_call" else dict(item)
        for item in items
        if not _is_blank_message(item)
    ]


def _is_blank_message(item: Mapping[str, Any]) -> bool:
    said = [*_parts([item], "output_text", "text"), *_parts([item], "refusal", "refusal")]
    return item.get("type") == "message" and not any(part.strip() for part in said)


def _parts(items: Iterable[Mapping[str, Any]], kind: str, key: str) -> list[str]:
    return [
        str(part.get(key) or "")
        for item in items
        if item.get("type") == "message"
        for part in map(as_object, item.get("content") or ())
        if part.get("type") == kind
    ]


def _text(items: Iterable[Mapping[str, Any]]) -> str:
    return joined(_parts(items, "output_text", "text"))


class _Reading:
    """One response, put together from its events."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self.response: Json | None = None
        self.failure: tuple[str, str] | None = None
        self._on_text = on_text
        self._items: list[Json] = []

    def take(self, event: Json) -> None:
        kind = event.get("type")
        if kind == "response.output_text.delta":
            self._on_text(event["delta"])
        elif kind == "response.output_item.done":
            self._items.append(as_object(event.get("item")))
        elif kind == "error":
            self.failure = _failure(event)
        elif kind in _ENDS:
            self.response = as_object(event.get("response"))
            if kind == "response.failed":
                self.failure = _failure(as_object(self.response.get("error")))

    def reply(self, name: str) -> ModelReply:
        response = self.response or {}
        items = [as_object(item) for item in response.get("output") or self._items]
        calls = tuple(
            read_call(item.get("call_id"), item.get("name"), item.get("arguments"))
            for item in items
            if item.get("type") == "function_call"
        )
        refusal = joined(_parts(items, "refusal", "refusal"))
        usage = as_object(response.get("usage"))
        details = as_object(usage.get("input_tokens_details"))
        return ModelReply(
            text=_text(items) or refusal,
            calls=calls,
            stop=_stop(response, refused=bool(refusal), calls=bool(calls)),
            input_tokens=as_count(usage.get("input_tokens")),
            output_tokens=as_count(usage.get("output_tokens")),
            cached_tokens=as_count(details.get("cached_tokens")),
            cache_write_tokens=as_count(details.get("cache_write_tokens")),
            native=Native(form=FORM, model=name, blocks=tuple(items)) if _may_go(items) else None,
        )


def _stop(response: Json, *, refused: bool, calls: bool) -> Stop:
    if response.get("status") == "incomplete":
        reason = as_object(response.get("incomplete_details")).get("reason")
        return _INCOMPLETE.get(str(reason), "other")
    if calls:
        return "tool_calls"
    return "refusal" if refused else "end"


def _may_go(items: Sequence[Json]) -> bool:
    """Whether these items mean more than text and calls, and can be sent again.

    Thinking that did not come encrypted is known to the server alone, which does not store it.
    """
    thinking = [item for item in items if item.get("type") == "reasoning"]
    whole = bool(thinking) and not is_deep(list(items))
    return whole and all(item.get("encrypted_content") for item in thinking)


def _failure(error: Json) -> tuple[str, str]:
    return str(error.get("code") or ""), str(error.get("message") or "no reason was given")
