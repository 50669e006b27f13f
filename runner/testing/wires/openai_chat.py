"""OpenAI's chat completions, as strict as the strictest of the servers that speak them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from runner.testing.wires import openai_errors
from runner.testing.wires.base import (
    BadRequest,
    Event,
    Heard,
    Json,
    TurnsBuilder,
    need,
    need_keys,
    need_name,
    need_text,
    need_tool,
    pieces,
    raw_arguments,
    thoughts,
    tokens_in,
    tokens_out,
)
from runner.work.messages import ModelReply, ToolCall, ToolResult

_KEYS = (
    "model messages tools tool_choice parallel_tool_calls stream stream_options max_tokens "
    "max_completion_tokens temperature top_p stop seed n user metadata store service_tier "
    "reasoning_effort verbosity response_format prompt_cache_key prompt_cache_retention "
    "safety_identifier frequency_penalty presence_penalty"
).split()
_MESSAGE_KEYS = {
    "system": ("role", "content", "name"),
    "developer": ("role", "content", "name"),
    "user": ("role", "content", "name"),
    "assistant": ("role", "content", "name", "tool_calls", "refusal", "reasoning_content"),
    "tool": ("role", "content", "tool_call_id"),
}
_SYSTEM = ("system", "developer")
_LONGEST_ID = 40
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
        need_keys(body, "body", _KEYS, ("model", "messages"))
        messages = body["messages"]
        if not isinstance(messages, list) or not messages:
            raise BadRequest("[] is too short - 'messages'")
        both = "max_tokens" in body and "max_completion_tokens" in body
        need(not both, "Setting 'max_tokens' and 'max_completion_tokens' is not supported.")
        options = body.get("stream_options")
        need(
            options is None or body.get("stream"),
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        )
        _check_tools(body)
        _check_order(messages)
        _check_calls(messages)
        for at, message in enumerate(messages):
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


def _check_tools(body: Json) -> None:
    tools = body.get("tools")
    need(tools is None or (isinstance(tools, list) and tools), "[] is too short - 'tools'")
    names: set[str] = set()
    for at, tool in enumerate(tools or ()):
        where = f"tools[{at}]"
        need_keys(tool, where, ("type", "function"), ("type", "function"))
        known = ("name", "description", "parameters", "strict")
        function = need_keys(tool["function"], f"{where}.function", known, ("name", "parameters"))
        need_tool(function["name"], function["parameters"], f"{where}.function", names)
    choice = body.get("tool_choice")
    need(choice is None or tools, "'tool_choice' is only allowed when 'tools' are specified.")
    if isinstance(choice, dict):
        function = need_keys(choice, "tool_choice", ("type", "function"), ("function",))["function"]
        need(function.get("name") in names, "tool_choice: no such tool")
    elif choice is not None:
        need(choice in ("auto", "none", "required"), f"Invalid value for 'tool_choice': {choice!r}")


def _check_order(messages: list[Any]) -> None:
    """System first, then user and assistant in turns; results stand where calls need them."""
    before = ""
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        role = message.get("role") if isinstance(message, dict) else None
        if role not in _MESSAGE_KEYS:
            raise BadRequest(f"Invalid value: {role!r} - '{where}.role'")
        need_keys(message, where, _MESSAGE_KEYS[role], ("role",))
        if role in _SYSTEM:
            need(before in ("", *_SYSTEM), f"{where}: system messages must come first")
        elif before in ("", *_SYSTEM):
            need(role == "user", f"{where}: the conversation must start with a user message")
        elif role != "tool":
            need(role != before, f"{where}: Conversation roles must alternate user/assistant")
        _check_content(message, where)
        before = role
    need(before in ("user", "tool"), "the last message must be the user's or a tool's")


def _check_content(message: Json, where: str) -> None:
    content = message.get("content")
    if isinstance(content, list):
        need(content, f"{where}.content: [] is too short")
        for at, part in enumerate(content):
            found = need_keys(part, f"{where}.content[{at}]", ("type", "text"), ("type", "text"))
            need(found["type"] == "text", f"{where}.content[{at}]: unknown type")
            need_text(found["text"], f"{where}.content[{at}]")
    elif content is not None or message["role"] != "assistant" or not message.get("tool_calls"):
        need_text(content, f"{where}.content")


def _check_calls(messages: list[Json]) -> None:
    """Each call is followed by exactly its result, in order."""
    waiting: list[str] = []
    seen: set[str] = set()
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        if message["role"] == "tool":
            call_id = message.get("tool_call_id")
            need(
                waiting and call_id in waiting,
                "Invalid parameter: messages with role 'tool' must be a response to a preceding "
                f"message with 'tool_calls'. - '{where}.role'",
            )
            need(
                call_id == waiting[0],
                f"{where}: tool messages must stand in the order of the calls",
            )
            waiting.pop(0)
            continue
        _need_answered(waiting)
        calls = message.get("tool_calls")
        need(calls is None or calls, f"[] is too short - '{where}.tool_calls'")
        waiting = [
            _check_call(call, f"{where}.tool_calls[{number}]", seen)
            for number, call in enumerate(calls or ())
        ]
    _need_answered(waiting)


def _need_answered(waiting: list[str]) -> None:
    need(
        not waiting,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
        + ", ".join(waiting),
    )


def _check_call(call: object, where: str, seen: set[str]) -> str:
    keys = ("id", "type", "function")
    found = need_keys(call, where, keys, keys)
    call_id = need_text(found["id"], f"{where}.id")
    need(len(call_id) <= _LONGEST_ID, f"{where}.id: string too long, maximum length {_LONGEST_ID}")
    need(call_id not in seen, f"{where}.id: Duplicate value for 'tool_call_id': {call_id}")
    seen.add(call_id)
    parts = ("name", "arguments")
    function = need_keys(found["function"], f"{where}.function", parts, parts)
    need_name(function["name"], f"{where}.function")
    need_arguments(function["arguments"], f"{where}.function.arguments")
    return call_id


def need_arguments(arguments: object, where: str) -> None:
    """Arguments as text that holds a JSON object."""
    need(isinstance(arguments, str), f"{where}: Input should be a valid string")
    try:
        value = json.loads(str(arguments))
    except ValueError as error:
        raise BadRequest(f"{where}: not valid JSON: {error}") from error
    need(isinstance(value, dict), f"{where}: must be a JSON object")


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
