"""Requests and replies in the form of the Responses API, over real HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runner.core.settings import ProviderSettings
from runner.errors import ContextOverflow, ModelError, ModelOverloaded, ModelRejected
from runner.work.messages import ModelReply, ToolCall
from tests.work.models.canned import (
    GO,
    Answer,
    after,
    asking,
    error,
    events,
    opened,
    serving,
)

MODEL = "openai/gpt-6.2-sol"
OWN = {"openai": ProviderSettings(api="responses")}


def said(text: str, kind: str = "output_text", **fields: Any) -> dict[str, Any]:
    key = "refusal" if kind == "refusal" else "text"
    content = [{"type": kind, key: text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": content, **fields}


def call(arguments: str = "{}") -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "read",
        "arguments": arguments,
        "status": "completed",
    }


def thought(sealed: str | None = "sealed-1") -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed}


def done(*items: dict[str, Any], status: str = "completed", **fields: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 30,
        "output_tokens": 5,
        "total_tokens": 35,
        "input_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 4},
    }
    response = {"id": "r", "status": status, "output": items, "usage": usage, **fields}
    return {"type": f"response.{status}", "sequence_number": 9, "response": response}


HELLO = events(done(said("hello")))


async def reply_of(answer: Answer) -> ModelReply:
    with serving(answer) as canned:
        async with opened(canned, MODEL, providers=OWN) as model:
            return await model.reply(asking(GO))


async def bodies_of(*answers: Answer, change: Any = None) -> tuple[dict[str, Any], ...]:
    """What was sent: a request, then one with its reply in the history."""
    with serving(*answers) as canned:
        async with opened(canned, MODEL, providers=OWN) as model:
            reply = await model.reply(asking(GO))
            await model.reply(asking(*after(change(reply) if change else reply)))
    return tuple(canned.bodies)


async def test_text_and_calls_are_read_and_heard_and_counted() -> None:
    heard: list[str] = []
    text = {"type": "response.output_text.delta", "delta": "Reading.", "item_id": "msg_1"}
    told = events(text, done(said("Reading."), call('{"path":"a"}')))
    with serving(told) as canned:
        async with opened(canned, MODEL, providers=OWN) as model:
            reply = await model.reply(asking(GO, on_text=heard.append))

    assert (reply.text, heard, reply.stop) == ("Reading.", ["Reading."], "tool_calls")
    assert [(one.id, one.arguments) for one in reply.calls] == [("call_1", {"path": "a"})]
    assert (reply.input_tokens, reply.cached_tokens, reply.cache_write_tokens) == (30, 20, 4)
    assert reply.usd == pytest.approx((6 * 2 + 20 * 0.1 + 4 * 2.5 + 5 * 10) / 1e6)


async def test_items_count_where_the_end_does_not_repeat_them() -> None:
    item = {"type": "response.output_item.done", "output_index": 0, "item": said("hello")}

    assert (await reply_of(events(item, done()))).text == "hello"


@pytest.mark.parametrize(
    ("end", "stop"),
    [
        (done(said("x")), "end"),
        (done(said("x", "refusal")), "refusal"),
        (done(said("x"), status="incomplete", incomplete_details={"reason": "new"}), "other"),
        (
            done(call(), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "length",
        ),
        (
            done(said("x"), status="incomplete", incomplete_details={"reason": "content_filter"}),
            "refusal",
        ),
    ],
)
async def test_ends_are_told_apart(end: dict[str, Any], stop: str) -> None:
    reply = await reply_of(events(end))

    assert reply.stop == stop
    assert reply.text == ("" if stop == "length" else "x")


def failed(code: str, message: str = "no") -> dict[str, Any]:
    return done(status="failed", error={"code": code, "message": message})


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        (failed("server_error"), ModelOverloaded),
        (failed("rate_limit_exceeded"), ModelOverloaded),
        (failed("invalid_prompt"), ModelRejected),
        (failed("context_length_exceeded"), ContextOverflow),
        ({"type": "error", "code": "server_error", "message": "x"}, ModelOverloaded),
        ({"type": "error", "message": "Your input exceeds the context window"}, ContextOverflow),
        ({"type": "response.in_progress"}, ModelOverloaded),
    ],
)
async def test_a_response_that_failed_says_whether_to_try_again(
    told: dict[str, Any], kind: type[ModelError]
) -> None:
    with pytest.raises(kind):
        await reply_of(events({**told, "sequence_number": 1}))


async def test_nothing_is_stored_and_thinking_is_asked_for_encrypted() -> None:
    with serving(HELLO) as canned:
        async with opened(canned, MODEL, providers=OWN) as model:
            await model.reply(asking(GO, tool_choice="required", thinking_level="high"))
            await model.reply(asking(GO, system=" ", tools=()))
    first, second = canned.bodies

    assert (first["store"], first["include"]) == (False, ["reasoning.encrypted_content"])
    assert (first["reasoning"], first["tool_choice"]) == ({"effort": "high"}, "required")
    assert first["instructions"] == "You are ann."
    assert first["tools"][0]["strict"] is False
    assert not {"instructions", "tools", "tool_choice", "reasoning"} & set(second)


async def test_thinking_goes_back_as_it_came_with_the_calls_of_the_history() -> None:
    def kept(reply: ModelReply) -> ModelReply:
        mine = ToolCall(id="call_1_2", name="read", arguments={"path": "[redacted]"})
        return replace(reply, calls=(mine,))

    answer = events(done(thought(), said("Reading.", phase="commentary"), call()))
    _, body = await bodies_of(answer, HELLO, change=kept)

    assert body["input"][1:3] == [thought(), said("Reading.", phase="commentary")]
    sent, result = body["input"][3:]
    assert (sent["id"], sent["call_id"], sent["arguments"]) == (
        "fc_1",
        "call_1_2",
        '{"path": "[redacted]"}',
    )
    assert result == {"type": "function_call_output", "call_id": "call_1_2", "output": "x"}


@pytest.mark.parametrize(
    ("sealed", "change"),
    [
        (None, {}),
        ("s", {"text": "[redacted]"}),
        ("s", {"calls": (ToolCall(id="1", name="a", arguments={}),) * 2}),
    ],
)
async def test_a_turn_that_cannot_go_back_as_it_came_is_built_again(
    sealed: str | None, change: dict[str, Any]
) -> None:
    answer = events(done(thought(sealed), said("Reading."), call()))
    _, body = await bodies_of(answer, HELLO, change=lambda reply: replace(reply, **change))

    assert "reasoning" not in [item.get("type") for item in body["input"]]
    assert body["input"][1]["role"] == "assistant"


async def test_thinking_that_was_refused_is_left_out() -> None:
    refused = error(400, {"error": {"message": "The encrypted content could not be verified."}})
    _, second, third = await bodies_of(events(done(thought(), call())), refused, HELLO)

    assert "reasoning" in [item.get("type") for item in second["input"]]
    assert "reasoning" not in [item.get("type") for item in third["input"]]


@pytest.mark.parametrize(
    "answer", [Answer(body="<html></html>", content_type="text/html"), replace(HELLO, promised=999)]
)
async def test_an_answer_without_its_end_may_be_tried_again(answer: Answer) -> None:
    with pytest.raises(ModelOverloaded):
        await reply_of(replace(answer, body=answer.body[:60]))
