"""The Messages API of Anthropic, by its own SDK; also on Bedrock, Vertex and Azure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from runner.errors import ContextOverflow
from runner.work.messages import (
    AssistantTurn,
    ModelReply,
    Native,
    Stop,
    ToolCall,
    ToolResult,
    Turn,
    UserTurn,
)
from runner.work.models.failures import cut, understanding
from runner.work.models.native import blocks_for
from runner.work.models.provided import Asked
from runner.work.models.streams import take_events
from runner.work.models.wire import (
    Json,
    as_count,
    as_object,
    is_deep,
    joined,
    read_call,
    sent_id,
    sent_name,
)

FORM = "anthropic"
_CACHED: Json = {"type": "ephemeral"}
_CACHED_TURNS = 2  # with system and tools the four marks that a request may have
_STOPS: Mapping[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "refusal",
}
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 6144, "high": 12288, "xhigh": 24576}
"""Tokens of thinking for models that are told a budget; less than what the reply may have."""


class Messages:
    """Requests and replies in the form of the Messages API."""

    async def ask(self, client: Any, asked: Asked) -> ModelReply:
        import anthropic

        reading = _Reading(asked.request.on_text)
        opening = client.messages.create(
            model=asked.model,
            max_tokens=asked.max_tokens,
            messages=[],
            stream=True,
            # not as arguments, which the SDK would walk through again with every request
            extra_body=request_body(asked),
        )
        content_type = await take_events(opening, reading.take, asked, anthropic.APIError)
        if not reading.ended:
            raise cut(asked.name, content_type)
        with understanding(asked.name):
            return reading.reply(asked.name)


def request_body(asked: Asked) -> Json:
    """The body of a request, but for model and length of the reply."""
    request = asked.request
    body: Json = {"messages": _messages(request.turns, asked)}
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHED}]
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
        body["tools"][-1]["cache_control"] = _CACHED
    if asked.forced:
        body["tool_choice"] = {"type": "any"}
    return body | _thinking(asked)


def _thinking(asked: Asked) -> Json:
    """What is said of thinking; nothing, where the model decides by itself."""
    known, level = asked.known, asked.request.thinking_level
    if asked.effort is None and not (asked.forced and known.efforts and asked.terms.effort):
        return {}
    if known.thinking == "budget":
        if level is None or level == "off" or asked.forced or not _may_think(asked):
            return {}
        budget = min(_BUDGETS[level], asked.max_tokens // 2)
        return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= 1024 else {}
    if asked.forced or level == "off":
        # a call cannot be forced from a model that thinks
        if known.off is not None:
            return {"thinking": {"type": known.off}}
        return {"output_config": {"effort": asked.effort}}
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": asked.effort}}


def _may_think(asked: Asked) -> bool:
    """With a budget, a turn whose calls are being answered must begin with its thinking."""
    said = [turn for turn in asked.request.turns if isinstance(turn, AssistantTurn)]
    return not said or not said[-1].calls or _kept(said[-1], asked) is not None


def _messages(turns: Sequence[Turn], asked: Asked) -> list[Json]:
    messages: list[Json] = [
        {"role": "user", "content": _user_content(turn)}
        if isinstance(turn, UserTurn)
        else {"role": "assistant", "content": _kept(turn, asked) or _rebuilt(turn)}
        for turn in turns
    ]
    told = [message for message in messages if message["role"] == "user"]
    for message in told[-_CACHED_TURNS:]:
        message["content"][-1]["cache_control"] = _CACHED
    return messages


def _user_content(turn: UserTurn) -> list[Json]:
    content = [_result(result) for result in turn.results]
    return [*content, {"type": "text", "text": turn.text}] if turn.text else content


def _result(result: ToolResult) -> Json:
    block: Json = {
        "type": "tool_result",
        "tool_use_id": sent_id(result.call_id),
        "content": result.text,
    }
    return block | {"is_error": True} if result.is_error else block


def _rebuilt(turn: AssistantTurn) -> list[Json]:
    content: list[Json] = [{"type": "text", "text": turn.text}] if turn.text else []
    return content + [_use(call) for call in turn.calls]


def _use(call: ToolCall) -> Json:
    return {
        "type": "tool_use",
        "id": sent_id(call.id),
        "name": sent_name(call.name),
        "input": dict(call.arguments or {}),
    }


def _kept(turn: AssistantTurn, asked: Asked) -> list[Json] | None:
    """The turn as it came: thinking word for word, calls as the history holds them.

    None when there is no such turn for this model, or it no longer fits what the history holds.
    """
    blocks = blocks_for(turn, FORM, asked.name, asked.terms.spoilt)
    if blocks is None or _text(blocks) != turn.text:
        return None
    calls = list(turn.calls)
    if sum(block.get("type") == "tool_use" for block in blocks) != len(calls):
        return None
    return [
        _use(calls.pop(0)) if block.get("type") == "tool_use" else dict(block)
        for block in blocks
        if not _is_blank_text(block)
    ]


def _is_blank_text(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "text" and not str(block.get("text", "")).strip()


def _text(blocks: Iterable[Mapping[str, Any]]) -> str:
    return joined(str(block.get("text", "")) for block in blocks if block.get("type") == "text")


class _Reading:
    """One message, put together from its events."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self.ended = False
        self._on_text = on_text
        self._blocks: dict[int, Json] = {}
        self._written: dict[int, str] = {}  # arguments of calls, as they come in
        self._stop: str | None = None
        self._refusal = ""
        self._usage: Json = {}

    def take(self, event: Json) -> None:
        match event.get("type"):
            case "message_start":
                self._count(as_object(event.get("message")).get("usage"))
            case "content_block_start":
                self._blocks[event["index"]] = dict(as_object(event.get("content_block")))
            case "content_block_delta":
                self._add(event["index"], as_object(event.get("delta")))
            case "message_delta":
                delta = as_object(event.get("delta"))
                self._stop = delta.get("stop_reason") or self._stop
                explanation = as_object(delta.get("stop_details")).get("explanation")
                self._refusal = explanation or self._refusal
                self._count(event.get("usage"))
            case "message_stop":
                self.ended = True

    def _count(self, usage: object) -> None:
        """Counts are cumulative: a later one replaces an earlier one."""
        self._usage |= {key: value for key, value in as_object(usage).items() if value is not None}

    def _add(self, index: int, delta: Json) -> None:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        match delta.get("type"):
            case "text_delta":
                block["text"] = block.get("text", "") + delta["text"]
                self._on_text(delta["text"])
            case "input_json_delta":
                self._written[index] = self._written.get(index, "") + delta["partial_json"]
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta["thinking"]
            case "signature_delta":
                block["signature"] = block.get("signature", "") + delta["signature"]

    def reply(self, name: str) -> ModelReply:
        """The whole message. Raises: ContextOverflow, when it filled up the window."""
        if self._stop == "model_context_window_exceeded":
            raise ContextOverflow(f"{name}: the reply filled up the rest of the context window")
        calls = self._calls()
        blocks = tuple(self._blocks[index] for index in sorted(self._blocks))
        stop = _STOPS.get(self._stop or "", "other")
        read, written = (
            as_count(self._usage.get(f"cache_{key}_input_tokens")) for key in ("read", "creation")
        )
        text = _text(blocks)
        return ModelReply(
            text=text or (self._refusal if stop == "refusal" else ""),
            calls=calls,
            stop=stop,
            input_tokens=as_count(self._usage.get("input_tokens")) + read + written,
            output_tokens=as_count(self._usage.get("output_tokens")),
            cached_tokens=read,
            cache_write_tokens=written,
            native=Native(form=FORM, model=name, blocks=blocks) if _is_more(blocks) else None,
        )

    def _calls(self) -> tuple[ToolCall, ...]:
        """The calls; their blocks get the arguments that came in pieces."""
        calls = []
        for index in sorted(self._blocks):
            block = self._blocks[index]
            if block.get("type") != "tool_use":
                continue
            written: object = self._written.get(index) or block.get("input")
            call = read_call(block.get("id"), block.get("name"), written)
            block["input"] = dict(call.arguments or {})
            calls.append(call)
        return tuple(calls)


def _is_more(blocks: Sequence[Json]) -> bool:
    """Whether these blocks can go back, and text and calls alone would not give them again."""
    if is_deep(list(blocks)):
        return False  # nobody could walk through them
    kinds = [block.get("type") for block in blocks]
    texts = kinds.count("text")
    return kinds != ["text"] * min(texts, 1) + ["tool_use"] * kinds.count("tool_use")
