"""What a test can do with the fake server."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from runner.errors import ContextOverflow, ModelOverloaded, ModelRejected, ModelUnavailable
from runner.testing import (
    Altered,
    Cut,
    FakeServer,
    Fault,
    Html,
    HungUp,
    Refused,
    ScriptedModel,
    call,
    calls,
    say,
)
from runner.testing.asking import asker_of
from runner.work.messages import Asker, AssistantTurn, ModelReply, UserTurn
from tests.testing.wire_bodies import PATHS, good, post


@pytest.mark.parametrize("form", PATHS)
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ModelOverloaded("busy", retry_after_s=3), 429),
        (ModelRejected("no", status=403), 403),
        (ContextOverflow("long"), 400),
        (ModelUnavailable("gone"), 500),
        (Refused(418, message="short and stout"), 418),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_an_exception_in_a_script_is_an_error_of_the_api(
    form: str, error: Exception, status: int
) -> None:
    with FakeServer([error]) as server:
        found, headers, body = post(server, form, good(form))

    assert found == status
    assert body["error"]["message"]
    assert headers.get("retry-after") == ("3" if status == 429 else None)


@pytest.mark.parametrize(("form", "status"), [("anthropic", 529), ("openai-chat", 503)])
def test_an_overload_has_the_status_that_the_vendor_gives_it(form: str, status: int) -> None:
    with FakeServer([ModelOverloaded("busy")]) as server:
        assert post(server, form, good(form))[0] == status


def test_a_page_of_html_is_sent_as_it_is() -> None:
    with FakeServer([Html()]) as server, pytest.raises(json.JSONDecodeError, match="Expecting"):
        post(server, "anthropic", good("anthropic"))


@pytest.mark.parametrize("form", PATHS)
def test_an_answer_in_one_piece_can_be_cut(form: str) -> None:
    with (
        FakeServer([Cut(say("hello"), bytes=20)]) as server,
        pytest.raises(http.client.IncompleteRead),
    ):
        post(server, form, good(form))


def test_a_cut_is_either_by_events_or_by_bytes() -> None:
    with pytest.raises(TypeError, match="either events= or bytes="):
        Cut(say("x"))


def test_an_error_of_the_test_itself_is_raised_at_the_end_of_the_block() -> None:
    def change(message: dict[str, Any]) -> None:
        del message["no such key"]

    with (
        pytest.raises(KeyError, match="no such key"),
        FakeServer([Altered(say(""), change)]) as server,
        pytest.raises(ConnectionError),
    ):
        post(server, "openai-chat", good("openai-chat"))


def test_a_fault_that_the_server_does_not_know_is_an_error_of_the_test() -> None:
    class Odd(Fault):
        """Nothing that can be carried out."""

    with (
        pytest.raises(TypeError, match="Odd"),
        FakeServer([Odd()]) as server,
        pytest.raises(ConnectionError),
    ):
        post(server, "anthropic", good("anthropic"))


def test_a_closed_connection_costs_only_itself() -> None:
    with FakeServer([HungUp(), say("fine")]) as server:
        with pytest.raises(http.client.RemoteDisconnected):
            post(server, "anthropic", good("anthropic"))
        with socket.create_connection(("127.0.0.1", server.port)) as half:
            half.sendall(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 50\r\n\r\n{")
        assert post(server, "anthropic", good("anthropic"))[0] == 200


def test_several_requests_may_come_over_one_connection() -> None:
    with FakeServer([say("one"), say("two")]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        for word in ("one", "two"):
            body = json.dumps(good("openai-chat"))
            headers = {"Authorization": "Bearer k"}
            connection.request("POST", PATHS["openai-chat"], body, headers)
            assert word in connection.getresponse().read().decode()
        connection.close()


@pytest.mark.parametrize(("window", "status"), [(None, 404), (4096, 200)])
def test_the_window_is_told_to_whoever_asks(window: int | None, status: int) -> None:
    with FakeServer([], window=window) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("GET", "/props")
        answer = connection.getresponse()
        body = json.loads(answer.read())
        connection.close()

    assert answer.status == status
    assert status == 404 or body["default_generation_settings"]["n_ctx"] == window


def test_waiting_for_a_request_that_does_not_come_is_an_error() -> None:
    with FakeServer([]) as server, pytest.raises(AssertionError, match="0 requests came, 1"):
        server.wait_asked(1, within_s=0.01)


@pytest.mark.parametrize("form", PATHS)
def test_the_model_is_asked_with_what_came_over_the_wire(form: str) -> None:
    model = ScriptedModel([say("fine")])
    with FakeServer(model) as server:
        post(server, form, good(form))

    (request,) = model.requests
    begun, said, told = request.turns
    assert request.system == "You work."
    assert isinstance(begun, UserTurn)
    assert isinstance(said, AssistantTurn)
    assert isinstance(told, UserTurn)
    assert (begun.text, said.text, told.text) == ("Go.", "I read.", "Go on.")
    assert [one.id for one in said.calls] == ["a", "b"]
    assert [(one.name, one.text) for one in told.results] == [("read", "A"), ("read", "B")]


@pytest.mark.parametrize("form", PATHS)
def test_tokens_are_those_of_the_reply_or_an_estimate(form: str) -> None:
    told = ModelReply(text="x", input_tokens=900, output_tokens=7, cached_tokens=500)
    with FakeServer([told, calls(say("some words"), call("read"))]) as server:
        exact = post(server, form, good(form))[2]["usage"]
        estimate = post(server, form, good(form))[2]["usage"]

    going_in = "prompt_tokens" if form == "openai-chat" else "input_tokens"
    going_out = "completion_tokens" if form == "openai-chat" else "output_tokens"
    # Anthropic counts what comes from its cache by itself
    assert (exact[going_in], exact[going_out]) == (400 if form == "anthropic" else 900, 7)
    assert estimate[going_in] > 50
    assert estimate[going_out] > 1


def test_a_script_file_is_replayed_to_whoever_the_prompt_says(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(
        'tasks: {"3": [{fault: empty}, {text: first}, {fault: rate_limited}, {text: second}]}\n'
    )
    who = "You are ann, role: coder, team: red, agent: task.\nYour open task: task #3: Mend it.\n"
    begin = {"role": "user", "content": "<auto-claimed>Task #3: Mend it\n</auto-claimed>"}
    body = {"model": "m", "max_tokens": 10, "system": who, "messages": [begin]}
    with FakeServer(script) as server:
        empty, first = (post(server, "anthropic", body)[2]["content"] for _ in range(2))
        said = {"role": "assistant", "content": first}
        longer = {**body, "messages": [begin, said, {"role": "user", "content": "Go on."}]}
        statuses = [post(server, "anthropic", longer)[0] for _ in range(2)]

    assert (empty, first[0]["text"], statuses) == ([], "first", [429, 200])


def test_who_asks_is_read_from_the_prompt() -> None:
    claimed = UserTurn(text="<auto-claimed>Task #x-1: S\nD</auto-claimed>\n\nThis is attempt 2: go")
    old = (UserTurn(text="<auto-claimed>Task #1: S\n</auto-claimed>"), AssistantTurn(text="old"))
    turns = (*old, claimed, AssistantTurn(text="a"), UserTurn(text="b"))
    head = "You are ann, role: coder, team: red, agent: my agent.\n"

    assert asker_of(f"{head}Your open task: task #x-1: S.\n", turns) == Asker(
        teammate="ann", agent="my agent", task="x-1", attempt=2, turn=1
    )
    assert asker_of(f"{head}Your open task: none.\n", turns[:1]) == Asker(
        teammate="ann", agent="my agent"
    )
    assert asker_of("You are helpful.", turns) == Asker()


def test_who_asks_may_be_a_subagent() -> None:
    prompt = (
        "You are subagent 1-2 of ann, role: coder, team: red, agent: explore.\n"
        "You do one part of the work of ann, whose open task is: task #4: S.\n"
    )
    turns = (UserTurn(text="Look."), AssistantTurn(text="a"), UserTurn(text="b"))

    assert asker_of(prompt, turns) == Asker(
        teammate="ann", agent="explore", task="4", attempt=1, turn=1, subagent="1-2"
    )
