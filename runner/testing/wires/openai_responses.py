"""OpenAI's responses API, with nothing stored at the vendor's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
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
    seal,
    thoughts,
    tokens_in,
    tokens_out,
)
from runner.testing.wires.openai_chat import need_arguments
from runner.work.messages import ModelReply, ToolCall, ToolResult

_KEYS = (
    "model input instructions tools tool_choice parallel_tool_calls stream stream_options store "
    "include reasoning max_output_tokens temperature top_p text truncation user metadata "
    "service_tier prompt_cache_key prompt_cache_retention safety_identifier previous_response_id"
).split()
_ENCRYPTED = "reasoning.encrypted_content"
_LONGEST_ID = 64
_ITEM_KEYS = {
    "message": ("type", "role", "content", "id", "status", "phase"),
    "reasoning": ("type", "id", "summary", "content", "encrypted_content", "status"),
    "function_call": ("type", "id", "call_id", "name", "arguments", "status"),
    "function_call_output": ("type", "id", "call_id", "output", "status"),
}
_INCOMPLETE = {"length": "max_output_tokens", "refusal": "content_filter", "other": "steered"}


class ResponsesWire:
    """`POST /v1/responses`."""

    form = "openai-responses"

    def __init__(self) -> None:
        self._reasoning_before: dict[str, str] = {}

    def check(self, body: Json) -> None:
        need_keys(body, "body", _KEYS, ("model", "input"))
        stored = body.get("store", True) or body.get("previous_response_id")
        need(not stored, "Zero data retention: 'store' must be false, and nothing is remembered")
        if "instructions" in body:
            need_text(body["instructions"], "instructions")
        _check_tools(body)
        items = _items(body)
        need(items, "input: at least one item is required")
        for at, item in enumerate(items):
            _check_item(item, f"input[{at}]")
        _check_calls(items)
        self._check_reasoning(items)

    def _check_reasoning(self, items: list[Json]) -> None:
        """Reasoning and what it led to are sent back together, or both without."""
        seen: set[str] = set()
        for at, item in enumerate(items):
            kind, name = item["type"], str(item.get("id"))
            if kind == "reasoning":
                sealed = item.get("encrypted_content")
                need(
                    sealed,
                    f"Item with id '{name}' not found. Items are not persisted when `store` is set "
                    "to false.",
                )
                need(
                    sealed == seal(name),
                    f"The encrypted content for item {name} could not be verified.",
                )
                following = items[at + 1]["type"] if at + 1 < len(items) else ""
                after = following in ("function_call", "reasoning") or _is_said(items, at + 1)
                need(
                    after,
                    f"Item '{name}' of type 'reasoning' was provided without its required "
                    "following item.",
                )
                seen.add(name)
            before = self._reasoning_before.get(name)
            need(
                before is None or before in seen,
                f"Item '{name}' of type '{kind}' was provided without its required 'reasoning' "
                f"item: '{before}'.",
            )

    def heard(self, body: Json) -> Heard:
        turns, system = TurnsBuilder(), [body.get("instructions") or ""]
        for item in _items(body):
            match item["type"]:
                case "message" if item["role"] == "assistant":
                    turns.said(_text_of(item["content"]))
                case "message" if item["role"] == "user":
                    turns.told(_text_of(item["content"]))
                case "message":
                    system.append(_text_of(item["content"]))
                case "function_call":
                    raw = item["arguments"]
                    call = ToolCall(
                        id=item["call_id"], name=item["name"], arguments=json.loads(raw), raw=raw
                    )
                    turns.said(calls=[call])
                case "function_call_output":
                    call_id = item["call_id"]
                    result = ToolResult(
                        call_id=call_id, name=turns.name_of(call_id), text=_text_of(item["output"])
                    )
                    turns.told(results=[result])
        return Heard(system="\n\n".join(part for part in system if part), turns=turns.turns)

    def message(self, reply: ModelReply, body: Json, number: int) -> Json:
        output: list[Json] = []
        sealed = _ENCRYPTED in (body.get("include") or ())
        for at, _ in enumerate(thoughts(reply)):
            name = f"rs_{number}_{at}"
            encrypted = seal(name) if sealed else None
            output.append(
                {"type": "reasoning", "id": name, "summary": [], "encrypted_content": encrypted}
            )
        if reply.text:
            text = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
            said = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
            output.append({**said, "status": "completed", "content": [text]})
        for at, call in enumerate(reply.calls):
            item = {"type": "function_call", "id": f"fc_{number}_{at}", "call_id": call.id}
            arguments = raw_arguments(call)
            output.append(
                {**item, "name": call.name, "arguments": arguments, "status": "completed"}
            )
        self._remember(output)
        why = None if reply.stop in ("end", "tool_calls") else _INCOMPLETE[reply.stop]
        going_in = reply.input_tokens or tokens_in(body)
        going_out = reply.output_tokens or tokens_out(reply)
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": number,
            "status": "incomplete" if why else "completed",
            "incomplete_details": {"reason": why} if why else None,
            "error": None,
            "model": body["model"],
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": going_in,
                "input_tokens_details": {"cached_tokens": reply.cached_tokens},
                "output_tokens": going_out,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": going_in + going_out,
            },
        }

    def _remember(self, output: list[Json]) -> None:
        """Which reasoning stands right before which item."""
        for before, after in pairwise(output):
            if before["type"] == "reasoning":
                self._reasoning_before[after["id"]] = before["id"]

    def events(self, message: Json, body: Json) -> Iterator[Event]:
        number = 0

        def event(kind: str, **fields: Any) -> Event:
            nonlocal number
            number += 1
            return kind, json.dumps({"type": kind, "sequence_number": number, **fields})

        begun = {**message, "status": "in_progress", "output": [], "usage": None}
        begun["incomplete_details"] = None
        yield event("response.created", response=begun)
        yield event("response.in_progress", response=begun)
        for index, item in enumerate(message["output"]):
            for kind, fields in _item_events(item):
                yield event(kind, output_index=index, **fields)
        yield event(f"response.{message['status']}", response=message)

    def whole(self, message: Json) -> Json:
        return message

    def error(self, status: int, message: str, code: str | None = None) -> Json:
        return openai_errors.error(status, message, code)

    def overflow(self, tokens: int, window: int) -> BadRequest:
        return BadRequest(
            "Your input exceeds the context window of this model. Please adjust your input and "
            "try again.",
            code=openai_errors.TOO_LONG,
        )

    def broken_off(self, message: str) -> Event:
        fields = {"code": "server_error", "message": message, "param": None, "sequence_number": 99}
        return "error", json.dumps({"type": "error", **fields})


def _items(body: Json) -> list[Json]:
    """The input; a message may be written without its type, and a text stands for the user's."""
    items = body["input"]
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise BadRequest("input: must be a text or a list of items")
    return [item if "type" in item else {"type": "message", **item} for item in items]


def _check_tools(body: Json) -> None:
    tools = body.get("tools") or []
    names: set[str] = set()
    for at, tool in enumerate(tools):
        where = f"tools[{at}]"
        known = ("type", "name", "description", "parameters", "strict")
        need_keys(tool, where, known, ("type", "name", "parameters"))
        need(tool["type"] == "function", f"{where}.type: unknown tool {tool['type']!r}")
        need_tool(tool["name"], tool["parameters"], where, names)
        if tool.get("strict"):
            properties = tool["parameters"].get("properties", {})
            closed = tool["parameters"].get("additionalProperties") is False
            need(
                closed,
                f"{where}: 'additionalProperties' is required to be supplied and to be false.",
            )
            every = set(tool["parameters"].get("required", ())) == set(properties)
            need(every, f"{where}: 'required' must include every key in properties.")
    choice = body.get("tool_choice")
    need(choice is None or tools, "'tool_choice' is only allowed when 'tools' are specified.")
    if isinstance(choice, dict):
        need(choice.get("name") in names, "tool_choice: no such tool")
    elif choice is not None:
        need(choice in ("auto", "none", "required"), f"Invalid value for 'tool_choice': {choice!r}")


def _check_item(item: Json, where: str) -> None:
    kind = item["type"]
    need(kind in _ITEM_KEYS, f"Invalid value: {kind!r} - '{where}.type'")
    optional = ("id", "status", "phase", "summary", "content", "encrypted_content")
    required = [key for key in _ITEM_KEYS[kind] if key not in optional]
    need_keys(item, where, _ITEM_KEYS[kind], required)
    if kind == "message":
        _check_content(item.get("content"), item["role"], where)
    elif kind == "function_call":
        _check_id(item["call_id"], where)
        need_name(item["name"], where)
        need_arguments(item["arguments"], f"{where}.arguments")
    elif kind == "function_call_output":
        _check_id(item["call_id"], where)
        need_text(_text_of(item["output"]), f"{where}.output")


def _check_id(call_id: object, where: str) -> None:
    need_text(call_id, f"{where}.call_id")
    fits = len(str(call_id)) <= _LONGEST_ID
    need(fits, f"Invalid '{where}.call_id': string too long. Maximum length {_LONGEST_ID}")


def _check_content(content: object, role: object, where: str) -> None:
    need(
        role in ("user", "assistant", "system", "developer"), f"{where}.role: unknown role {role!r}"
    )
    if not isinstance(content, list):
        need_text(content, f"{where}.content")
        return
    need(content, f"{where}.content: [] is too short")
    kind = "output_text" if role == "assistant" else "input_text"
    for at, part in enumerate(content):
        inner = f"{where}.content[{at}]"
        found = need_keys(
            part, inner, ("type", "text", "annotations", "logprobs"), ("type", "text")
        )
        need(
            found["type"] == kind,
            f"Invalid value: {found['type']!r}. Supported: {kind} - '{inner}'",
        )
        need_text(found["text"], inner)


def _check_calls(items: list[Json]) -> None:
    """Each call is answered before anything else is said, once, in order."""
    waiting: list[str] = []
    seen: set[str] = set()
    for at, item in enumerate(items):
        match item["type"]:
            case "function_call":
                need(
                    item["call_id"] not in seen, f"input[{at}]: Duplicate call_id {item['call_id']}"
                )
                seen.add(item["call_id"])
                waiting.append(item["call_id"])
            case "function_call_output":
                known = item["call_id"] in waiting
                need(
                    known,
                    f"No tool call found for function call output with call_id {item['call_id']}.",
                )
                need(
                    item["call_id"] == waiting.pop(0), f"input[{at}]: outputs must follow in order"
                )
            case "message" if item["role"] != "assistant":
                _need_answered(waiting)
    _need_answered(waiting)
    need(not _is_said(items, len(items) - 1), "input: must not end with what the model said")


def _need_answered(waiting: list[str]) -> None:
    need(not waiting, f"No tool output found for function call {', '.join(waiting)}.")


def _is_said(items: list[Json], at: int) -> bool:
    item = items[at] if at < len(items) else {}
    return item.get("type") == "message" and item.get("role") == "assistant"


def _text_of(content: str | list[Json]) -> str:
    if isinstance(content, str):
        return content
    return "\n\n".join(part["text"] for part in content)


def _item_events(item: Json) -> Iterator[tuple[str, Json]]:
    name = item["id"]
    if item["type"] == "message":
        yield (
            "response.output_item.added",
            {"item": {**item, "status": "in_progress", "content": []}},
        )
        for at, part in enumerate(item["content"]):
            where = {"item_id": name, "content_index": at}
            yield "response.content_part.added", {**where, "part": {**part, "text": ""}}
            for piece in pieces(part["text"]):
                yield "response.output_text.delta", {**where, "delta": piece, "logprobs": []}
            yield "response.output_text.done", {**where, "text": part["text"], "logprobs": []}
            yield "response.content_part.done", {**where, "part": part}
    elif item["type"] == "function_call":
        begun = {**item, "status": "in_progress", "arguments": ""}
        yield "response.output_item.added", {"item": begun}
        for piece in pieces(item.get("arguments") or ""):
            yield "response.function_call_arguments.delta", {"item_id": name, "delta": piece}
        done = {"item_id": name, "name": item["name"], "arguments": item.get("arguments")}
        yield "response.function_call_arguments.done", done
    else:
        yield "response.output_item.added", {"item": {**item, "encrypted_content": ""}}
    yield "response.output_item.done", {"item": item}
