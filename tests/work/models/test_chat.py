"""Requests and replies in the form of chat completions, over real HTTP."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import anyio
import pytest

from runner.errors import ContextOverflow, ModelOverloaded, ModelRejected
from runner.work.messages import (
    AssistantTurn,
    ModelReply,
    ToolCall,
    ToolResult,
    UserTurn,
)
from tests.work.models.canned import (
    GO,
    Answer,
    Canned,
    after,
    asking,
    chunks,
    error,
    opened,
    serving,
)

MODEL = "openai/some-model"


def delta(reason: str | None = None, **content: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": content, "finish_reason": reason}]}


def piece(index: int | None, *, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    name = fields.pop("name", None)
    function = {"name": name} if name else {}
    if arguments is not None:
        function["arguments"] = arguments
    at = {} if index is None else {"index": index}
    return delta(tool_calls=[{**at, "type": "function", "function": function, **fields}])


def usage(**told: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1, **told}}


HELLO = chunks(delta(content="hello"), delta("stop"), usage())


async def reply_of(answer: Answer) -> ModelReply:
    with serving(answer) as canned:
        async with opened(canned, MODEL) as model:
            return await model.reply(asking(GO))


async def body_of(*turns: Any, name: str = MODEL, **fields: Any) -> dict[str, Any]:
    with serving(HELLO) as canned:
        async with opened(canned, name) as model:
            await model.reply(asking(*turns, **fields))
    return canned.bodies[-1]


async def test_text_is_put_together_and_heard_piece_by_piece() -> None:
    heard: list[str] = []
    told = chunks(
        delta(role="assistant", content=""),
        delta(content="hel"),
        delta(content="lo"),
        delta("stop"),
        usage(prompt_tokens_details={"cached_tokens": 2, "cache_write_tokens": 1}),
    )
    with serving(told) as canned:
        async with opened(canned, MODEL) as model:
            reply = await model.reply(asking(GO, on_text=heard.append))

    assert heard == ["hel", "lo"]
    assert reply == ModelReply(
        text="hello", input_tokens=3, output_tokens=1, cached_tokens=2, cache_write_tokens=1
    )


TWO = [("a", {"path": "1"}), ("b", {"path": "2"})]


@pytest.mark.parametrize(
    "pieces",
    [
        [
            piece(0, id="a", name="read", arguments=""),
            piece(1, id="b", name="read", arguments='{"pa'),
            piece(0, arguments='{"path":"1"}'),
            piece(1, arguments='th":"2"}'),
        ],
        [
            piece(0, id="a", name="read", arguments='{"path":"1"}'),
            piece(0, id="b", name="read", arguments='{"path":"2"}'),
        ],
        [
            piece(None, id="a", name="read", arguments='{"path":'),
            piece(None, arguments='"1"}'),
            piece(None, id="b", name="read", arguments='{"path":"2"}'),
        ],
        [
            piece(0, id="a", name="read", arguments={"path": "1"}),
            piece(1, id="b", name="read", arguments={"path": "2"}),
        ],
        [
            piece(0, id="a", name="read", arguments='{"path":'),
            piece(0, id="a", name="read", arguments='"1"}'),
            piece(1, id="b", name="read", arguments='{"path":"2"}'),
        ],
    ],
    ids=["by index", "one index for all", "no index", "objects", "names said again"],
)
async def test_pieces_of_calls_are_joined_as_servers_give_them(pieces: list[Any]) -> None:
    reply = await reply_of(chunks(*pieces, delta("tool_calls"), usage()))

    assert [(call.id, call.arguments) for call in reply.calls] == TWO
    assert reply.stop == "tool_calls"


@pytest.mark.parametrize("arguments", ["", " ", "null", None])
async def test_a_call_without_arguments_runs_and_is_sent_again_with_an_object(
    arguments: str | None,
) -> None:
    told = chunks(piece(0, id="a", name="ls", arguments=arguments), delta("tool_calls"), usage())
    with serving(told, HELLO) as canned:
        async with opened(canned, MODEL) as model:
            reply = await model.reply(asking(GO))
            await model.reply(asking(*after(reply)))

    assert reply.calls[0].arguments == {}
    said = canned.bodies[1]["messages"][2]
    assert said["tool_calls"][0]["function"] == {"name": "ls", "arguments": "{}"}


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("stop", "end"),
        ("length", "length"),
        ("content_filter", "refusal"),
        ("function_call", "tool_calls"),
        ("something_new", "other"),
    ],
)
async def test_reasons_to_stop_are_told_apart(reason: str, stop: str) -> None:
    assert (await reply_of(chunks(delta(content="x"), delta(reason), usage()))).stop == stop


async def test_calls_count_where_a_server_says_that_it_merely_stopped() -> None:
    reply = await reply_of(chunks(piece(0, id="a", name="ls"), delta("stop"), usage()))

    assert reply.stop == "tool_calls"


async def test_a_call_that_was_cut_keeps_what_came() -> None:
    told = chunks(piece(0, id="a", name="ls", arguments='{"path":"a'), delta("length"), usage())
    reply = await reply_of(told)

    assert (reply.stop, reply.calls[0].arguments) == ("length", None)
    assert reply.calls[0].raw == '{"path":"a'


async def test_a_refusal_is_told_as_the_text() -> None:
    reply = await reply_of(chunks(delta(refusal="not "), delta("stop", refusal="that"), usage()))

    assert (reply.text, reply.stop) == ("not that", "refusal")


async def test_without_usage_the_tokens_are_estimated() -> None:
    reply = await reply_of(chunks(delta(content="x" * 400), delta("stop")))

    assert reply.output_tokens == 100
    assert reply.input_tokens > 10


@pytest.mark.parametrize(
    "answer",
    [
        chunks(delta(content="half")),
        replace(HELLO, body=HELLO.body[:150], promised=9000),
        Answer(body="<html>busy</html>", content_type="text/html"),
        Answer(body='data: {"choices": [{"delt\n\n'),
        chunks(delta(content="x"), {"error": {"message": "overloaded", "code": "server_error"}}),
    ],
    ids=["no end", "cut", "a web page", "broken json", "an error inside"],
)
async def test_a_stream_without_its_end_may_be_tried_again(answer: Answer) -> None:
    with pytest.raises(ModelOverloaded, match=MODEL):
        await reply_of(answer)


async def test_an_overflow_told_in_the_stream_is_one() -> None:
    told = {"message": "This model's maximum context length is 8 tokens.", "code": None}

    with pytest.raises(ContextOverflow):
        await reply_of(chunks({"error": told}))


async def test_results_are_messages_of_their_own_before_the_text() -> None:
    calls = tuple(ToolCall(id=one, name="read", arguments={"path": one}) for one in "ab")
    results = tuple(ToolResult(call_id=one, name="read", text=f"of {one}") for one in "ab")
    said = AssistantTurn(text="Reading.", calls=calls)
    body = await body_of(GO, said, UserTurn(results=results, text="mail"))

    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
    assert body["messages"][2]["content"] == "Reading."
    assert [message.get("tool_call_id") for message in body["messages"][3:5]] == ["a", "b"]


async def test_thinking_that_a_server_shows_goes_back_to_it() -> None:
    told = chunks(
        delta(reasoning_content="I must "),
        delta(reasoning_content="look", content=None),
        piece(0, id="a", name="ls", arguments="{}"),
        delta("tool_calls"),
        usage(),
    )
    with serving(told, HELLO) as canned:
        async with opened(canned, MODEL) as model:
            reply = await model.reply(asking(GO))
            await model.reply(asking(*after(reply)))

    assert reply.text == ""
    assert canned.bodies[1]["messages"][2]["reasoning_content"] == "I must look"


def refused(message: str) -> Answer:
    return error(400, {"error": {"message": message, "type": "invalid_request_error"}})


@pytest.mark.parametrize(
    ("message", "left_out"),
    [
        ("tool_choice 'required' is not supported", "tool_choice"),
        ("Unsupported parameter: 'reasoning_effort'", "reasoning_effort"),
        ("Extra inputs are not permitted: stream_options", "stream_options"),
    ],
)
async def test_what_a_server_does_not_know_is_left_out_from_then_on(
    message: str, left_out: str
) -> None:
    request = asking(GO, tool_choice="required", thinking_level="low")
    with serving(refused(message), HELLO) as canned:
        async with opened(canned, "openai/o3") as model:
            await model.reply(request)
            await model.reply(request)

    assert [left_out in body for body in canned.bodies] == [True, False, False]


async def test_a_refusal_of_something_else_is_one() -> None:
    with pytest.raises(ModelRejected, match="HTTP 400"):
        await reply_of(refused("no such model"))


@pytest.mark.parametrize(
    ("level", "effort"), [(None, None), ("off", "low"), ("minimal", "low"), ("xhigh", "high")]
)
async def test_a_thinking_level_becomes_an_effort_that_the_model_takes(
    level: str | None, effort: str | None
) -> None:
    body = await body_of(GO, name="openai/o3", thinking_level=level)

    assert body.get("reasoning_effort") == effort


async def test_the_limit_of_the_reply_is_told_in_the_servers_word() -> None:
    assert (await body_of(GO, max_output_tokens=7))["max_tokens"] == 7


async def test_a_server_of_ones_own_gets_a_key_that_is_none() -> None:
    with serving(HELLO) as canned:
        async with opened(canned, MODEL) as model:
            await model.reply(asking(GO, system=""))
        async with opened(canned, MODEL, {"OPENAI_API_KEY": "sk-1"}) as model:
            await model.reply(asking(GO, tools=()))

    keys = [headers["authorization"] for headers in canned.headers]
    assert keys == ["Bearer none", "Bearer sk-1"]
    assert [message["role"] for message in canned.bodies[0]["messages"]] == ["user"]
    assert "tools" not in canned.bodies[1]


async def test_ollama_is_such_a_server_and_costs_nothing() -> None:
    with serving(HELLO) as canned:
        async with opened(canned, "ollama/llama3.2") as model:
            reply = await model.reply(asking(GO))

    assert (canned.paths, canned.bodies[0]["model"]) == (["/v1/chat/completions"], "llama3.2")
    assert reply.usd == 0


async def test_a_request_that_is_not_answered_can_be_cancelled() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        async with opened(Canned(), MODEL, {"OPENAI_BASE_URL": url}) as model:
            with anyio.move_on_after(0.2) as scope:
                await model.reply(asking(GO))

    assert scope.cancelled_caught
