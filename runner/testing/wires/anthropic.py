"""Anthropic's messages API, as strict as the strictest of its hosts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from runner.testing.wires.anthropic_checks import blocks_of, check_request, thinks
from runner.testing.wires.base import (
    BadRequest,
    Event,
    Heard,
    Json,
    TurnsBuilder,
    need,
    pieces,
    raw_arguments,
    seal,
    thoughts,
    tokens_in,
    tokens_out,
)
from runner.work.messages import ModelReply, ToolCall, ToolResult

_THINKING = ("thinking", "redacted_thinking")
_STOPS = {
    "end": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
    "other": "pause_turn",
}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class AnthropicWire:
    """`POST /v1/messages`."""

    form = "anthropic"

    def __init__(self) -> None:
        self._said: list[list[Json]] = []

    def check(self, body: Json) -> None:
        check_request(body)
        if thinks(body):
            budget = body["thinking"]["type"] == "enabled"
            self._check_latest(body["messages"], budget=budget)

    def _check_latest(self, messages: list[Json], *, budget: bool) -> None:
        """The thinking of the latest turn comes back as it was said.

        With a `budget` it must come back; else it may be left out.
        """
        at = max((at for at, one in enumerate(messages) if one["role"] == "assistant"), default=-1)
        if at < 0:
            return
        latest = [block for _, block in blocks_of(messages[at], at)]
        if not _uses(latest):
            return
        need(
            not budget or latest[0]["type"] in _THINKING,
            f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{latest[0]['type']}`. When `thinking` is enabled, a final `assistant` message must "
            "start with a thinking block",
        )
        said = [_thinking_of(one) for one in self._said if _uses(one) == _uses(latest)]
        thinking = _thinking_of(latest)
        if not thinking or not said or thinking in said:
            return
        raise BadRequest(
            f"messages.{at}: `thinking` or `redacted_thinking` blocks in the latest assistant "
            "message cannot be modified. These blocks must remain as they were"
        )

    def heard(self, body: Json) -> Heard:
        turns = TurnsBuilder()
        for at, message in enumerate(body["messages"]):
            for _, block in blocks_of(message, at):
                match block["type"]:
                    case "text" if message["role"] == "user":
                        turns.told(block["text"])
                    case "text":
                        turns.said(block["text"])
                    case "tool_use":
                        call = ToolCall(
                            id=block["id"], name=block["name"], arguments=block["input"]
                        )
                        turns.said(calls=[call])
                    case "tool_result":
                        call_id = block["tool_use_id"]
                        result = ToolResult(
                            call_id=call_id,
                            name=turns.name_of(call_id),
                            text=_text_of(block["content"]),
                            is_error=bool(block.get("is_error")),
                        )
                        turns.told(results=[result])
        return Heard(system=_text_of(body.get("system") or ""), turns=turns.turns)

    def message(self, reply: ModelReply, body: Json, number: int) -> Json:
        content: list[Json] = []
        if thinks(body):
            content += [
                {"type": "thinking", "thinking": text, "signature": seal(text)}
                for text in thoughts(reply)
            ]
        if reply.text:
            content.append({"type": "text", "text": reply.text})
        content += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": raw_arguments(call)}
            for call in reply.calls
        ]
        self._said.append(content)
        going_in = reply.input_tokens or tokens_in(body)
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": _STOPS[reply.stop],
            "stop_sequence": None,
            "usage": {
                "input_tokens": going_in - reply.cached_tokens - reply.cache_write_tokens,
                "cache_read_input_tokens": reply.cached_tokens,
                "cache_creation_input_tokens": reply.cache_write_tokens,
                "output_tokens": reply.output_tokens or tokens_out(reply),
            },
        }

    def events(self, message: Json, body: Json) -> Iterator[Event]:
        usage = message["usage"]
        begun = {
            **message,
            "content": [],
            "stop_reason": None,
            "usage": {**usage, "output_tokens": 1},
        }
        yield _event("message_start", message=begun)
        yield _event("ping")
        for index, block in enumerate(message["content"]):
            yield from _block_events(index, block)
        stop = {key: message[key] for key in ("stop_reason", "stop_sequence")}
        out = {"output_tokens": usage["output_tokens"]}
        yield _event("message_delta", delta=stop, usage=out)
        yield _event("message_stop")

    def whole(self, message: Json) -> Json:
        content = [
            {**block, "input": _object(block.get("input"))}
            if block["type"] == "tool_use"
            else block
            for block in message["content"]
        ]
        return {**message, "content": content}

    def error(self, status: int, message: str, code: str | None = None) -> Json:
        kind = _ERRORS.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}

    def overflow(self, tokens: int, window: int) -> BadRequest:
        return BadRequest(f"prompt is too long: {tokens} tokens > {window} maximum")

    def broken_off(self, message: str) -> Event:
        return _event("error", error={"type": "overloaded_error", "message": message})


def _uses(blocks: list[Json]) -> list[tuple[str, Json]]:
    return [
        (block["name"], _object(block["input"])) for block in blocks if block["type"] == "tool_use"
    ]


def _thinking_of(blocks: list[Json]) -> list[Json]:
    return [block for block in blocks if block["type"] in _THINKING]


def _object(arguments: Any) -> Json:
    """The input of a call as an object; that of a broken one is empty, as the API has it."""
    try:
        value = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _text_of(content: str | list[Json]) -> str:
    if isinstance(content, str):
        return content
    return "\n\n".join(block["text"] for block in content)


def _block_events(index: int, block: Json) -> Iterator[Event]:
    empty: dict[str, Json] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"input": {}},
    }
    kind = block["type"]
    yield _event("content_block_start", index=index, content_block={**block, **empty.get(kind, {})})
    deltas: list[Json] = []
    if kind == "text":
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    elif kind == "thinking":
        deltas = [
            {"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])
        ]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif isinstance(block.get("input"), str):
        parts = ["", *pieces(block["input"])]
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(kind: str, **fields: Any) -> Event:
    return kind, json.dumps({"type": kind, **fields})
