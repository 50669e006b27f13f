"""A server with prepared answers: bytes that no well-behaved server would send, too."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from runner.core.settings import Settings
from runner.work.messages import (
    AssistantTurn,
    ModelReply,
    ModelRequest,
    ToolResult,
    ToolSpec,
    Turn,
    UserTurn,
)
from runner.work.models import Models
from runner.work.models.provided import ProvidedModel

Json = dict[str, Any]
STREAM = "text/event-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`promised` is the length that the header tells; more than the body means a cut."""

    body: str = ""
    status: int = 200
    content_type: str = STREAM
    headers: Mapping[str, str] = field(default_factory=dict)
    promised: int | None = None


def events(*told: Json) -> Answer:
    """A whole stream, events named by their type as both vendors do."""
    return Answer(body="".join(_event(one) for one in told))


def chunks(*told: Json) -> Answer:
    """A whole stream of chat completions."""
    lines = [f"data: {json.dumps(one)}\n\n" for one in told]
    return Answer(body="".join(lines) + "data: [DONE]\n\n")


def error(status: int, body: Json, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(
        status=status, body=json.dumps(body), content_type="application/json", headers=named
    )


def _event(told: Json) -> str:
    return f"event: {told['type']}\ndata: {json.dumps(told)}\n\n"


class Canned:
    """Gives its answers in order, the last one again and again, and keeps what was asked.

    `pages` are the answers to GET requests by path; others are not found.
    """

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.pages: dict[str, Json] = {}
        self.bodies: list[Json] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": self.url,
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OLLAMA_HOST": self.url,
        }

    def next_answer(self) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    canned: Canned


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else every answer takes 40 ms

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        canned = cast(_Server, self.server).canned
        body = self.rfile.read(int(self.headers["content-length"]))
        canned.paths.append(self.path)
        canned.bodies.append(json.loads(body))
        canned.headers.append({name.lower(): value for name, value in self.headers.items()})
        self._send(canned.next_answer())

    def do_GET(self) -> None:
        page = cast(_Server, self.server).canned.pages.get(self.path)
        self._send(error(404, {}) if page is None else error(200, page))

    def _send(self, answer: Answer) -> None:
        body = answer.body.encode()
        self.send_response(answer.status)
        self.send_header("content-type", answer.content_type)
        length = len(body) if answer.promised is None else answer.promised
        self.send_header("content-length", str(length))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = length != len(body)


@contextmanager
def serving(*answers: Answer) -> Iterator[Canned]:
    """A server that lives as long as the block."""
    canned = Canned(*answers)
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.canned, canned.port = canned, server.server_port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield canned
        finally:
            server.shutdown()
            thread.join()


@asynccontextmanager
async def opened(
    canned: Canned, name: str, environ: Mapping[str, str] | None = None, **settings: Any
) -> AsyncIterator[ProvidedModel]:
    """The model of this name at the server, closed at the end of the block."""
    models = Models(
        Settings(**settings), base_dir=Path(), environ={**canned.environ, **(environ or {})}
    )
    model = models.choose([name]).model
    assert isinstance(model, ProvidedModel)
    try:
        yield model
    finally:
        await models.aclose()


GO = UserTurn(text="go")
READ = ToolSpec(
    name="read", description="Read a file.", parameters={"type": "object", "properties": {}}
)
WRITE = ToolSpec(
    name="write", description="Write a file.", parameters={"type": "object", "properties": {}}
)


def asking(*turns: Turn, **fields: Any) -> ModelRequest:
    """A request with these turns and one tool."""
    return ModelRequest(**{"system": "You are ann.", "turns": turns, "tools": (READ,), **fields})


def after(reply: ModelReply, text: str = "", *, output: str = "x") -> tuple[Turn, ...]:
    """The turns of a conversation that went on with this reply and the results of its calls."""
    results = tuple(ToolResult(call_id=one.id, name=one.name, text=output) for one in reply.calls)
    said = AssistantTurn(text=reply.text, calls=reply.calls, native=reply.native)
    return GO, said, UserTurn(results=results, text=text)
