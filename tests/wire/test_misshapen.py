"""Answers that are JSON and yet not in the form of the API, and arguments nobody can use."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner import Settings
from runner.core.model_settings import ProviderSettings
from runner.errors import ModelError
from runner.testing import submit
from runner.work.messages import ModelReply, ModelRequest, UserTurn
from runner.work.models import Models
from runner.work.models.wire import read_call

if TYPE_CHECKING:
    from tests.wire.conftest import Line

Json = dict[str, Any]
GONE = object()
WRONG: tuple[Any, ...] = (GONE, None, 5, "x", [1], {"a": 1})
REQUEST = ModelRequest(system="You work.", turns=(UserTurn(text="Go."),))


def chunk(delta: Json, reason: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}


CALL: Json = {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"}
PART: Json = {"type": "output_text", "text": "hi"}
SAID: Json = {"type": "message", "role": "assistant", "content": [PART]}
STREAMS: dict[str, list[Json]] = {
    "anthropic": [
        {"type": "message_start", "message": {"usage": {"input_tokens": 5}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "hi"},
        },
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "c", "name": "ls", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": "{}"},
        },
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ],
    "openai-chat": [
        chunk({"role": "assistant", "content": "hi", "refusal": ""}),
        chunk(
            {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "ls", "arguments": "{}"}}]}
        ),
        chunk({}, "tool_calls"),
    ],
    "openai-responses": [
        {"type": "response.output_text.delta", "delta": "hi"},
        {"type": "response.output_item.done", "item": CALL},
        {
            "type": "response.completed",
            "response": {"status": "completed", "output": [SAID, CALL], "usage": {}},
        },
    ],
}


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else ()
    for key, one in enumerate(value) if isinstance(value, list) else inner:
        yield (*at, key)
        yield from places(one, (*at, key))


def misshapen(events: list[Json]) -> Iterator[list[Any]]:
    """The stream with one value gone, or of another kind; every value and every kind once."""
    for *path, key in places(events):
        for wrong in WRONG:
            changed: Any = copy.deepcopy(events)
            holder = changed
            for step in path:
                holder = holder[step]
            if wrong is GONE:
                del holder[key]
            else:
                holder[key] = wrong
            yield changed


def written(events: list[Any]) -> bytes:
    named = ((one.get("type") if isinstance(one, dict) else None, one) for one in events)
    text = [f"event: {kind}\ndata: {json.dumps(one)}\n\n" for kind, one in named]
    return "".join(text).encode()


class Answering(ThreadingHTTPServer):
    """Answers every question with the same bytes."""

    daemon_threads = True
    body = b""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement
    server: Answering

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def answering() -> Iterator[Answering]:
    with Answering(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def opened(form: str, answering: Answering, root: Path) -> Models:
    provider, _, api = form.partition("-")
    url = f"http://127.0.0.1:{answering.server_port}"
    environ = {f"{provider.upper()}_API_KEY": "key", f"{provider.upper()}_BASE_URL": url}
    settings = Settings(
        model=f"{provider}/fake-model",
        providers={"openai": ProviderSettings(api=api)} if api else {},
    )
    return Models(settings, base_dir=root, environ=environ)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("form", STREAMS)
async def test_an_answer_of_another_form_is_a_reply_or_an_error_of_the_model_and_no_crash(
    form: str, answering: Answering, tmp_path: Path
) -> None:
    models = opened(form, answering, tmp_path)
    model = models.choose(None).model
    answering.body = written(STREAMS[form])
    assert (await model.reply(REQUEST)).text == "hi"

    told = []
    for events in misshapen(STREAMS[form]):
        answering.body = written(events)
        try:
            await model.reply(REQUEST)
        except ModelError as error:
            told.append(str(error))
    await models.aclose()

    assert any("not in the form of its API" in text for text in told)


UNUSABLE = {
    "a number of 5000 digits": ('{"path": ' + "1" * 5_000 + "}", "thousands of digits"),
    "twelve thousand levels": ('{"path": ' + "[" * 12_000 + "]" * 12_000 + "}", "too deeply"),
    "cut in its depth": ('{"path": ' + "[" * 12_000, "too deeply"),
    "five hundred levels": ('{"path": ' + "[" * 500 + "]" * 500 + "}", "too deeply"),
    "an array": ("[1]", "no JSON object"),
}


@pytest.mark.parametrize("tool", ["ls", "submit_result"])
@pytest.mark.parametrize("which", UNUSABLE)
async def test_arguments_that_nobody_can_use_cost_one_call_and_not_the_attempt(
    line: Line, which: str, tool: str
) -> None:
    raw, problem = UNUSABLE[which]
    asked = ModelReply(text="", calls=(read_call("c1", tool, raw),), stop="tool_calls")

    report = await line.run(asked, submit("ok"))

    assert (report.exit_code, line.task()["attempt"]) == (0, 1)
    assert problem in line.results()[0]
    line.assert_all_valid()


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


DEEP: dict[str, list[Json]] = {
    "anthropic": [
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "thinking", "thinking": "hm", "more": nested(300)},
        },
        *STREAMS["anthropic"],
    ],
    "openai-responses": [
        {
            "type": "response.completed",
            "response": {
                "status": "completed",
                "output": [
                    {"type": "reasoning", "encrypted_content": "x", "summary": nested(300)},
                    SAID,
                ],
            },
        }
    ],
}


@pytest.mark.parametrize("form", DEEP)
async def test_thinking_that_is_nested_too_deeply_is_not_kept(
    form: str, answering: Answering, tmp_path: Path
) -> None:
    models = opened(form, answering, tmp_path)
    answering.body = written(DEEP[form])
    reply = await models.choose(None).model.reply(REQUEST)
    await models.aclose()

    assert (reply.text, reply.native) == ("hi", None)
