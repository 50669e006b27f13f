"""What the team and the work agree on: assignments, and what a work sees of a teammate.

`Work` is the one seam between them. A work gets an assignment and a teammate and returns the
outcome; it never completes, fails or releases the task itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import anyio

from runner.board.board import Board
from runner.board.outlook import RefusesFor
from runner.board.task import Claimant, Fence, Task
from runner.core.clock import Clock
from runner.core.events import Journal
from runner.core.ids import LEAD, Key, key_of
from runner.errors import NotClaimable
from runner.team.guardian import ProcessGroups
from runner.team.message import Message
from runner.team.outcome import Outcome, Usage


async def _unannounced(transcript: Path, size: int) -> None:
    """Only `commit` tells that these are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """Messages in the order of their arrival.

    They count as read when the model has answered. `announce(transcript, size)`, called before
    they are written behind `size` bytes of a transcript, makes the line of kind `assistant` that
    follows them there the moment; without it `commit()` does. Until then a crash delivers them
    again. Call `commit()` right after the reply is written down; calling it twice is harmless.
    """

    messages: tuple[Message, ...]
    commit: Callable[[], Awaitable[None]]
    announce: Callable[[Path, int], Awaitable[None]] = _unannounced


Assignment = Task | Mail
Work = Callable[[Assignment, "Teammate"], Awaitable[Outcome]]


@dataclass(slots=True, kw_only=True)
class Progress:
    """What a teammate is at, for the live view. The work writes `turn`, `tool`, `writing`, `spent`.

    `since` is the clock's monotonic time of the last change between work and idle. `spent` tells
    what the assignment has used up to now, for one that is cut short.
    """

    status: str = "idle"
    task: Key | None = None
    turn: int | None = None
    tool: str | None = None
    writing: bool = False
    since: float = 0.0
    spent: Callable[[], Usage] | None = None
    _using: list[str] = field(default_factory=list)

    @contextmanager
    def hearing(self) -> Iterator[Callable[[str], None]]:
        """Inside the block a reply is waited for; what is given is called with each piece of it."""

        def heard(piece: str) -> None:
            self.writing = bool(piece)

        try:
            yield heard
        finally:
            self.writing = False

    @contextmanager
    def using(self, tool: str) -> Iterator[None]:
        """Inside the block this tool is under way; of several the last one is shown."""
        self._using.append(tool)
        self.tool = tool
        try:
            yield
        finally:
            self._using.remove(tool)
            self.tool = self._using[-1] if self._using else None


class Post(Protocol):
    """A teammate's way to its inbox and to the others."""

    async def receive(self) -> Mail | None:
        """What has arrived and is meant for the model."""
        ...

    async def send(self, to: str, text: str, type_: str, extra: Mapping[str, Any]) -> str:
        """Put one message into an inbox; its id. Raises: UnknownRecipient, UnsafeName."""
        ...

    def members(self) -> tuple[str, ...]:
        """Everybody who can be written to."""
        ...


class Bell(Protocol):
    """Rings when something may have come that is not waited for: mail, a stop."""

    @property
    def version(self) -> int:
        """Grows with every ring."""
        ...

    async def wait(self, seen: int, seconds: float | None) -> None:
        """Return when it rang after version `seen`, or `seconds` have passed."""
        ...


class Silence:
    """A bell that never rings."""

    version = 0

    async def wait(self, seen: int, seconds: float | None) -> None:
        await anyio.sleep_forever()


@dataclass(slots=True, kw_only=True)
class Teammate:
    """A long-lived worker as its work sees it.

    `agent` is what the roster says (None: the agent named like the role, else `task`). `memory`
    is free for the work and lives as long as the teammate: the carried history, say. `task` is
    the open task, None in a message turn. `asked_to_stop` reads the run's stop flag; a wait for
    anything else listens to `bell`, and looks up every `tick_s` seconds anyway. `only` restricts
    what may be claimed; None is everything. `sent` counts messages to teammates.
    """

    name: str
    role: str
    agent: str | None
    team: str
    run: str
    board: Board
    clock: Clock
    journal: Journal
    processes: ProcessGroups
    post: Post
    asked_to_stop: Callable[[], bool] = lambda: False
    bell: Bell = field(default_factory=Silence)
    tick_s: float | None = None
    refuses_for: RefusesFor | None = None
    only: frozenset[Key] | None = None
    progress: Progress = field(default_factory=Progress)
    memory: dict[str, Any] = field(default_factory=dict)
    task: Task | None = None
    next_task: Task | None = None
    sent: int = 0

    @property
    def stopping(self) -> bool:
        """A graceful stop was asked for: end the turn, then return `HandedBack`."""
        return self.asked_to_stop()

    @property
    def claimant(self) -> Claimant:
        return Claimant(name=self.name, role=self.role, agent=self.agent)

    @property
    def fences(self) -> frozenset[Fence]:
        """The claims that this teammate holds now."""
        return frozenset(task.fence for task in (self.task, self.next_task) if task is not None)

    def emit(self, event: str, task: Task | None, **facts: Any) -> None:
        """A line in the journal about this teammate's attempt at a task, or its message turn."""
        self.journal.emit(
            event,
            teammate=self.name,
            task=task.id if task is not None else None,
            attempt=task.attempt if task is not None else None,
            **facts,
        )

    def members(self) -> tuple[str, ...]:
        return self.post.members()

    async def new_mail(self) -> Mail | None:
        """Messages that arrived during work; control messages are kept back for the cycle."""
        return await self.post.receive()

    async def send(self, to: str, text: str, type: str = "message", **extra: Any) -> str:
        """Send `text` to another member; the message's id.

        Raises: UnknownRecipient, OwnInbox, UnsafeName, SaveFailed, BoardBusy.
        """
        message = await self.post.send(to, text, type, extra)
        self.sent += to != LEAD
        return message

    async def claim_task(self, task_id: int | str) -> Task:
        """Claim this task now; the cycle works on it after this turn.

        Raises: TaskNotFound, NotClaimable (also while a task is open).
        """
        held = self.task or self.next_task
        if held is not None:
            raise NotClaimable(task_id, f"{self.name} has task {held.id} open; finish it first")
        if self.stopping:
            raise NotClaimable(task_id, "the run is stopping")
        if self.only is not None and key_of(task_id) not in self.only:
            raise NotClaimable(task_id, "this run works on other tasks only (--only)")
        self.next_task = await self.board.claim(
            task_id, self.claimant, refuses_for=self.refuses_for
        )
        return self.next_task
