"""Just enough of HTTP/1.1 for a fake server that must also be able to break it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import anyio
from anyio.abc import ByteSendStream
from anyio.streams.buffered import BufferedByteReceiveStream

_LONGEST_HEAD = 65_536
_PHRASES = {int(status): status.phrase for status in HTTPStatus}
STREAM = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a client sent. Names of headers are in lower case; a body that is no JSON is None."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What goes back: `pieces` one after the other, `pause_s` before each.

    `whole` False drops the connection behind the last piece, before the body is complete.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: tuple[bytes, ...] = ()
    pause_s: float = 0.0
    whole: bool = True


def json_response(status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
    """A document in one piece."""
    data = json.dumps(body).encode()
    return Response(
        status=status,
        headers={"content-type": "application/json", **(headers or {})},
        pieces=(data,),
    )


async def read_request(stream: BufferedByteReceiveStream) -> Request:
    """The next request of a connection. Raises: EndOfStream, IncompleteRead, when it is closed."""
    head = (await stream.receive_until(b"\r\n\r\n", _LONGEST_HEAD)).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    data = await stream.receive_exactly(int(headers.get("content-length", "0")))
    return Request(method=method, path=path, headers=headers, body=_read_json(data))


def _read_json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8"))
    except ValueError:
        return None


async def write_response(stream: ByteSendStream, response: Response) -> None:
    """Send it; a stream of events goes in chunks, anything else with its length."""
    chunked = response.headers.get("content-type") == STREAM
    length = sum(map(len, response.pieces)) + (not response.whole)
    framing = {"transfer-encoding": "chunked"} if chunked else {"content-length": str(length)}
    lines = [f"HTTP/1.1 {response.status} {_PHRASES.get(response.status, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in {**response.headers, **framing}.items()]
    parts = ["\r\n".join([*lines, "", ""]).encode("latin-1")]
    parts += [
        b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece
        for piece in filter(None, response.pieces)
    ]
    if chunked and response.whole:
        parts.append(b"0\r\n\r\n")
    if not response.pause_s:
        parts = [b"".join(parts)]
    for at, part in enumerate(parts):
        if at:
            await anyio.sleep(response.pause_s)
        await stream.send(part)
