"""The cycle of a teammate: WORK and IDLE until there is a reason to end."""

from __future__ import annotations

from collections.abc import Callable

from runner.board.task import Task
from runner.core.ids import LEAD
from runner.team.outcome import Faulted, HandedBack, LimitReached, Lost, Outcome
from runner.team.seat import Ending, Seat
from runner.team.state import RunState
from runner.team.types import Assignment, Mail
from runner.team.working import Working, settle

MAX_CHATS = 10
"""So often mail is answered with mail, without a task or a word of the lead, before it waits."""

_ROUNDING_S = 1e-6

LimitHook = Callable[[str, str], None]


class WorkCrashed(Exception):
    """An exception came out of the work; the attempt is settled. The cause is attached."""


class Cycle:
    """What one teammate does between its spawn and its end.

    `on_limit(kind, reason)` is told of a budget that is used up.
    """

    def __init__(self, state: RunState, seat: Seat, on_limit: LimitHook) -> None:
        self._state = state
        self._seat = seat
        self._on_limit = on_limit
        self._resting = False
        self.working: Working | None = None
        self.attempts = 0

    async def live(self) -> Ending:
        """spawn -> WORK <-> IDLE -> shutdown; why it ended.

        Raises: WorkCrashed, and whatever the disk has against us.
        """
        state, inbox = self._state, self._seat.inbox
        limits, clock = state.settings.limits, state.clock
        idle_s, looked, tick, still = 0.0, None, None, False
        while True:
            seen = state.pulse.version
            if state.over is not None:
                return state.over

            # WORK: the inbox first, then the board; an idle time begins anew afterwards
            assignment = await self._next_assignment()
            if assignment is not None:
                await self._work_on(assignment)
                idle_s, looked, tick = 0.0, None, None
                continue
            if inbox.shutdown is not None:
                await inbox.answer_shutdown()
                return "requested"

            # IDLE: the clock runs unless work for this teammate is on its way
            self._rest()
            now = clock.monotonic()
            if looked is not None and not still:
                idle_s += now - looked
            looked, still = now, await state.clock_stands_still(self._seat)
            if await state.try_to_drain(seen):
                continue
            if idle_s >= limits.idle_timeout_s - _ROUNDING_S and not still:
                return "idle_timeout"

            # a pulse wakes sooner and does not shift the ticks
            if tick is None:
                tick = now
            while tick <= now:
                tick += limits.poll_interval_s
            await state.pulse.wait(seen, tick - clock.monotonic())

    async def _next_assignment(self) -> Assignment | None:
        """One look, in this order: inbox, a task claimed in a message turn, the board."""
        mate, inbox = self._seat.teammate, self._seat.inbox
        talked_enough = self._seat.chats >= MAX_CHATS
        if inbox.shutdown is None:
            mail = await inbox.receive(lead_only=talked_enough)
            if mail is not None:
                return mail
        if inbox.shutdown is not None:
            return None
        if mate.next_task is None:
            await self._state.look()
            await self._state.claim_for(self._seat)
        mate.task, mate.next_task = mate.next_task, None
        return mate.task

    async def _work_on(self, assignment: Assignment) -> None:
        state, seat = self._state, self._seat
        self._resting = False
        task = assignment if isinstance(assignment, Task) else None
        state.note(seat, "working", task)
        seat.teammate.emit("teammate.working", task)
        if task is not None and task.id not in seat.worked:
            seat.worked.append(task.id)
        self.working, sent = Working(state, seat, assignment), seat.teammate.sent
        try:
            outcome = await self.working.run()
            state.usages.append(outcome.usage)
            if isinstance(assignment, Mail):
                self._count_chat(assignment, answered=seat.teammate.sent > sent)
                await self._file_away(assignment, outcome)
            else:
                seat.chats = 0
                await settle(state, seat, assignment, outcome)
                seat.teammate.task = None
            self.attempts += 1
            self._heed(outcome)
            await seat.inbox.put_back(after_s=state.settings.limits.poll_interval_s)
            if self.working.crash is not None:
                raise WorkCrashed from self.working.crash
        finally:
            self.working = None

    async def _file_away(self, mail: Mail, outcome: Outcome) -> None:
        """A message turn that came to an end counts as read, whether the work said so or not."""
        over_budget = isinstance(outcome, LimitReached) and outcome.limit == "budget"
        if isinstance(outcome, HandedBack | Lost) or over_budget:
            self._seat.inbox.leave()
        elif not isinstance(outcome, Faulted):  # a fault is put back below
            await mail.commit()

    def _count_chat(self, mail: Mail, *, answered: bool) -> None:
        """Teammates who answer each other for ever would cost without bound."""
        state, seat = self._state, self._seat
        state.message_turns += 1
        if any(one.sender == LEAD for one in mail.messages):
            seat.chats = 0
        seat.chats += answered
        if answered and seat.chats == MAX_CHATS:
            state.tell(
                f"{seat.member.name} answered mail with mail {MAX_CHATS} times in a row: further "
                "mail waits for its next task or a message of the lead"
            )

    def _heed(self, outcome: Outcome) -> None:
        """What an outcome means for the whole run."""
        if isinstance(outcome, LimitReached) and outcome.limit == "budget":
            self._on_limit("budget", outcome.error)
        if isinstance(outcome, HandedBack) and outcome.stop_claiming:
            self._state.end_claims(outcome.reason)

    def _rest(self) -> None:
        if not self._resting:
            self._resting = True
            self._state.note(self._seat, "idle")
            self._state.journal.emit("teammate.idle", teammate=self._seat.member.name)
