"""What the responses API refuses, whatever was said before."""

from __future__ import annotations

from runner.testing.wires.base import (
    BadRequest,
    Json,
    need,
    need_keys,
    need_name,
    need_text,
    need_tool,
)
from runner.testing.wires.openai_chat_checks import need_arguments

_KEYS = (
    "model input instructions tools tool_choice parallel_tool_calls stream stream_options store "
    "include reasoning max_output_tokens temperature top_p text truncation user metadata "
    "service_tier prompt_cache_key prompt_cache_retention safety_identifier previous_response_id"
).split()
_LONGEST_ID = 64
_ITEM_KEYS = {
    "message": ("type", "role", "content", "id", "status", "phase"),
    "reasoning": ("type", "id", "summary", "content", "encrypted_content", "status"),
    "function_call": ("type", "id", "call_id", "name", "arguments", "status"),
    "function_call_output": ("type", "id", "call_id", "output", "status"),
}


def check_request(body: Json) -> list[Json]:
    """Judge what one request shows by itself; its input. Raises: BadRequest."""
    need_keys(body, "body", _KEYS, ("model", "input"))
    stored = body.get("store", True) or body.get("previous_response_id")
    need(not stored, "Zero data retention: 'store' must be false, and nothing is remembered")
    if "instructions" in body:
        need_text(body["instructions"], "instructions")
    _check_tools(body)
    items = items_of(body)
    need(items, "input: at least one item is required")
    for at, item in enumerate(items):
        _check_item(item, f"input[{at}]")
    _check_calls(items)
    return items


def items_of(body: Json) -> list[Json]:
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
        need_text(text_of(item["output"]), f"{where}.output")


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
    need(not is_said(items, len(items) - 1), "input: must not end with what the model said")


def _need_answered(waiting: list[str]) -> None:
    need(not waiting, f"No tool output found for function call {', '.join(waiting)}.")


def is_said(items: list[Json], at: int) -> bool:
    item = items[at] if at < len(items) else {}
    return item.get("type") == "message" and item.get("role") == "assistant"


def text_of(content: str | list[Json]) -> str:
    if isinstance(content, str):
        return content
    return "\n\n".join(part["text"] for part in content)
