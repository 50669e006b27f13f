"""Good requests in the form of each API, with calls, results and thinking, for tests to spoil."""

from __future__ import annotations

import copy
import http.client
import json
from collections.abc import Callable, Mapping
from typing import Any

from runner.testing import FakeServer

Json = dict[str, Any]
Change = Callable[[Json], object]
PATHS = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
}
_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
_FUNCTION = {"name": "read", "description": "reads", "parameters": _SCHEMA}

_ANTHROPIC: Json = {
    "model": "m",
    "max_tokens": 4096,
    "system": [{"type": "text", "text": "You work.", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "read", "description": "reads", "input_schema": _SCHEMA}],
    "messages": [
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I read."},
                {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "b", "name": "read", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "A"},
                {
                    "type": "tool_result",
                    "tool_use_id": "b",
                    "content": [{"type": "text", "text": "B"}],
                    "is_error": True,
                },
                {"type": "text", "text": "Go on."},
            ],
        },
    ],
}
_CHAT: Json = {
    "model": "m",
    "max_tokens": 4096,
    "tools": [{"type": "function", "function": _FUNCTION}],
    "messages": [
        {"role": "system", "content": "You work."},
        {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        {
            "role": "assistant",
            "content": "I read.",
            "tool_calls": [
                {
                    "id": name,
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path": "a"}'},
                }
                for name in ("a", "b")
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "A"},
        {"role": "tool", "tool_call_id": "b", "content": "B"},
        {"role": "user", "content": "Go on."},
    ],
}
_RESPONSES: Json = {
    "model": "m",
    "store": False,
    "instructions": "You work.",
    "tools": [{"type": "function", **_FUNCTION, "strict": False}],
    "input": [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [{"type": "output_text", "text": "I read."}]},
        {"type": "function_call", "call_id": "a", "name": "read", "arguments": '{"path": "a"}'},
        {"type": "function_call", "call_id": "b", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "A"},
        {"type": "function_call_output", "call_id": "b", "output": "B"},
        {"role": "user", "content": "Go on."},
    ],
}
_BODIES = {"anthropic": _ANTHROPIC, "openai-chat": _CHAT, "openai-responses": _RESPONSES}


def good(form: str, change: Change = lambda body: None) -> Json:
    """A request that is accepted, until `change` spoils it."""
    body = copy.deepcopy(_BODIES[form])
    change(body)
    return body


def post(
    server: FakeServer, form: str, body: object, *, key: str = "k", raw: bytes | None = None
) -> tuple[int, Mapping[str, str], Any]:
    """Status, headers and JSON of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        data = json.dumps(body).encode() if raw is None else raw
        connection.request("POST", PATHS[form], data, {"Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        content = answer.read()
        return answer.status, dict(answer.headers), json.loads(content)
    finally:
        connection.close()


def put(*path: str | int, to: object) -> Change:
    """A change: the value at this place. A place after the end of a list is a new one."""

    def change(body: Json) -> None:
        holder: Any = body
        for step in path[:-1]:
            holder = holder[step]
        if isinstance(holder, list) and path[-1] == len(holder):
            holder.append(to)
        else:
            holder[path[-1]] = to

    return change


def drop(*path: str | int | slice) -> Change:
    """A change: nothing at this place."""

    def change(body: Json) -> None:
        holder: Any = body
        for step in path[:-1]:
            holder = holder[step]
        del holder[path[-1]]

    return change
