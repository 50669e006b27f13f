"""What the teammates of one run share: the board, the looks at it, and whether to go on."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import anyio
import anyio.to_thread

from runner.board.board import Board
from runner.board.outlook import Outlook, Refuses, RefusesFor, outlook, unfit
from runner.board.snapshot import Snapshot
from runner.board.task import Claimant, Fence, Task
from runner.core.clock import Clock
from runner.core.events import Journal
from runner.core.ids import Key
from runner.core.layout import Layout
from runner.core.log import get_logger
from runner.core.settings import Settings
from runner.errors import BoardError, SaveFailed
from runner.team.guardian import ProcessGroups
from runner.team.look import Look, Looks
from runner.team.outcome import Usage
from runner.team.pulse import Pulse
from runner.team.roster import Roster, Status
from runner.team.seat import Seat
from runner.team.types import Work

LAST_WRITE_S = 1.0
"""So long may the last writes of a run wait for a lock."""

_SWEEP_TICKS = 6
"""While every change is told, only every so many ticks is each file looked at."""

_QUIET_EVENTS = frozenset({"turn.ended", "tool.ended", "task.claimed", "task.unclaimable"})


@dataclass(kw_only=True, eq=False)
class RunState:
    """One per run. All of it is used on the event loop only, but for `refuses_for`.

    `admission` says why a task cannot be done here at all; None lets everything in. `cause` is why
    the run stops, where it is not a person's wish. `doom` is what everybody crashed with.
    `given_up` has the ids of claims whose end could not be saved, with the reason. `notes` are
    sentences for the report.
    """

    layout: Layout
    settings: Settings
    run: str
    work: Work
    clock: Clock
    journal: Journal
    board: Board
    processes: ProcessGroups
    roster: Roster
    admission: RefusesFor | None
    only: frozenset[Key] | None
    drain: bool
    seats: tuple[Seat, ...] = ()
    over: Literal["drained", "stopped"] | None = None
    no_more_claims: str | None = None
    cause: str | None = None
    doom: str | None = None
    given_up: dict[str, str] = field(default_factory=dict)
    hurried: bool = False
    usages: list[Usage] = field(default_factory=list)
    message_turns: int = 0
    notes: list[str] = field(default_factory=list)
    pulse: Pulse = field(init=False)
    looks: Looks = field(init=False)
    _writes: set[anyio.CancelScope] = field(init=False, default_factory=set)
    _last_moment: float = field(init=False, default=0.0)
    _told: set[str] = field(init=False, default_factory=set)
    _claiming: anyio.Lock = field(init=False, default_factory=anyio.Lock)
    _handed_back: dict[Key, tuple[Any, str]] = field(init=False, default_factory=dict)
    _refusals: set[tuple[Key, str]] = field(init=False, default_factory=set)
    _mutex: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.pulse = Pulse(self.clock)
        self.looks = Looks(self.board, drain=self.drain, given_up=self.given_up)

    @property
    def stopping(self) -> bool:
        return self.over == "stopped"

    @property
    def claims(self) -> bool:
        """Whether anything may be claimed still."""
        return self.over is None and self.no_more_claims is None

    @property
    def live_seats(self) -> tuple[Seat, ...]:
        return tuple(seat for seat in self.seats if seat.live)

    @property
    def claimants(self) -> list[Claimant]:
        """Who may sit in this run, present or not."""
        return [seat.teammate.claimant for seat in self.seats if not seat.dismissed]

    def on_event(self, line: dict[str, Any]) -> None:
        """Listens to the journal, on any thread: what happens here wakes who is idle."""
        if line["event"].startswith(("task.", "message.")) and line["event"] not in _QUIET_EVENTS:
            self.pulse.beat()

    def on_watched(self, live: bool) -> None:
        """Told on any thread whether `on_files` hears of every change from now on."""
        tick_s = self.settings.limits.poll_interval_s
        # half a tick less, so that the last of so many is never a moment too early
        self.board.store.observer.rely(tick_s * (_SWEEP_TICKS - 0.5) if live else 0.0)
        for seat in self.live_seats:  # of what happened before, nobody was told
            seat.disturbed = True
        self.pulse.beat()

    def on_files(self, tasks: Collection[str], inboxes: Collection[str]) -> None:
        """Told on any thread that these task files and the inboxes of these names may have changed.

        What this process wrote itself wakes nobody.
        """
        is_news = self.board.store.observer.hear(tasks)
        if is_news:
            for seat in self.live_seats:
                task = seat.teammate.task
                seat.disturbed = seat.disturbed or (task is not None and task.file in tasks)
        mail = (seat for seat in self.live_seats if seat.inbox.name in inboxes)
        if is_news or any(seat.inbox.has_news() for seat in mail):
            self.pulse.beat()

    def end(self, how: Literal["drained", "stopped"]) -> None:
        """Everybody who is idle ends; a running attempt is not touched."""
        if self.over != "stopped":
            self.over = how
        self.pulse.beat()

    def end_claims(self, reason: str) -> None:
        """Nothing is claimed any more in this run: going on would fail task after task."""
        self.no_more_claims = self.no_more_claims or reason
        get_logger(__name__).error("claiming_stopped", reason=reason)
        self.pulse.beat()

    def tell(self, sentence: str) -> None:
        """Say something in the report, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def trouble(self, event: str, error: Exception, *, task: Task | None = None) -> None:
        """Log what the disk has against us, once for as long as it is the same."""
        said = str(error)
        if said not in self._told:
            self._told.add(said)
            task_id = task.id if task is not None else None
            get_logger(__name__).warning(event, task=task_id, error=said)

    def give_up(self, task: Task, error: Exception) -> str:
        """The end of this attempt stays unwritten: the task is stale when this run has ended."""
        reason = f"could not be saved: {error}"
        if isinstance(error, SaveFailed):
            reason = f"could not be saved: {error.file}: {error.reason}"
        self.given_up[task.fence.claim_id] = reason
        get_logger(__name__).error(
            "result_given_up", task=task.id, file=str(self.layout.tasks / task.file), reason=reason
        )
        return reason

    def note(self, seat: Seat, status: Status, task: Task | None = None) -> None:
        """A teammate's status changed: roster, live view."""
        progress = seat.teammate.progress
        progress.status, progress.task = status, task.key if task is not None else None
        progress.turn, progress.tool, progress.spent = None, None, None
        progress.since = self.clock.monotonic()
        self.roster.update(seat.member, status, task.id if task is not None else None)

    @contextlib.contextmanager
    def shielded(self) -> Iterator[None]:
        """Inside, a write to the board is not cut off by a cancellation.

        Each hop has the lock's own timeout. Once hurried, what is not written by the last moment
        is given up: it is stale as soon as this process is gone.
        """
        with anyio.CancelScope(shield=True) as scope:
            self._writes.add(scope)
            if self.hurried:
                scope.deadline = self._last_moment
            try:
                yield
            finally:
                self._writes.discard(scope)

    def hurry(self) -> float:
        """From now on there is one second for all writes together; when it ends, as anyio counts.

        Real time, whatever the clock: this is about other processes.
        """
        self.hurried = True
        self._last_moment = anyio.current_time() + LAST_WRITE_S
        for scope in self._writes:
            scope.deadline = self._last_moment
        self.pulse.beat()
        return self._last_moment

    def set_aside(self, task: Task, reason: str) -> None:
        """A task handed back without fault is not taken again until its file changes."""
        self._handed_back[task.key] = (task.raw, reason)

    def refuses_for(self, claimant: Claimant) -> Refuses:
        """What admission says, and what this run has handed back. Called in a worker thread."""
        admission = self.admission(claimant) if self.admission is not None else None

        def refuses(task: Task) -> str | None:
            raw, reason = self._handed_back.get(task.key, (None, None))
            if reason is not None and raw == task.raw:
                return reason
            reason = admission(task) if admission is not None else None
            if reason is not None:
                self._tell_refused(task, claimant, reason)
            return reason

        return refuses

    def _tell_refused(self, task: Task, claimant: Claimant, reason: str) -> None:
        """Journal each reason of a task once, however often and by whomever it is asked."""
        with self._mutex:
            is_new = (task.key, reason) not in self._refusals
            self._refusals.add((task.key, reason))
        if is_new:
            self.journal.emit(
                "task.unclaimable", teammate=claimant.name, task=task.id, reason=reason
            )

    async def look(self) -> Look:
        """A fresh look; claims of this run that nobody works on go back."""
        look = await self.looks.fresh()
        if look.own and not self.hurried:
            held = self._fences()
            for task in look.own:
                if task.fence not in held:
                    # this very claim, named by its fence: one made meanwhile is not meant
                    await self._release_unheld(task)
        return look

    async def claim_for(self, seat: Seat) -> None:
        """Put the next task for this teammate, if there is one, into its `next_task`."""
        mate = seat.teammate
        if not self._has_something_for(mate.claimant):
            return
        # one at a time: whoever comes second sees what the first has taken, without a hop
        async with self._claiming:
            if self._has_something_for(mate.claimant):
                try:
                    mate.next_task = await self.board.claim_next(
                        mate.claimant, refuses_for=self.refuses_for, only=self.only
                    )
                except BoardError as error:
                    # one file that cannot be written, or no lock: the next look is near
                    self.trouble("nothing_claimed", error)

    def _has_something_for(self, claimant: Claimant) -> bool:
        look = self.looks.latest
        return self.claims and (bool(look.stale) or any(True for _ in self.offers(look, claimant)))

    def offers(self, look: Look, claimant: Claimant) -> Iterator[Task]:
        """What a look has for this claimant, without the tasks that this run works on by now."""
        taken: frozenset[Key] | None = None
        for task in look.offers(claimant, self.only):
            if taken is None:  # not before: of hundreds who are idle most find nothing to compare
                taken = frozenset(fence.key for fence in self._fences())
            if task.key not in taken:
                yield task

    async def clock_stands_still(self, seat: Seat) -> bool:
        """Whether work that this teammate could do is on its way."""
        claimant = seat.teammate.claimant
        coming = self.looks.latest.coming
        mine = [task for task in coming if unfit(task, claimant, None, self.only) is None]
        return bool(mine) and self.no_more_claims is None and await self.admits_one(claimant, mine)

    async def admits_one(self, claimant: Claimant, tasks: Iterable[Task]) -> bool:
        """Whether admission lets this claimant do one of `tasks`."""

        def ask() -> bool:
            refuses = self.refuses_for(claimant)
            return any(refuses(task) is None for task in tasks)

        return await anyio.to_thread.run_sync(ask)

    async def try_to_drain(self, seen: int) -> bool:
        """End a drain run that has nothing left. `seen` is the pulse before the caller's look."""
        if not self.drain or self._unrest(seen):
            return False
        async with self._claiming:
            left = await self.outlook(self.looks.latest)
            if left.nothing_left and self.board.store.observer.doubt():
                # what nobody told of must not be left behind
                left = await self.outlook(await self.looks.fresh())
                if not left.nothing_left:
                    self.pulse.beat()
            # asked again: the hop took its time
            if not left.nothing_left or self.over is not None or self._unrest(seen):
                return False
            self.end("drained")
            return True

    async def outlook(self, look: Look, *, final: bool = False) -> Outlook:
        """What this run can still expect.

        Admission is asked only if it makes a difference, and for the reasons in the end. After a
        doom it may be the very thing that failed, so nobody and nothing is asked.
        """
        if self.doom is not None:
            return outlook(
                look.snapshot, [seat.teammate.claimant for seat in self.seats], None, self.only
            )
        # why claiming was stopped is said in the end; until then nobody claims anything
        claimants = self.claimants if final or self.no_more_claims is None else []
        plain = outlook(look.snapshot, claimants, None, self.only)
        if plain.nothing_left and not final:
            return plain
        return await anyio.to_thread.run_sync(self._judged, look.snapshot, claimants)

    def _judged(self, snapshot: Snapshot, claimants: list[Claimant]) -> Outlook:
        """Only what admission refuses counts as refused: another run takes what was handed back."""
        found = outlook(snapshot, claimants, self.refuses_for, self.only)
        if not self._handed_back:
            return found
        elsewhere = outlook(snapshot, claimants, self.admission, self.only)
        return replace(found, refused=elsewhere.refused)

    def _unrest(self, seen: int) -> bool:
        """Something happened after the look, or somebody has something to do."""
        return self.pulse.version != seen or any(
            seat.busy or seat.inbox.has_news() for seat in self.live_seats
        )

    def _fences(self) -> frozenset[Fence]:
        return frozenset().union(*(seat.teammate.fences for seat in self.seats))

    async def _release_unheld(self, task: Task) -> None:
        reason = "nobody of this run works on it"
        try:
            await self.board.release(task.fence, reason=reason)
        except BoardError as error:
            self.trouble("claim_not_returned", error, task=task)
