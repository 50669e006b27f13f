"""What the teammates of one run share: the board, the looks at it, and whether to go on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
import anyio.to_thread

from runner.board.board import Board
from runner.board.outlook import Outlook, outlook, unfit
from runner.board.task import Claimant, Fence, Task
from runner.core.clock import Clock
from runner.core.events import Journal
from runner.core.ids import Key
from runner.core.layout import Layout
from runner.core.log import get_logger
from runner.core.settings import Settings
from runner.errors import BoardError, SaveFailed
from runner.team.guardian import ProcessGroups
from runner.team.last_writes import LastWrites
from runner.team.look import Look, Looks
from runner.team.outcome import Usage
from runner.team.pulse import Pulse
from runner.team.refusals import Refusals
from runner.team.roster import Roster, Status
from runner.team.seat import Seat
from runner.team.types import Work

_SWEEP_TICKS = 6
"""While every change is told, only every so many ticks is each file looked at."""

_QUIET_EVENTS = frozenset({"turn.ended", "tool.ended", "task.claimed", "task.unclaimable"})


@dataclass(kw_only=True, eq=False)
class RunState:
    """One per run. All of it is used on the event loop only, but for `refusals`.

    `cause` is why the run stops, where it is not a person's wish. `doom` is what everybody crashed
    with. `given_up` has the ids of claims whose end could not be saved, with the reason. `notes`
    are sentences for the report.
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
    refusals: Refusals
    only: frozenset[Key] | None
    drain: bool
    seats: tuple[Seat, ...] = ()
    over: Literal["drained", "stopped"] | None = None
    no_more_claims: str | None = None
    cause: str | None = None
    doom: str | None = None
    given_up: dict[str, str] = field(default_factory=dict)
    usages: list[Usage] = field(default_factory=list)
    message_turns: int = 0
    notes: list[str] = field(default_factory=list)
    writes: LastWrites = field(init=False, default_factory=LastWrites)
    pulse: Pulse = field(init=False)
    looks: Looks = field(init=False)
    _told: set[str] = field(init=False, default_factory=set)
    _claiming: anyio.Lock = field(init=False, default_factory=anyio.Lock)

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

    async def look(self) -> Look:
        """A fresh look; claims of this run that nobody works on go back."""
        look = await self.looks.fresh()
        if look.own and not self.writes.hurried:
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
                        mate.claimant, refuses_for=self.refusals.refuses_for, only=self.only
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
            refuses = self.refusals.refuses_for(claimant)
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
        return await anyio.to_thread.run_sync(
            self.refusals.judged, look.snapshot, claimants, self.only
        )

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
