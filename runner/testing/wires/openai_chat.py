"""OpenAI's chat completions, as strict as the strictest of the servers that speak them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest

from runner.testing.wires import openai_errors
from runner.testing.wires.base import (
    BadRequest,
    Event,
    Heard,
    Json,
    TurnsBuilder,
    need,
    pieces,
    raw_arguments,
    thoughts,
    tokens_in,
    tokens_out,
)
from runner.testing.wires.openai_chat_checks import check_request
from runner.work.messages import ModelReply, ToolCall, ToolResult

_STOPS = {
    "end": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "refusal": "content_filter",
    "other": "insufficient_system_resource",
}


class ChatWire:
    """`POST /v1/chat/completions`."""

    form = "openai-chat"

    def __init__(self) -> None:
        self._thought: set[str] = set()

    def check(self, body: Json) -> None:
        check_request(body)
        for at, message in enumerate(body["messages"]):
            thought = message.get("reasoning_content")
            known = thought is None or thought in self._thought
            need(known, f"property 'messages[{at}].reasoning_content' is unsupported")

    def heard(self, body: Json) -> Heard:
        turns, system = TurnsBuilder(), []
        for message in body["messages"]:
            text = _text_of(message.get("content"))
            match message["role"]:
                case "user":
                    turns.told(text)
                case "assistant":
                    turns.said(
                        text, [_heard_call(call) for call in message.get("tool_calls") or ()]
                    )
                case "tool":
                    call_id = message["tool_call_id"]
                    name = turns.name_of(call_id)
                    turns.told(results=[ToolResult(call_id=call_id, name=name, text=text)])
                case _:
                    system.append(text)
        return Heard(system="\n\n".join(system), turns=turns.turns)

    def message(self, reply: ModelReply, body: Json, number: int) -> Json:
        said: Json = {"role": "assistant", "content": reply.text or None, "refusal": None}
        if thought := "\n".join(thoughts(reply)):
            # some servers tell it, under this key, and want it back
            said["reasoning_content"] = thought
            self._thought.add(thought)
        if reply.calls:
            said["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": raw_arguments(call)},
                }
                for call in reply.calls
            ]
        going_in = reply.input_tokens or tokens_in(body)
        going_out = reply.output_tokens or tokens_out(reply)
        choice = {
            "index": 0,
            "message": said,
            "finish_reason": _STOPS[reply.stop],
            "logprobs": None,
        }
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": number,
            "model": body["model"],
            "choices": [choice],
            "usage": {
                "prompt_tokens": going_in,
                "completion_tokens": going_out,
                "total_tokens": going_in + going_out,
                "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
            },
        }

    def events(self, message: Json, body: Json) -> Iterator[Event]:
        usage_wanted = (body.get("stream_options") or {}).get("include_usage")
        base = {**message, "object": "chat.completion.chunk"}
        usage, (choice,) = base.pop("usage"), base.pop("choices")
        if usage_wanted:
            base["usage"] = None
        said = choice["message"]

        def chunk(delta: Json, finish: str | None = None) -> Event:
            part = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
            return None, json.dumps({**base, "choices": [part]})

        yield chunk({"role": "assistant", "content": "", "refusal": None})
        for piece in pieces(said.get("reasoning_content") or ""):
            yield chunk({"reasoning_content": piece})
        for piece in pieces(said["content"] or ""):
            yield chunk({"content": piece})
        for part in _call_parts(said.get("tool_calls") or []):
            yield chunk({"tool_calls": [part]})
        yield chunk({}, choice["finish_reason"])
        if usage_wanted:
            yield None, json.dumps({**base, "choices": [], "usage": usage})
        yield None, "[DONE]"

    def whole(self, message: Json) -> Json:
        return message

    def error(self, status: int, message: str, code: str | None = None) -> Json:
        return openai_errors.error(status, message, code)

    def overflow(self, tokens: int, window: int) -> BadRequest:
        return openai_errors.overflow(tokens, window)

    def broken_off(self, message: str) -> Event:
        return None, json.dumps(self.error(500, message))


def _heard_call(call: Json) -> ToolCall:
    function = call["function"]
    return ToolCall(
        id=call["id"],
        name=function["name"],
        arguments=json.loads(function["arguments"]),
        raw=function["arguments"],
    )


def _text_of(content: str | list[Json] | None) -> str:
    if isinstance(content, list):
        return "\n\n".join(part["text"] for part in content)
    return content or ""


def _call_parts(calls: list[Json]) -> Iterator[Json]:
    """Calls bit by bit; those of several calls come mixed, told apart by their index."""
    rest: list[list[Json]] = []
    for index, call in enumerate(calls):
        function = dict(call["function"])
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            rest.append([{**call, "index": index, "function": function}])
            continue
        first = {**call, "index": index, "function": {**function, "arguments": ""}}
        more = [{"index": index, "function": {"arguments": one}} for one in pieces(arguments)]
        rest.append([first, *more])
    for row in zip_longest(*rest):
        yield from (part for part in row if part is not None)
