"""What the fake server refuses, as the vendors do."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from runner.testing import FakeServer, ScriptedModel, call, say, think
from tests.testing.wire_bodies import PATHS, Change, drop, good, post, put

USER = {"role": "user", "content": "More."}
TEXT = {"type": "text", "text": "x"}
MARK = {"type": "ephemeral"}
RESULT = {"type": "tool_result", "tool_use_id": "c", "content": "C"}

ANTHROPIC: list[tuple[Change, str]] = [
    (drop("max_tokens"), "Missing required parameter: max_tokens"),
    (put("max_tokens", to=0), "max_tokens"),
    (put("n", to=2), "Extra inputs are not permitted: n"),
    (put("messages", to=[]), "at least one message"),
    (put("messages", 0, "role", to="system"), "Input should be 'user' or 'assistant'"),
    (drop("messages", 0), "roles must alternate"),
    (put("messages", 3, to=USER), "roles must alternate"),
    (put("messages", 3, to={"role": "assistant", "content": "x"}), "must end with a user message"),
    (put("messages", 0, to="Go."), "should be an object"),
    (put("messages", 0, "content", to=5), "valid string"),
    (put("messages", 0, "content", to=" "), "non-whitespace text"),
    (put("messages", 0, "content", to=[]), "non-empty content"),
    (put("messages", 1, "content", 0, "text", to=""), "non-whitespace text"),
    (put("messages", 1, "content", 0, to={"type": "image"}), "Input tag 'image'"),
    (put("messages", 1, "content", 2, "id", to="a"), "ids must be unique"),
    (put("messages", 1, "content", 2, "id", to="b:0"), "should match"),
    (put("messages", 1, "content", 2, "name", to="my tool"), "should match pattern"),
    (put("messages", 1, "content", 2, "input", to="{}"), "valid dictionary"),
    (drop("messages", 2, "content", 1), "without `tool_result` blocks immediately after: b"),
    (put("messages", 2, "content", 1, "tool_use_id", to="c"), "`tool_use` ids were found without"),
    (put("messages", 2, "content", 2, to=RESULT),
     "unexpected `tool_use_id`"),
    (lambda body: body["messages"][2]["content"].reverse(), "in their order"),
    (lambda body: body["messages"][2]["content"].insert(0, TEXT), "must come first"),
    (put("messages", 2, "content", 0, "content", to=""), "non-whitespace text"),
    (drop("tools"), "must define tools"),
    (put("tools", 0, "input_schema", to={"type": "string"}), "object"),
    (put("tools", 0, "input_schema", "properties", to=3), "Invalid schema"),
    (put("tools", 0, "name", to="a b"), "should match pattern"),
    (lambda body: body["tools"].append(body["tools"][0]), "must be unique"),
    (put("tool_choice", to={"type": "required"}), "unknown type"),
    (put("tool_choice", to={"type": "tool", "name": "write"}), "no such tool"),
    (put("thinking", to={"type": "enabled", "budget_tokens": 100}), "at least 1024"),
    (put("thinking", to={"type": "enabled", "budget_tokens": 4096}), "must be greater than"),
    (put("thinking", to={"type": "on"}), "unknown type"),
    (put("thinking", to={"type": "enabled", "budget_tokens": 1024}), "Expected `thinking`"),
    (lambda body: body.update(temperature=0, thinking={"type": "adaptive"}), "only be set to 1"),
    (lambda body: body.update(tool_choice={"type": "any"}, thinking={"type": "adaptive"}),
     "forces tool use"),
    (put("messages", 1, "content", 0, to={"type": "thinking", "thinking": "x", "signature": "y"}),
     "Invalid `signature`"),
    (put("system", to=" "), "non-whitespace text"),
    (put("system", 0, "cache_control", to={"type": "long"}), "'ephemeral'"),
    (lambda body: [block.update(cache_control=MARK) for block in
                   [*body["messages"][1]["content"], *body["messages"][2]["content"]]],
     "A maximum of 4 blocks"),
]  # fmt: skip
CHAT: list[tuple[Change, str]] = [
    (drop("model"), "Missing required parameter: model"),
    (put("thinking", to=True), "Extra inputs are not permitted"),
    (put("messages", to=[]), "too short"),
    (put("max_completion_tokens", to=5), "not supported"),
    (put("stream_options", to={"include_usage": True}), "only allowed when 'stream'"),
    (put("messages", 1, "role", to="function"), "Invalid value: 'function'"),
    (put("messages", 1, to={"role": "assistant", "content": "x"}), "must start with a user"),
    (put("messages", 6, to={"role": "system", "content": "x"}), "must come first"),
    (put("messages", 6, to=USER), "must alternate"),
    (put("messages", 6, to={"role": "assistant", "content": "x"}), "last message"),
    (put("messages", 1, "content", to=""), "non-whitespace text"),
    (put("messages", 1, "content", to=[]), "too short"),
    (put("messages", 1, "content", 0, "type", to="image_url"), "unknown type"),
    (put("messages", 2, "content", to=""), "non-whitespace text"),
    (put("messages", 2, "tool_calls", to=[]), "too short"),
    (put("messages", 2, "reasoning_content", to="hm"), "unsupported"),
    (put("messages", 2, "tool_calls", 0, "id", to="x" * 41), "string too long"),
    (put("messages", 2, "tool_calls", 1, "id", to="a"), "Duplicate value"),
    (put("messages", 2, "tool_calls", 0, "function", "name", to="a b"), "should match pattern"),
    (put("messages", 2, "tool_calls", 0, "function", "arguments", to={}), "valid string"),
    (put("messages", 2, "tool_calls", 0, "function", "arguments", to=""), "not valid JSON"),
    (put("messages", 2, "tool_calls", 0, "function", "arguments", to="[]"), "JSON object"),
    (drop("messages", 4), "did not have response messages: b"),
    (drop("messages", slice(4, 6)), "did not have response messages: b"),
    (put("messages", 3, "tool_call_id", to="b"), "in the order of the calls"),
    (put("messages", 3, "tool_call_id", to="z"), "must be a response"),
    (put("messages", 3, "content", to=" "), "non-whitespace text"),
    (put("tools", to=[]), "too short"),
    (drop("tools", 0, "function", "parameters"), "Missing required parameter"),
    (put("tool_choice", to="any"), "Invalid value for 'tool_choice'"),
    (put("tool_choice", to={"type": "function", "function": {"name": "write"}}), "no such tool"),
    (lambda body: (body.pop("tools"), body.update(tool_choice="auto")), "only allowed when"),
]  # fmt: skip
RESPONSES: list[tuple[Change, str]] = [
    (drop("store"), "'store' must be false"),
    (put("previous_response_id", to="resp_1"), "nothing is remembered"),
    (put("messages", to=[]), "Extra inputs are not permitted"),
    (put("input", to=[]), "at least one item"),
    (put("input", to=5), "must be a text or a list"),
    (put("instructions", to=""), "non-whitespace text"),
    (put("input", 0, "role", to="tool"), "unknown role"),
    (put("input", 0, "content", to=" "), "non-whitespace text"),
    (put("input", 1, "content", to=[]), "too short"),
    (put("input", 1, "content", 0, "type", to="input_text"), "Invalid value: 'input_text'"),
    (put("input", 1, "type", to="thought"), "Invalid value: 'thought'"),
    (put("input", 2, "arguments", to="{"), "not valid JSON"),
    (put("input", 2, "call_id", to="x" * 65), "string too long"),
    (put("input", 3, "call_id", to="a"), "Duplicate call_id"),
    (drop("input", 5), "No tool output found for function call b"),
    (drop("input", slice(4, 7)), "No tool output found for function call a, b"),
    (put("input", 4, "call_id", to="z"), "No tool call found"),
    (put("input", 4, "call_id", to="b"), "must follow in order"),
    (put("input", 4, "output", to=""), "non-whitespace text"),
    (put("input", 7, to={"role": "assistant", "content": "x"}), "must not end with"),
    (put("input", 6, to={"type": "reasoning", "id": "rs_1", "summary": []}), "not persisted"),
    (put("input", 6, to={"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}),
     "could not be verified"),
    (put("tools", 0, "type", to="custom"), "unknown tool"),
    (put("tools", 0, "strict", to=True), "'additionalProperties' is required"),
    (lambda body: (put("tools", 0, "strict", to=True)(body),
                   put("tools", 0, "parameters", "additionalProperties", to=False)(body)),
     "must include every key"),
    (put("tool_choice", to="any"), "Invalid value for 'tool_choice'"),
    (put("tool_choice", to={"type": "function", "name": "write"}), "no such tool"),
]  # fmt: skip
ALL = [
    *(("anthropic", *one) for one in ANTHROPIC),
    *(("openai-chat", *one) for one in CHAT),
    *(("openai-responses", *one) for one in RESPONSES),
]


@pytest.mark.parametrize(
    ("form", "change", "why"), ALL, ids=[f"{n}-{a}-{c}" for n, (a, _, c) in enumerate(ALL)]
)
def test_a_request_that_the_vendor_refuses_is_refused_with_its_reason(
    form: str, change: Change, why: str
) -> None:
    with FakeServer([say("never")]) as server:
        status, _, body = post(server, form, good(form, change))

    assert status == 400
    assert why in body["error"]["message"]
    assert server.refusals == [body["error"]["message"]]


@pytest.mark.parametrize("form", PATHS)
def test_a_good_request_is_answered_and_kept(form: str) -> None:
    with FakeServer([say("hello")]) as server:
        status, _, body = post(server, form, good(form))

    assert (status, server.refusals) == (200, [])
    assert "hello" in str(body)
    assert [asked.form for asked in server.asked] == [form]


@pytest.mark.parametrize("form", PATHS)
@pytest.mark.parametrize("raw", [b"{", b"[]", b"\xff", b'{"model": "half \\ud83d"}'])
def test_a_body_that_is_no_json_in_utf_8_is_refused(form: str, raw: bytes) -> None:
    with FakeServer([]) as server:
        status, _, _ = post(server, form, None, raw=raw)

    assert status == 400
    assert "not valid JSON" in server.refusals[0]


@pytest.mark.parametrize("form", PATHS)
def test_a_missing_or_wrong_key_is_refused(form: str) -> None:
    with FakeServer([], api_key="right") as server:
        statuses = [post(server, form, good(form), key=key)[0] for key in ("", "wrong")]

    assert statuses == [401, 401]


@pytest.mark.parametrize("form", PATHS)
def test_a_request_that_outgrows_the_window_is_refused_in_the_words_of_the_vendor(
    form: str,
) -> None:
    with FakeServer([], window=20) as server:
        status, _, body = post(server, form, good(form))

    assert status == 400
    assert any(word in body["error"]["message"] for word in ("too long", "context"))


def thinking_back(form: str, said: list[Any]) -> dict[str, Any]:
    """A request that sends back what was said, thinking and a call, with the call's result."""
    if form == "anthropic":
        result = {"type": "tool_result", "tool_use_id": "call_read", "content": "A"}
        turns = [
            USER,
            {"role": "assistant", "content": said},
            {"role": "user", "content": [result]},
        ]
        thinking = {"type": "enabled", "budget_tokens": 1024}
        return {**good(form), "messages": turns if said else [USER], "thinking": thinking}
    output = {"type": "function_call_output", "call_id": "call_read", "output": "A"}
    items = [USER, *said, output] if said else [USER]
    return {**good(form), "input": items, "include": ["reasoning.encrypted_content"]}


SPOILT: dict[str, list[Callable[[list[Any]], object]]] = {
    "anthropic": [
        lambda said: said[0].update(thinking="something else"),
        lambda said: said[0].update(signature="made up"),
        lambda said: said.pop(0),
        lambda said: said.insert(0, said[0]),
    ],
    "openai-responses": [
        lambda said: said[0].update(encrypted_content="made up"),
        lambda said: said[0].update(encrypted_content=None),
        lambda said: said.pop(0),
        lambda said: said.reverse(),
    ],
}


@pytest.mark.parametrize("form", SPOILT)
def test_thinking_that_comes_back_otherwise_than_it_was_said_is_refused(form: str) -> None:
    with FakeServer([think("hm", call("read", path="a")), say("well")]) as server:
        _, _, answer = post(server, form, thinking_back(form, []))
        said = answer.get("content") or answer["output"]
        for spoil in SPOILT[form]:
            other = copy.deepcopy(said)
            spoil(other)
            assert post(server, form, thinking_back(form, other))[0] == 400
        assert post(server, form, thinking_back(form, said))[0] == 200


def test_the_system_prompt_may_be_an_item_of_the_input() -> None:
    body = good("openai-responses")
    body["input"].insert(0, {"role": "developer", "content": body.pop("instructions")})
    model = ScriptedModel([say("fine")])
    with FakeServer(model) as server:
        assert post(server, "openai-responses", body)[0] == 200

    assert model.requests[0].system == "You work."


def test_reasoning_that_was_told_in_a_chat_may_come_back() -> None:
    body = good("openai-chat")
    with FakeServer([think("hm", say("x")), say("well")]) as server:
        _, _, answer = post(server, "openai-chat", body)
        body["messages"] += [answer["choices"][0]["message"], USER]
        del body["messages"][-3]
        status, _, _ = post(server, "openai-chat", body)

    assert (status, server.refusals) == (200, [])
