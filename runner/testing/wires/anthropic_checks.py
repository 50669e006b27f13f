"""What Anthropic's messages API refuses, whatever was said before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from runner.testing.wires.base import (
    BadRequest,
    Json,
    need,
    need_keys,
    need_name,
    need_text,
    need_tool,
    seal,
)

_KEYS = (
    "model max_tokens messages system tools tool_choice thinking stream metadata stop_sequences "
    "temperature top_p top_k service_tier cache_control output_config"
).split()
_BLOCK_KEYS = {
    "text": ("type", "text", "cache_control"),
    "tool_use": ("type", "id", "name", "input", "cache_control"),
    "tool_result": ("type", "tool_use_id", "content", "is_error", "cache_control"),
    "thinking": ("type", "thinking", "signature"),
    "redacted_thinking": ("type", "data"),
}
_OF_ROLE = {
    "user": ("text", "tool_result"),
    "assistant": ("text", "tool_use", "thinking", "redacted_thinking"),
}
_THINKING_TYPES = ("enabled", "adaptive", "disabled", "between_tools")
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_MAX_BREAKPOINTS = 4
_LEAST_BUDGET = 1024


def check_request(body: Json) -> None:
    """Judge what one request shows by itself. Raises: BadRequest."""
    need_keys(body, "body", _KEYS, ("model", "max_tokens", "messages"))
    limit = body["max_tokens"]
    need(isinstance(limit, int) and limit > 0, "max_tokens: Input should be greater than 0")
    messages = body["messages"]
    if not isinstance(messages, list) or not messages:
        raise BadRequest("messages: at least one message is required")
    _check_system(body.get("system"))
    _check_thinking(body)
    _check_roles(messages)
    open_calls: list[str] = []
    seen: set[str] = set()
    for at, message in enumerate(messages):
        open_calls = _check_message(at, message, open_calls, seen)
    _check_tools(body, called=bool(seen))
    need(
        _breakpoints(body) <= _MAX_BREAKPOINTS,
        "A maximum of 4 blocks with cache_control may be provided",
    )


def _check_system(system: object) -> None:
    if isinstance(system, list):
        for at, block in enumerate(system):
            _check_block(block, f"system.{at}", ("text",))
    elif system is not None:
        need_text(system, "system")


def _check_tools(body: Json, *, called: bool) -> None:
    tools = body.get("tools") or []
    need(
        tools or not called,
        "Requests which include `tool_use` or `tool_result` blocks must define tools",
    )
    names: set[str] = set()
    for at, tool in enumerate(tools):
        where = f"tools.{at}"
        known = ("name", "description", "input_schema", "cache_control", "type", "strict")
        need_keys(tool, where, known, ("name", "input_schema"))
        need_tool(tool["name"], tool["input_schema"], where, names)
    choice = body.get("tool_choice")
    if choice is None:
        return
    need_keys(choice, "tool_choice", ("type", "name", "disable_parallel_tool_use"), ("type",))
    kind = choice["type"]
    need(kind in ("auto", "any", "tool", "none"), f"tool_choice: unknown type {kind!r}")
    need(tools, "tool_choice may only be specified while providing tools")
    forced = kind in ("any", "tool")
    need(
        not (forced and thinks(body)),
        "Thinking may not be enabled when tool_choice forces tool use.",
    )
    need(kind != "tool" or choice.get("name") in names, "tool_choice: no such tool")


def _check_thinking(body: Json) -> None:
    thinking = body.get("thinking")
    if thinking is None:
        return
    known = ("type", "budget_tokens", "display")
    kind = need_keys(thinking, "thinking", known, ("type",))["type"]
    need(kind in _THINKING_TYPES, f"thinking: unknown type {kind!r}")
    if kind == "enabled":
        budget = thinking.get("budget_tokens")
        enough = isinstance(budget, int) and budget >= _LEAST_BUDGET
        need(enough, f"thinking.enabled.budget_tokens: Input should be at least {_LEAST_BUDGET}")
        need(
            body["max_tokens"] > (budget or 0),
            "`max_tokens` must be greater than `thinking.budget_tokens`",
        )
    warm = kind == "disabled" or body.get("temperature", 1) == 1
    need(warm, "`temperature` may only be set to 1 when thinking is enabled")


def thinks(body: Json) -> bool:
    return (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def _check_roles(messages: list[Any]) -> None:
    before = "assistant"
    for at, message in enumerate(messages):
        need_keys(message, f"messages.{at}", ("role", "content"), ("role", "content"))
        role = message["role"]
        need(role in _OF_ROLE, f"messages.{at}.role: Input should be 'user' or 'assistant'")
        need(role != before, f'messages.{at}: roles must alternate between "user" and "assistant"')
        before = role
    need(
        before == "user",
        "This model does not support assistant message prefill. The conversation must end with a "
        "user message.",
    )


def _check_message(at: int, message: Json, open_calls: list[str], seen: set[str]) -> list[str]:
    """Judge one message; the ids of its calls, which wait for results."""
    role, content = message["role"], message["content"]
    if not isinstance(content, list):
        need_text(content, f"messages.{at}.content")
    need(content, f"messages.{at}: all messages must have non-empty content")
    blocks = list(blocks_of(message, at))
    for where, block in blocks:
        _check_block(block, where, _OF_ROLE[role])
    kinds = [block["type"] for _, block in blocks]
    results = [block["tool_use_id"] for _, block in blocks if block["type"] == "tool_result"]
    if role == "user":
        _check_results(at, results, open_calls)
        first = kinds[: len(results)] == ["tool_result"] * len(results)
        need(first, f"messages.{at}: `tool_result` blocks must come first in the content")
    calls = [block["id"] for _, block in blocks if block["type"] == "tool_use"]
    for call in calls:
        need(call not in seen, f"messages.{at}: `tool_use` ids must be unique: {call}")
        seen.add(call)
    return calls


def _check_signature(block: Json, where: str) -> None:
    sealed = block["signature"] == seal(str(block["thinking"]))
    need(sealed, f"{where}: Invalid `signature` in `thinking` block")


def _check_results(at: int, results: list[str], calls: list[str]) -> None:
    missing = [call for call in calls if call not in results]
    need(
        not missing,
        f"messages.{at - 1}: `tool_use` ids were found without `tool_result` blocks immediately "
        f"after: {', '.join(missing)}. Each `tool_use` block must have a corresponding "
        "`tool_result` block in the next message.",
    )
    unknown = [result for result in results if result not in calls]
    need(
        not unknown,
        f"messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: "
        f"{', '.join(unknown)}. Each `tool_result` block must have a corresponding `tool_use` "
        "block in the previous message.",
    )
    need(
        results == calls, f"messages.{at}: each tool_use must have a single result, in their order"
    )


def _check_block(block: object, where: str, kinds: tuple[str, ...]) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind not in kinds:
        raise BadRequest(f"{where}: Input tag {kind!r} found, expected one of {', '.join(kinds)}")
    optional = ("cache_control", "is_error")
    required = [key for key in _BLOCK_KEYS[kind] if key not in optional]
    found = need_keys(block, where, _BLOCK_KEYS[kind], required)
    if kind == "text":
        need_text(found["text"], where)
    elif kind == "tool_use":
        need(
            _CALL_ID.fullmatch(str(found["id"])),
            f"{where}.id: String should match '{_CALL_ID.pattern}'",
        )
        need(isinstance(found["input"], dict), f"{where}.input: Input should be a valid dictionary")
        need_name(found["name"], where)
    elif kind == "thinking":
        _check_signature(found, where)
    elif kind == "tool_result" and isinstance(found["content"], list):
        for at, inner in enumerate(found["content"]):
            _check_block(inner, f"{where}.content.{at}", ("text",))
    elif kind == "tool_result":
        need_text(found["content"], f"{where}.content")


def _breakpoints(value: object) -> int:
    """How many cache breakpoints there are, anywhere. Raises: BadRequest, for an odd one."""
    if isinstance(value, list):
        return sum(_breakpoints(inner) for inner in value)
    if not isinstance(value, dict):
        return 0
    mark = value.get("cache_control")
    if mark is not None:
        need_keys(mark, "cache_control", ("type", "ttl"), ("type",))
        need(mark["type"] == "ephemeral", "cache_control.type: Input should be 'ephemeral'")
    inner = (one for key, one in value.items() if key not in ("input", "input_schema"))
    return (mark is not None) + sum(_breakpoints(one) for one in inner)


def blocks_of(message: Json, at: int) -> Iterator[tuple[str, Json]]:
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for index, block in enumerate(content):
        yield f"messages.{at}.content.{index}", block
