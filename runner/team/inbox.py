"""A teammate's own reading of its inbox: mail for the model, control messages for the cycle."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import anyio.to_thread

from runner.core.clock import Clock, from_iso
from runner.core.events import Journal
from runner.core.ids import LEAD, is_safe
from runner.core.layout import Layout
from runner.core.log import get_logger
from runner.errors import RunnerError
from runner.team.mailbox import Batch, Cursor, Mailbox, Stamp, post
from runner.team.requests import decide
from runner.team.roster import live_members
from runner.team.types import Mail, Message

CONTROL = frozenset(
    {"shutdown_request", "shutdown_response", "plan_approval", "plan_approval_response"}
)
MAX_DELIVERIES = 3
"""Mail that faults its reader this often is put away as read."""


class Inbox:
    """Implements `Post`. It outlives a crash of its teammate, so nothing asked is forgotten.

    `shutdown` is the request that ends the teammate, once one has arrived.
    """

    def __init__(
        self, layout: Layout, name: str, *, run: str, clock: Clock, journal: Journal
    ) -> None:
        self.name = name
        self.shutdown: Message | None = None
        self._layout = layout
        self._mailbox = Mailbox(layout, name)
        self._run = run
        self._clock = clock
        self._journal = journal
        self._opened = clock.now()
        self._seen: Stamp = None
        self._taken = Cursor()
        self._looked = False
        self._in_hand: set[str] = set()
        self._deliveries = 0
        self._not_before = 0.0

    def has_news(self) -> bool:
        """Whether the file changed since the last look. Cheap: one `stat`."""
        return self._mailbox.stamp() != self._seen

    async def receive(self) -> Mail | None:
        """New messages for the model; control messages are dealt with here."""
        seen = self._mailbox.stamp()
        if seen == self._seen or self._clock.monotonic() < self._not_before:
            return None
        batch = await anyio.to_thread.run_sync(self._mailbox.read, self._taken)
        self._seen, self._taken = seen, batch.cursor
        self._report_damage(batch)
        for message in batch.messages:
            if message.type in CONTROL:
                self._control(message)
        self._looked = True
        letters = tuple(one for one in batch.messages if one.type not in CONTROL)
        if letters:
            return self._mail(letters, batch.cursor)
        if self.shutdown is None:
            await anyio.to_thread.run_sync(self._mailbox.commit, batch.cursor)
        return None

    async def send(self, to: str, text: str, type_: str, extra: Mapping[str, Any]) -> str:
        return await anyio.to_thread.run_sync(self._send, to, text, type_, extra)

    def members(self) -> tuple[str, ...]:
        return live_members(self._layout)

    async def put_back(self, *, after_s: float) -> None:
        """What was taken and is not committed comes again after a while, but not for ever."""
        if not self._in_hand:
            return
        self._in_hand.clear()
        self._deliveries += 1
        if self._deliveries >= MAX_DELIVERIES:
            get_logger(__name__).error("mail_given_up", teammate=self.name, tries=MAX_DELIVERIES)
            await self._commit_taken()
            return
        self._not_before = self._clock.monotonic() + after_s
        self._seen, self._taken = None, Cursor()

    def leave(self) -> None:
        """What was taken and is not committed stays unread for another run."""
        self._in_hand.clear()

    async def answer_shutdown(self) -> None:
        """Approve the request and tell whoever asked."""
        request = self.shutdown
        if request is None:
            raise AssertionError("unreachable: only called with a request")
        await anyio.to_thread.run_sync(self._answer, request)
        await self._commit_taken()

    async def _commit_taken(self) -> None:
        self._deliveries = 0
        await anyio.to_thread.run_sync(self._mailbox.commit, self._taken)

    def _mail(self, letters: tuple[Message, ...], cursor: Cursor) -> Mail:
        committed = False
        self._in_hand.update(one.id for one in letters)

        async def commit() -> None:
            nonlocal committed
            if committed:
                return
            committed = True
            self._deliveries = 0
            self._in_hand.difference_update(one.id for one in letters)
            await anyio.to_thread.run_sync(self._mailbox.commit, cursor)
            for one in letters:
                self._journal.emit(
                    "message.delivered",
                    teammate=self.name,
                    message=one.id,
                    type=one.type,
                    sender=one.sender,
                )

        return Mail(messages=letters, commit=commit)

    def _send(self, to: str, text: str, type_: str, extra: Mapping[str, Any]) -> str:
        message = post(
            self._layout,
            to=to,
            sender=self.name,
            content=text,
            members=self.members(),
            clock=self._clock,
            type_=type_,
            extra=extra,
        )
        self._journal.emit(
            "message.sent", teammate=self.name, message=message.id, type=type_, to=to
        )
        return message.id

    def _control(self, message: Message) -> None:
        refusal = self._why_not_obey(message)
        if refusal is None:
            self.shutdown = self.shutdown or message
            return
        get_logger(__name__).warning(
            "control_message_dropped",
            teammate=self.name,
            message=message.id,
            type=message.type,
            sender=message.sender,
            reason=refusal,
        )
        self._journal.emit(
            "request.decided",
            teammate=self.name,
            request=message.extra.get("request"),
            message=message.id,
            status="dropped",
            reason=refusal,
        )

    def _why_not_obey(self, message: Message) -> str | None:
        """A control message belongs to a run; those of other runs and times are dropped."""
        if message.type != "shutdown_request":
            return f"nobody here waits for a {message.type}"
        run = message.extra.get("run")
        if run is not None:
            return None if run == self._run else f"it belongs to run {run}"
        if message.sender != LEAD:
            return f"it is neither from the {LEAD} nor of this run"
        sent = _moment(message.timestamp)
        old = sent < self._opened if sent is not None else not self._looked
        return "it is older than this run" if old else None

    def _answer(self, request: Message) -> None:
        record = request.extra.get("request")
        if is_safe(record):
            try:
                decide(
                    self._layout,
                    str(record),
                    "approved",
                    by=self.name,
                    clock=self._clock,
                    journal=self._journal,
                )
            except RunnerError as error:
                self._note("request_not_decided", error)
        try:
            self._send(
                request.sender,
                f"{self.name} shuts down",
                "shutdown_response",
                {"request": record, "run": self._run, "approve": True},
            )
        except RunnerError as error:
            self._note("shutdown_not_answered", error)

    def _note(self, event: str, error: RunnerError) -> None:
        get_logger(__name__).warning(event, teammate=self.name, error=str(error))

    def _report_damage(self, batch: Batch) -> None:
        for line in batch.damaged:
            self._journal.emit(
                "board.problem",
                teammate=self.name,
                kind="damaged-message",
                file=self._mailbox.path.name,
                message=f"byte {line['offset']}: {line['reason']}; "
                f"set aside in {self._mailbox.damaged_file.name}",
            )


def _moment(text: str) -> datetime | None:
    try:
        return from_iso(text)
    except ValueError:
        return None
