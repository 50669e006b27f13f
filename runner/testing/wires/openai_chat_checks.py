"""What chat completions refuse, whatever was said before."""

from __future__ import annotations

import json
from typing import Any

from runner.testing.wires.base import (
    BadRequest,
    Json,
    need,
    need_keys,
    need_name,
    need_text,
    need_tool,
)

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


def check_request(body: Json) -> None:
    """Judge what one request shows by itself. Raises: BadRequest."""
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
