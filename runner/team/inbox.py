"""A teammate's own reading of its inbox: mail for the model, control messages for the cycle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import anyio.to_thread

from runner.core.clock import Clock
from runner.core.events import Journal
from runner.core.ids import LEAD
from runner.core.layout import Layout
from runner.core.log import get_logger
from runner.errors import BoardBusy, OwnInbox, RunnerError
from runner.team.control import Control
from runner.team.cursor import Cursor
from runner.team.mailbox import Batch, Mailbox, Stamp, post
from runner.team.message import CONTROL, Message
from runner.team.roster_files import live_members
from runner.team.types import Mail

MAX_DELIVERIES = 3
"""Mail that faults its reader this often is put away as read."""


@dataclass(slots=True)
class _Handed:
    """What one look took out of the inbox. `left` stays unread, for another run.

    `told` is on its way into a transcript.
    """

    cursor: Cursor
    letters: tuple[Message, ...]
    done: bool = False
    left: bool = False
    told: bool = False


class Inbox:
    """Implements `Post`. It outlives a crash of its teammate, so nothing asked is forgotten.

    An inbox that is busy or cannot be written delays mail; it never stops its reader.
    """

    def __init__(
        self, layout: Layout, name: str, *, run: str, clock: Clock, journal: Journal
    ) -> None:
        self.name = name
        self._layout = layout
        self._mailbox = Mailbox(layout, name)
        self._clock = clock
        self._journal = journal
        self._control = Control(
            layout, name, run=run, clock=clock, journal=journal, send=self._send
        )
        self._seen: Stamp = None
        self._taken = Cursor()
        self._upto: Cursor | None = None
        self._handed: list[_Handed] = []
        self._held_back = False
        self._looked = False
        self._deliveries = 0
        self._not_before = 0.0

    @property
    def shutdown(self) -> Message | None:
        """The request that ends the teammate, once one has arrived."""
        return self._control.shutdown

    def has_news(self) -> bool:
        """Whether the file changed since the last look. Cheap: one `stat`."""
        return self._mailbox.stamp() != self._seen

    async def receive(self, *, lead_only: bool = False) -> Mail | None:
        """New messages for the model; control messages are dealt with here.

        `lead_only`: what has come waits, unread, until the lead writes or somebody asks without.
        """
        seen = self._mailbox.stamp()
        is_new = seen != self._seen or (self._held_back and not lead_only)
        if not is_new or self._clock.monotonic() < self._not_before:
            return None
        batch = await self._read(seen)
        return await self._take(batch, lead_only) if batch is not None else None

    async def send(self, to: str, text: str, type_: str, extra: Mapping[str, Any]) -> str:
        return await anyio.to_thread.run_sync(self._send, to, text, type_, extra)

    def members(self) -> tuple[str, ...]:
        return live_members(self._layout)

    async def put_back(self, *, after_s: float) -> None:
        """What was taken and is not committed comes again after a while, but not for ever."""
        open_ = [one for one in self._handed if one.letters and not (one.done or one.left)]
        if not open_:
            return
        self._deliveries += 1
        if self._deliveries >= MAX_DELIVERIES:
            get_logger(__name__).error("mail_given_up", teammate=self.name, tries=MAX_DELIVERIES)
            self._deliveries = 0
            await self._settle(*open_)
            return
        self._handed.clear()
        self._not_before = self._clock.monotonic() + after_s
        self._seen, self._taken = None, self._upto or Cursor()

    def leave(self) -> None:
        """What was taken and is not committed stays unread for another run."""
        for one in self._handed:
            one.left = bool(one.letters) and not one.done

    async def answer_shutdown(self) -> None:
        """Approve every request and tell whoever asked. Mail that nobody has read stays unread."""
        await anyio.to_thread.run_sync(self._control.answer)
        await self._settle(*(one for one in self._handed if not one.letters))

    def close(self) -> int:
        """The run ends: requests that came too late are answered; how much mail stays unread."""
        self._control.answer()
        letters = (one for one in self._mailbox.peek() if one.type not in CONTROL)
        return sum(1 for _ in letters)

    async def _read(self, seen: Stamp) -> Batch | None:
        """The messages behind what was taken; `seen` is the stamp of the file before."""
        try:
            batch = await anyio.to_thread.run_sync(self._mailbox.read, self._taken)
        except BoardBusy as error:
            self._note("inbox_busy", error)
            return None
        except (RunnerError, OSError) as error:
            self._note("inbox_not_read", error)
            batch = None
        self._seen = seen
        return batch

    async def _take(self, batch: Batch, lead_only: bool) -> Mail | None:
        """Heed what is for the runner; the rest, unless it is held back, is the mail."""
        self._report_damage(batch)
        for message in batch.messages:
            if message.type in CONTROL:
                self._control.heed(message, first_look=not self._looked)
        self._looked = True
        letters = tuple(one for one in batch.messages if one.type not in CONTROL)
        self._held_back = bool(letters) and lead_only and all(one.sender != LEAD for one in letters)
        if self._held_back:
            return None
        self._taken = batch.cursor
        handed = _Handed(batch.cursor, letters)
        self._handed.append(handed)
        if letters:
            return self._mail(handed)
        if self.shutdown is None:
            await self._settle(handed)
        return None

    async def _settle(self, *read: _Handed) -> None:
        """These are read: the place on disk moves up to the first that is not."""
        for one in read:
            one.done = True
        while self._handed and self._handed[0].done:
            self._upto = self._handed.pop(0).cursor
        if self._upto is None:
            return
        try:
            await anyio.to_thread.run_sync(self._mailbox.commit, self._upto)
        except (RunnerError, OSError) as error:
            # the next commit covers it; a death before that delivers again
            self._note("mail_not_committed", error)
        else:
            self._upto = None

    def _mail(self, handed: _Handed) -> Mail:
        async def commit() -> None:
            if handed.done:
                return
            self._deliveries = 0
            await self._settle(handed)
            for one in handed.letters:
                self._journal.emit(
                    "message.delivered",
                    teammate=self.name,
                    message=one.id,
                    type=one.type,
                    sender=one.sender,
                )

        async def announce(transcript: Path, size: int) -> None:
            handed.told = True
            before = takewhile(lambda one: one is not handed, self._handed)
            if all(one.done or (one.told and not one.left) for one in before):
                await self._announce(handed, transcript, size)

        return Mail(messages=handed.letters, commit=commit, announce=announce)

    async def _announce(self, handed: _Handed, transcript: Path, size: int) -> None:
        ids = [one.id for one in handed.letters]
        try:
            await anyio.to_thread.run_sync(
                self._mailbox.announce, handed.cursor, ids, transcript, size
            )
        except (RunnerError, OSError) as error:
            # the commit does it; a death between the reply and that delivers again
            self._note("mail_not_announced", error)

    def _send(self, to: str, text: str, type_: str, extra: Mapping[str, Any]) -> str:
        if to == self.name:
            raise OwnInbox(to)
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

    def _note(self, event: str, error: Exception) -> None:
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
