"""Control messages of one teammate: what is asked of the runner itself, obeyed and answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from runner.core.clock import Clock, from_iso
from runner.core.events import Journal
from runner.core.ids import LEAD, is_safe
from runner.core.layout import Layout
from runner.core.log import get_logger
from runner.errors import RunnerError
from runner.team.message import Message
from runner.team.requests import decide, pending

Send = Callable[[str, str, str, Mapping[str, Any]], str]
"""`send(to, text, type, extra)` puts one message into an inbox."""


class Control:
    """What the teammate `name` of one run was asked. The only request obeyed is to shut down."""

    def __init__(
        self, layout: Layout, name: str, *, run: str, clock: Clock, journal: Journal, send: Send
    ) -> None:
        self._layout = layout
        self._name = name
        self._run = run
        self._clock = clock
        self._journal = journal
        self._send = send
        self._opened = clock.now()
        self._heeded: set[str] = set()
        self._shutdowns: list[Message] = []

    @property
    def shutdown(self) -> Message | None:
        """The request that ends the teammate, once one has arrived."""
        return self._shutdowns[0] if self._shutdowns else None

    def heed(self, message: Message, *, first_look: bool) -> None:
        """Obey, or drop with a note. `first_look`: it may have lain there before this run."""
        if message.id in self._heeded:  # read again, with mail that was put back
            return
        self._heeded.add(message.id)
        refusal = self._why_not_obey(message, first_look=first_look)
        if refusal is None:
            self._shutdowns.append(message)
            return
        get_logger(__name__).warning(
            "control_message_dropped",
            teammate=self._name,
            message=message.id,
            type=message.type,
            sender=message.sender,
            reason=refusal,
        )
        self._journal.emit(
            "request.decided",
            teammate=self._name,
            request=message.extra.get("request"),
            message=message.id,
            status="dropped",
            reason=refusal,
        )

    def answer(self) -> None:
        """Approve every request and tell whoever asked: by message, or on record and not read."""
        asked = [(one.sender, one.extra.get("request")) for one in self._shutdowns]
        for record in pending(self._layout, to=self._name, run=self._run):
            if record.type == "shutdown" and (record.sender, record.id) not in asked:
                asked.append((record.sender, record.id))
        for sender, request in asked:
            self._approve(sender, request)
        self._shutdowns.clear()

    def _why_not_obey(self, message: Message, *, first_look: bool) -> str | None:
        """A control message belongs to a run; those of other runs and times are dropped."""
        if message.type != "shutdown_request":
            return f"nobody here waits for a {message.type}"
        run = message.extra.get("run")
        if run is not None:
            return None if run == self._run else f"it belongs to run {run}"
        if message.sender != LEAD:
            return f"it is neither from the {LEAD} nor of this run"
        sent = _moment(message.timestamp)
        old = sent < self._opened if sent is not None else first_look
        return "it is older than this run" if old else None

    def _approve(self, sender: str, request: object) -> None:
        if is_safe(request):
            try:
                decide(
                    self._layout,
                    str(request),
                    "approved",
                    by=self._name,
                    clock=self._clock,
                    journal=self._journal,
                )
            except RunnerError as error:
                self._note("request_not_decided", error)
        try:
            self._send(
                sender,
                f"{self._name} shuts down",
                "shutdown_response",
                {"request": request, "run": self._run, "approve": True},
            )
        except RunnerError as error:
            self._note("shutdown_not_answered", error)

    def _note(self, event: str, error: RunnerError) -> None:
        get_logger(__name__).warning(event, teammate=self._name, error=str(error))


def _moment(text: str) -> datetime | None:
    try:
        return from_iso(text)
    except ValueError:
        return None
