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
    pieces,
    raw_arguments,
    seal,
    thoughts,
    tokens_in,
    tokens_out,
)
from runner.testing.wires.openai_responses_checks import check_request, is_said, items_of, text_of
from runner.work.messages import ModelReply, ToolCall, ToolResult

_ENCRYPTED = "reasoning.encrypted_content"
_INCOMPLETE = {"length": "max_output_tokens", "refusal": "content_filter", "other": "steered"}


class ResponsesWire:
    """`POST /v1/responses`."""

    form = "openai-responses"

    def __init__(self) -> None:
        self._reasoning_before: dict[str, str] = {}

    def check(self, body: Json) -> None:
        self._check_reasoning(check_request(body))

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
                after = following in ("function_call", "reasoning") or is_said(items, at + 1)
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
        for item in items_of(body):
            match item["type"]:
                case "message" if item["role"] == "assistant":
                    turns.said(text_of(item["content"]))
                case "message" if item["role"] == "user":
                    turns.told(text_of(item["content"]))
                case "message":
                    system.append(text_of(item["content"]))
                case "function_call":
                    raw = item["arguments"]
                    call = ToolCall(
                        id=item["call_id"], name=item["name"], arguments=json.loads(raw), raw=raw
                    )
                    turns.said(calls=[call])
                case "function_call_output":
                    call_id = item["call_id"]
                    result = ToolResult(
                        call_id=call_id, name=turns.name_of(call_id), text=text_of(item["output"])
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
