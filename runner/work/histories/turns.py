"""The turns of a history as JSON, in which transcripts keep them, and back.

`{"role": "user", "text", "results": [{"id", "name", "text", "isError"}]}` and `{"role":
"assistant", "text", "calls": [{"id", "name", "arguments"}], "native"?: {"form", "model",
"blocks"}}`. The line of kind `assistant` has the fields of such a turn, the line of kind `result`
those of one result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from runner.work.messages import AssistantTurn, Native, ToolCall, ToolResult, Turn, UserTurn


class BadTurns(ValueError):
    """JSON that is no turn, or not one of ours; the text says which part."""


def turns_as_json(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    return [turn_as_json(turn) for turn in turns]


def turn_as_json(turn: Turn) -> dict[str, Any]:
    if isinstance(turn, UserTurn):
        results = [result_as_json(result) for result in turn.results]
        return {"role": "user", "text": turn.text, "results": results}
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in turn.calls]
    told = {"role": "assistant", "text": turn.text, "calls": calls}
    return told if turn.native is None else {**told, "native": _native_as_json(turn.native)}


def result_as_json(result: ToolResult) -> dict[str, Any]:
    return {
        "id": result.call_id,
        "name": result.name,
        "text": result.text,
        "isError": result.is_error,
    }


def _native_as_json(native: Native) -> dict[str, Any]:
    return {"form": native.form, "model": native.model, "blocks": list(native.blocks)}


def turns_from_json(value: Any) -> tuple[Turn, ...]:
    """What `turns_as_json` gave. Raises: BadTurns."""
    return tuple(turn_from_json(turn) for turn in _list(value, "turns"))


def turn_from_json(value: Any) -> Turn:
    """One turn; a line of kind `assistant` is read with its `role`. Raises: BadTurns."""
    turn = _object(value, "turn")
    text = _text(turn, "text")
    if turn.get("role") == "user":
        results = _list(turn.get("results"), "results")
        return UserTurn(text=text, results=tuple(result_from_json(one) for one in results))
    if turn.get("role") != "assistant":
        raise BadTurns(f"role: {turn.get('role')!r} is neither user nor assistant")
    calls = tuple(call_from_json(one) for one in _list(turn.get("calls"), "calls"))
    native = turn.get("native")
    return AssistantTurn(
        text=text, calls=calls, native=None if native is None else _native_from_json(native)
    )


def call_from_json(value: Any) -> ToolCall:
    """One call, also a line of kind `call`. Raises: BadTurns."""
    call = _object(value, "call")
    arguments = _object(call.get("arguments"), "arguments")
    return ToolCall(id=_text(call, "id"), name=_text(call, "name"), arguments=arguments)


def result_from_json(value: Any) -> ToolResult:
    """One result, also a line of kind `result`. Raises: BadTurns."""
    result = _object(value, "result")
    return ToolResult(
        call_id=_text(result, "id"),
        name=_text(result, "name"),
        text=_text(result, "text"),
        is_error=result.get("isError") is True,
    )


def _native_from_json(value: Any) -> Native:
    native = _object(value, "native")
    blocks = [_object(block, "block") for block in _list(native.get("blocks"), "blocks")]
    return Native(form=_text(native, "form"), model=_text(native, "model"), blocks=tuple(blocks))


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadTurns(f"{what}: {value!r} is no object")
    return value


def _list(value: Any, what: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise BadTurns(f"{what}: {value!r} is no list")
    return cast(Sequence[Any], value)


def _text(value: Mapping[str, Any], key: str) -> str:
    if not isinstance(text := value.get(key), str):
        raise BadTurns(f"{key}: {text!r} is no text")
    return text
