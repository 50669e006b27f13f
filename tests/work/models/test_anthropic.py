"""Requests and replies in the form of the Messages API, over real HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runner.core.settings import ProviderSettings
from runner.errors import ContextOverflow, ModelOverloaded, ModelRejected
from runner.work.messages import (
    AssistantTurn,
    ModelReply,
    Native,
    ToolCall,
    ToolResult,
    UserTurn,
)
from tests.work.models.canned import (
    GO,
    READ,
    WRITE,
    Answer,
    Canned,
    after,
    asking,
    error,
    events,
    opened,
    serving,
)

OPUS = "anthropic/claude-opus-4-8"
ALWAYS = "anthropic/claude-opus-5-5"
BUDGET = "anthropic/claude-haiku-4-5"


def start(**usage: int) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": "m", "usage": usage, "content": []}}


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(index: int, *pieces: str) -> list[dict[str, Any]]:
    deltas = ({"type": "text_delta", "text": piece} for piece in pieces)
    return block(index, {"type": "text", "text": ""}, *deltas)


def thinking(index: int, thought: str, signature: str) -> list[dict[str, Any]]:
    return block(
        index,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": thought},
        {"type": "signature_delta", "signature": signature},
    )


def use(index: int, call_id: str, *pieces: str, name: str = "read") -> list[dict[str, Any]]:
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return block(index, {"type": "tool_use", "id": call_id, "name": name, "input": {}}, *deltas)


def end(reason: str, **usage: int) -> list[dict[str, Any]]:
    return [
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
        {"type": "message_stop"},
    ]


HELLO = events(start(input_tokens=3), *text(0, "hello"), *end("end_turn", output_tokens=1))
THOUGHT = events(
    start(input_tokens=3),
    *thinking(0, "I must read", "sig-1"),
    *text(1, "Reading."),
    *use(2, "toolu_1", '{"pa', 'th":"a"}'),
    *end("tool_use", output_tokens=20),
)


async def reply_of(answer: Answer, name: str = OPUS) -> ModelReply:
    with serving(answer) as canned:
        async with opened(canned, name) as model:
            return await model.reply(asking(GO))


async def body_of(*turns: Any, name: str = OPUS, **fields: Any) -> dict[str, Any]:
    """What is sent for this request."""
    with serving(HELLO) as canned:
        async with opened(canned, name) as model:
            await model.reply(asking(*turns, **fields))
    return canned.bodies[-1]


async def test_text_and_calls_are_put_together_and_heard_piece_by_piece() -> None:
    heard: list[str] = []
    told = events(
        {"type": "ping"},
        start(input_tokens=3),
        *text(0, "hel", "lo"),
        *use(1, "toolu_1", '{"path":', '"a"}'),
        *use(2, "toolu_2"),
        *end("tool_use", output_tokens=1),
    )
    with serving(told) as canned:
        async with opened(canned, OPUS) as model:
            reply = await model.reply(asking(GO, on_text=heard.append))

    assert (reply.text, reply.stop, heard) == ("hello", "tool_calls", ["hel", "lo"])
    assert [(call.id, call.arguments) for call in reply.calls] == [
        ("toolu_1", {"path": "a"}),
        ("toolu_2", {}),
    ]
    assert reply.native is None


async def test_usage_is_all_that_went_in_with_its_cached_parts_and_its_price() -> None:
    reply = await reply_of(
        events(
            start(input_tokens=10, cache_read_input_tokens=1000, cache_creation_input_tokens=100),
            *text(0, "x"),
            *end("end_turn", output_tokens=50),
        )
    )

    assert (reply.input_tokens, reply.output_tokens) == (1110, 50)
    assert (reply.cached_tokens, reply.cache_write_tokens) == (1000, 100)
    assert reply.usd == pytest.approx((10 * 5 + 1000 * 0.5 + 100 * 6.25 + 50 * 25) / 1e6)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("max_tokens", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "other"),
        ("a_new_reason", "other"),
    ],
)
async def test_reasons_to_stop_are_told_apart(reason: str, stop: str) -> None:
    assert (await reply_of(events(start(), *text(0, "x"), *end(reason)))).stop == stop


async def test_a_refusal_without_text_tells_the_explanation() -> None:
    delta = {"stop_reason": "refusal", "stop_details": {"explanation": "not that"}}
    told = events(start(), {"type": "message_delta", "delta": delta}, {"type": "message_stop"})

    assert (await reply_of(told)).text == "not that"


async def test_a_reply_that_fills_the_window_is_an_overflow() -> None:
    with pytest.raises(ContextOverflow, match="filled up the rest"):
        await reply_of(events(start(), *text(0, "x"), *end("model_context_window_exceeded")))


async def test_a_call_that_was_cut_keeps_what_came() -> None:
    reply = await reply_of(events(start(), *use(0, "toolu_1", '{"path":"a'), *end("max_tokens")))

    assert (reply.stop, reply.calls[0].arguments) == ("length", None)
    assert reply.calls[0].raw == '{"path":"a'


@pytest.mark.parametrize(
    "answer",
    [
        events(start(), *text(0, "half")),
        replace(HELLO, promised=9000),
        Answer(body="<html>busy</html>", content_type="text/html"),
        events(start(), {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}),
    ],
    ids=["no end", "cut", "a web page", "an error inside"],
)
async def test_a_stream_without_its_end_may_be_tried_again(answer: Answer) -> None:
    with pytest.raises(ModelOverloaded, match=OPUS):
        await reply_of(answer)


async def test_a_request_has_the_four_marks_for_the_cache() -> None:
    reply = ModelReply(calls=(ToolCall(id="toolu_1", name="read", arguments={}),))
    body = await body_of(*after(reply, "mail"), tools=(READ, WRITE))

    marked = [
        *body["system"],
        *body["tools"],
        *(part for message in body["messages"] for part in message["content"]),
    ]
    marks = [part for part in marked if "cache_control" in part]
    assert [mark.get("text") or mark.get("name") for mark in marks] == [
        "You are ann.",
        "write",
        "go",
        "mail",
    ]
    assert "tool_choice" not in body


async def test_results_come_first_with_their_errors_marked() -> None:
    call = ToolCall(id="toolu_1", name="read", arguments={"path": "a"})
    bad = ToolResult(call_id="toolu_1", name="read", text="no such file", is_error=True)
    body = await body_of(GO, AssistantTurn(calls=(call,)), UserTurn(results=(bad,), text="mail"))

    assert body["messages"][1]["content"] == [
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}}
    ]
    result, told = body["messages"][2]["content"]
    assert (result["type"], result["is_error"], told["text"]) == ("tool_result", True, "mail")


async def test_ids_and_names_that_the_api_would_refuse_are_sent_in_another_spelling() -> None:
    call = ToolCall(id="call 1/ä", name="functions.read file", arguments={})
    result = ToolResult(call_id=call.id, name=call.name, text="x")
    body = await body_of(GO, AssistantTurn(calls=(call,)), UserTurn(results=(result,)))

    sent, answered = (message["content"][0] for message in body["messages"][1:])
    assert sent["name"] == "functions_read_file"
    assert sent["id"] == answered["tool_use_id"] != call.id


async def test_thinking_goes_back_word_for_word_with_the_calls_as_the_history_holds_them() -> None:
    with serving(THOUGHT) as canned:
        async with opened(canned, OPUS) as model:
            reply = await model.reply(asking(GO))
            kept = replace(reply.calls[0], id="toolu_1_2", arguments={"path": "[redacted]"})
            await model.reply(asking(*after(replace(reply, calls=(kept,)))))

    assert canned.bodies[1]["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "I must read", "signature": "sig-1"},
        {"type": "text", "text": "Reading."},
        {"type": "tool_use", "id": "toolu_1_2", "name": "read", "input": {"path": "[redacted]"}},
    ]


@pytest.mark.parametrize("change", ["text", "calls", "model", "form"])
async def test_thinking_that_no_longer_fits_is_left_out(change: str) -> None:
    with serving(THOUGHT) as canned:
        async with opened(canned, OPUS) as model:
            reply = await model.reply(asking(GO))
            native = reply.native
            assert native is not None
            changed: dict[str, Any] = {
                "text": {"text": "[redacted]"},
                "calls": {"calls": ()},
                "model": {"native": replace(native, model=ALWAYS)},
                "form": {"native": replace(native, form="openai-chat")},
            }
            await model.reply(asking(*after(replace(reply, **changed[change]), "go on")))

    kinds = [part["type"] for part in canned.bodies[1]["messages"][1]["content"]]
    assert "thinking" not in kinds
    assert "text" in kinds


async def test_an_empty_text_between_thinking_and_calls_is_not_sent() -> None:
    blocks = (
        {"type": "thinking", "thinking": "", "signature": "s"},
        {"type": "text", "text": "\n"},
        {"type": "tool_use", "id": "t", "name": "read", "input": {}},
    )
    call = ToolCall(id="t", name="read", arguments={})
    reply = ModelReply(calls=(call,), native=Native(form="anthropic", model=OPUS, blocks=blocks))
    body = await body_of(*after(reply))

    kinds = [part["type"] for part in body["messages"][1]["content"]]
    assert kinds == ["thinking", "tool_use"]


REFUSED = error(
    400,
    {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "messages.1.content.0: Invalid `signature` in `thinking` block. The block "
            "is bound to a different conversation.",
        },
    },
)


async def test_thinking_that_was_refused_is_left_out_from_then_on() -> None:
    with serving(THOUGHT, REFUSED, HELLO) as canned:
        async with opened(canned, OPUS) as model:
            reply = await model.reply(asking(GO))
            await model.reply(asking(*after(reply)))
            await model.reply(asking(*after(reply)))

    kinds = [
        [part["type"] for part in body["messages"][1]["content"]] for body in canned.bodies[1:]
    ]
    assert kinds == [["thinking", "text", "tool_use"], ["text", "tool_use"], ["text", "tool_use"]]


async def test_what_is_refused_for_another_reason_is_not_sent_again() -> None:
    refused = error(400, {"error": {"type": "invalid_request_error", "message": "no"}})
    with serving(refused) as canned:
        async with opened(canned, OPUS) as model:
            with pytest.raises(ModelRejected, match="HTTP 400: no"):
                await model.reply(asking(GO, tool_choice="required", thinking_level="low"))

    assert len(canned.bodies) == 1


ADAPTIVE = {"type": "adaptive"}


@pytest.mark.parametrize(
    ("name", "level", "thinking", "effort"),
    [
        (OPUS, None, None, None),
        (OPUS, "off", {"type": "disabled"}, None),
        (OPUS, "minimal", ADAPTIVE, "low"),
        (OPUS, "xhigh", ADAPTIVE, "xhigh"),
        ("anthropic/claude-opus-4-6", "xhigh", ADAPTIVE, "high"),
        (ALWAYS, "off", None, "low"),
        ("anthropic/claude-sonnet-5-5", "off", {"type": "between_tools"}, None),
        (BUDGET, None, None, None),
        (BUDGET, "off", None, None),
        (BUDGET, "medium", {"type": "enabled", "budget_tokens": 6144}, None),
        ("anthropic/stranger", "high", None, None),
    ],
)
async def test_a_thinking_level_is_told_as_the_model_takes_it(
    name: str, level: str | None, thinking: object, effort: str | None
) -> None:
    body = await body_of(GO, name=name, thinking_level=level)

    assert body.get("thinking") == thinking
    assert body.get("output_config", {}).get("effort") == effort


@pytest.mark.parametrize(
    ("name", "choice", "thinking"),
    [
        (OPUS, {"type": "any"}, {"type": "disabled"}),
        (BUDGET, {"type": "any"}, None),
        (ALWAYS, None, ADAPTIVE),
        ("anthropic/stranger", {"type": "any"}, None),
    ],
)
async def test_a_call_is_required_only_of_a_model_that_then_does_not_think(
    name: str, choice: object, thinking: object
) -> None:
    body = await body_of(GO, name=name, tool_choice="required", thinking_level="high")

    assert body.get("tool_choice") == choice
    assert body.get("thinking") == thinking


async def test_a_budget_is_not_given_in_the_midst_of_calls_that_were_not_thought_of() -> None:
    reply = ModelReply(calls=(ToolCall(id="t", name="read", arguments={}),))
    body = await body_of(*after(reply), name=BUDGET, thinking_level="high")

    assert "thinking" not in body


async def test_the_reply_may_be_longer_by_what_the_model_thinks() -> None:
    plain = await body_of(GO, name=BUDGET, max_output_tokens=1000)
    thought = await body_of(GO, name=BUDGET, max_output_tokens=1000, thinking_level="high")

    assert plain["max_tokens"] == 1000
    assert thought["max_tokens"] > 1000 + thought["thinking"]["budget_tokens"]


async def test_key_and_token_are_sent_as_the_variables_hold_them() -> None:
    with serving(HELLO) as canned:
        for environ in ({"ANTHROPIC_API_KEY": "key-1"}, {"ANTHROPIC_AUTH_TOKEN": "token-1"}):
            async with opened(canned, OPUS, environ) as model:
                await model.reply(asking(GO, system=" "))
        own = {"anthropic": ProviderSettings(api_key_env="OPENAI_MINE")}
        async with opened(canned, OPUS, {"OPENAI_MINE": "key-2"}, providers=own) as model:
            await model.reply(asking(GO))

    sent = [(headers["authorization"], headers.get("x-api-key")) for headers in canned.headers]
    assert sent == [
        ("Bearer key-1", "key-1"),
        ("Bearer token-1", None),
        ("Bearer key-2", "key-2"),
    ]
    assert "system" not in canned.bodies[0]


async def test_a_bad_key_is_told_with_the_variable_it_came_from() -> None:
    refused = error(401, {"error": {"type": "authentication_error", "message": "invalid key"}})
    with serving(refused) as canned:
        async with opened(canned, OPUS, {"ANTHROPIC_API_KEY": "bad"}) as model:
            with pytest.raises(ModelRejected, match="comes from ANTHROPIC_API_KEY") as caught:
                await model.reply(asking(GO))

    assert caught.value.status == 401


async def test_a_server_that_is_not_there_may_be_tried_again() -> None:
    with serving(HELLO) as canned:
        pass
    async with opened(Canned(), OPUS, {"ANTHROPIC_BASE_URL": canned.url}) as model:
        with pytest.raises(ModelOverloaded, match="APIConnectionError"):
            await model.reply(asking(GO))
