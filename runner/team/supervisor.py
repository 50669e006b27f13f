"""Keeps the seats of a team taken: spawns, respawns after a crash, fills up when there is work."""

from __future__ import annotations

import anyio
from anyio.abc import TaskGroup

from runner.board.outlook import unfit
from runner.core.failures import in_one_line
from runner.core.log import get_logger
from runner.team.crashes import Crashes
from runner.team.inbox import Inbox
from runner.team.look import Look
from runner.team.outcome import HandedBack
from runner.team.roster import Member
from runner.team.seat import Ending, Seat
from runner.team.state import RunState
from runner.team.teammate import Cycle, LimitHook, WorkCrashed
from runner.team.types import Progress, Teammate
from runner.team.working import give_back

MAX_CRASHES = 5
"""So many crashes in a row, without an attempt that came to an end, and the seat stays empty."""

_MAX_BACK_OFF_S = 30.0


class Supervisor:
    """Runs the teammates of one run until the last one has shut down."""

    def __init__(self, state: RunState, on_limit: LimitHook) -> None:
        self._state = state
        self._on_limit = on_limit
        self._cycles: dict[str, Cycle] = {}
        self._crashes = Crashes()
        self._logged: set[str] = set()
        self._scope = anyio.CancelScope()

    async def run(self) -> None:
        with self._scope:
            async with anyio.create_task_group() as services:
                async with anyio.create_task_group() as group:
                    for seat in self._state.seats:
                        self._spawn(group, seat)
                    services.start_soon(self._fill_up, group)
                services.cancel_scope.cancel()

    def cut_all(self, reason: str) -> None:
        """End every running attempt now; its task goes back, if that can be written soon."""
        # whoever still waits then, for a lock that somebody holds, is not waited for
        self._scope.deadline = self._state.writes.hurry()
        self._state.pulse.beat()
        for cycle in self._cycles.values():
            if cycle.working is not None:
                cycle.working.cut(HandedBack(reason=reason))

    def _spawn(self, group: TaskGroup, seat: Seat) -> None:
        seat.ending = None
        group.start_soon(self._occupy, seat)

    async def _occupy(self, seat: Seat) -> None:
        """One teammate after the other on this seat, until one ends by itself."""
        ending: Ending = "stopped"
        try:
            ending = await self._until_it_ends(seat)
        finally:
            await give_back(self._state, seat, f"{seat.member.name} has ended: {ending}")
            seat.ending = ending
            self._cycles.pop(seat.member.name, None)
            self._state.note(seat, "shutdown")
            self._state.journal.emit("teammate.shutdown", teammate=seat.member.name, reason=ending)
            self._state.pulse.beat()

    async def _until_it_ends(self, seat: Seat) -> Ending:
        state, crashes = self._state, 0
        while True:
            cycle = self._sit_down(seat)
            try:
                return await cycle.live()
            except WorkCrashed as crash:
                # the attempt is settled, so the board bounds how often this happens
                # and the log has seen it
                crashes = 0
                await self._after_crash(seat, crash.__cause__ or crash, traceback=False)
            except Exception as error:  # noqa: BLE001 - the supervisor is what crashes end at
                crashes = 1 if cycle.attempts else crashes + 1
                await self._after_crash(seat, error)
                self._look_for_doom(seat, error)
                if crashes <= MAX_CRASHES:
                    wait_s = min(2.0 ** (crashes - 1), _MAX_BACK_OFF_S)
                    await state.pulse.wait_until(lambda: bool(state.over or state.doom), wait_s)
                if crashes > MAX_CRASHES or state.doom is not None:
                    return "given_up"

    def _sit_down(self, seat: Seat) -> Cycle:
        state = self._state
        seat.teammate = new_teammate(state, seat.member, seat.inbox)
        state.note(seat, "idle")
        state.journal.emit(
            "teammate.spawned",
            teammate=seat.member.name,
            role=seat.member.role,
            agent=seat.member.agent,
            reason=seat.member.renamed,
        )
        cycle = Cycle(state, seat, self._on_limit)
        self._cycles[seat.member.name] = cycle
        return cycle

    async def _after_crash(
        self, seat: Seat, error: BaseException, *, traceback: bool = True
    ) -> None:
        """Tell it, with its traceback the first time, and give back what was held."""
        name, said = seat.member.name, in_one_line(error)
        shown = error if traceback and said not in self._logged else None
        self._logged.add(said)
        get_logger(__name__).error("teammate_crashed", teammate=name, error=said, exc_info=shown)
        self._state.journal.emit("teammate.crashed", teammate=name, error=said)
        await give_back(self._state, seat, f"{name} crashed: {said}")

    def _look_for_doom(self, seat: Seat, error: Exception) -> None:
        """When all crash alike before they get anything done, more of it helps nobody."""
        state = self._state
        self._crashes.note(seat.member.name, error, achieved=len(state.usages))
        state.doom = state.doom or self._crashes.doom([one.member.name for one in state.live_seats])
        if state.doom is not None:
            state.tell(f"every teammate crashed: {state.doom}")
            state.pulse.beat()

    async def _fill_up(self, group: TaskGroup) -> None:
        """Spawn again while claimable work waits and seats are empty."""
        state = self._state
        while True:
            seen = state.pulse.version
            empty = [seat for seat in state.seats if not seat.live and not seat.dismissed]
            if empty and state.live_seats and state.claims:
                try:
                    await self._fill_one(group, empty)
                except Exception:  # noqa: BLE001 - those who are left go on without company
                    get_logger(__name__).exception("seat_not_filled")
            tick = state.settings.limits.poll_interval_s if empty else None
            await state.pulse.wait(seen, tick)

    async def _fill_one(self, group: TaskGroup, empty: list[Seat]) -> None:
        look = await self._state.look()
        for seat in empty:
            if await self._is_needed(seat, look):
                self._spawn(group, seat)
                return

    async def _is_needed(self, seat: Seat, look: Look) -> bool:
        """Whether it could claim something that nobody who is idle could claim."""
        state = self._state
        claimant = seat.teammate.claimant
        idle = [one.teammate.claimant for one in state.live_seats if not one.busy]
        offers = [
            task
            for task in state.offers(look, claimant)
            if all(unfit(task, one, None, state.only) is not None for one in idle)
        ]
        return bool(offers) and await state.admits_one(claimant, offers)


def new_seat(state: RunState, member: Member) -> Seat:
    """An empty seat with its inbox. Raises: UnsafeName."""
    inbox = Inbox(
        state.layout, member.name, run=state.run, clock=state.clock, journal=state.journal
    )
    return Seat(member=member, inbox=inbox, teammate=new_teammate(state, member, inbox))


def new_teammate(state: RunState, member: Member, inbox: Inbox) -> Teammate:
    return Teammate(
        name=member.name,
        role=member.role,
        agent=member.agent,
        team=state.settings.team,
        run=state.run,
        board=state.board,
        clock=state.clock,
        journal=state.journal,
        processes=state.processes,
        post=inbox,
        asked_to_stop=lambda: state.stopping,
        bell=state.pulse,
        tick_s=state.settings.limits.poll_interval_s,
        refuses_for=state.refusals.refuses_for,
        only=state.only,
        progress=Progress(since=state.clock.monotonic()),
    )
