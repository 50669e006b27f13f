"""What a `FakeServer` does wrong on purpose: steps of a script in place of a reply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runner.work.messages import ModelReply

_HTML = "<html><head><title>Bad gateway</title></head><body>Bad gateway</body></html>"


class Fault(Exception):
    """A step that goes wrong between server and client. `reply` is what it does it with."""

    def __init__(self, reply: ModelReply | None = None) -> None:
        self.reply = reply or ModelReply()
        super().__init__(type(self).__name__)


class Refused(Fault):
    """An error status. `body` is sent as it is; None is the API's own error with this `message`.

    `retry_after` goes into the header of that name: seconds, or a date as text.
    """

    def __init__(
        self,
        status: int,
        *,
        retry_after: float | str | None = None,
        message: str = "made up for a test",
        code: str | None = None,
        body: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.status, self.message, self.code, self.body = status, message, code, body
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["retry-after"] = str(retry_after)


class Html(Refused):
    """A page of some proxy in place of an answer."""

    def __init__(self, status: int = 200) -> None:
        super().__init__(status, body=_HTML, headers={"content-type": "text/html; charset=utf-8"})


class Cut(Fault):
    """An answer that stops in the middle: after so many events of the stream, or bytes.

    `clean` ends it as if it were whole, as a proxy does; else the connection is dropped.
    """

    def __init__(
        self,
        reply: ModelReply,
        *,
        events: int | None = None,
        bytes: int | None = None,
        clean: bool = False,
    ) -> None:
        if (events is None) == (bytes is None):
            raise TypeError("Cut needs either events= or bytes=")
        super().__init__(reply)
        self.events, self.bytes, self.clean = events, bytes, clean


class BrokenOff(Fault):
    """An answer in which the server reports an error after so many events."""

    def __init__(self, reply: ModelReply, *, events: int, message: str = "Overloaded") -> None:
        super().__init__(reply)
        self.events, self.message = events, message


class Slow(Fault):
    """An answer that comes event by event, with a pause before each."""

    def __init__(self, reply: ModelReply, *, pause_s: float) -> None:
        super().__init__(reply)
        self.pause_s = pause_s


class Altered(Fault):
    """An answer that `change` has changed: it gets the whole answer as JSON, and edits it.

    The arguments of calls are text at this point, in every API.
    """

    def __init__(self, reply: ModelReply, change: Callable[[dict[str, Any]], object]) -> None:
        super().__init__(reply)
        self.change = change


class HungUp(Fault):
    """The connection is closed as the request arrives, as a stale one is."""


class Hanging(Fault):
    """No answer at all, as long as the server runs."""
