"""One assignment being worked on: it can be cut short, and always ends in one outcome."""

from __future__ import annotations

from dataclasses import replace

import anyio

from runner.board.task import Fence, Task
from runner.core.failures import in_one_line
from runner.core.log import get_logger
from runner.errors import BoardError, ClaimLost
from runner.team.outcome import (
    Done,
    Failed,
    Faulted,
    HandedBack,
    LimitReached,
    Lost,
    Outcome,
    Usage,
)
from runner.team.seat import Seat
from runner.team.state import RunState
from runner.team.types import Assignment

_SAVE_PAUSE_S = 0.5
_MAX_SAVE_PAUSE_S = 10.0
_MAX_TRIES_WITHOUT_BOARD = 8
_ROUNDING_S = 1e-6


class Working:
    """`run` once, then `settle` if it was a task. `crash` is what came out of the work, if so."""

    def __init__(self, state: RunState, seat: Seat, assignment: Assignment) -> None:
        self.crash: Exception | None = None
        self._state = state
        self._seat = seat
        self._assignment = assignment
        self._scope = anyio.CancelScope()
        self._cut: HandedBack | Lost | None = None

    def cut(self, outcome: HandedBack | Lost) -> None:
        """End it now with this outcome, whatever the work makes of the cancellation."""
        self._cut = self._cut or outcome
        self._scope.cancel()

    async def run(self) -> Outcome:
        """Work until there is an outcome. An exception of the work is a fault of the attempt."""
        outcome: Outcome | None = None
        started = self._state.clock.monotonic()
        async with anyio.create_task_group() as group:
            self._scope = group.cancel_scope
            if isinstance(self._assignment, Task):
                group.start_soon(self._watch_claim, self._assignment.fence)
            outcome = await self._call()
            group.cancel_scope.cancel()
        if self._cut is not None:
            # a work that swallows its cancellation must not complete the task by that
            usage = outcome.usage if outcome is not None else self._spent(started)
            return replace(self._cut, usage=usage)
        if outcome is None:
            raise AssertionError("unreachable: only a cut ends the group without an outcome")
        return self._without_blame(outcome)

    def _without_blame(self, outcome: Outcome) -> Outcome:
        """No task fails because the workspace was removed under it, as a git worktree may be."""
        workspace = self._state.layout.workspace
        if isinstance(outcome, Done | Lost) or workspace.is_dir():
            return outcome
        reason = f"the workspace {workspace} is gone"
        return HandedBack(reason=reason, stop_claiming=True, usage=outcome.usage)

    def _spent(self, started: float) -> Usage:
        """What a work that was cut short has used, as far as it is known."""
        spent = self._seat.teammate.progress.spent
        usage = spent() if spent is not None else Usage()
        return replace(usage, seconds=self._state.clock.monotonic() - started)

    async def _call(self) -> Outcome:
        try:
            return await self._state.work(self._assignment, self._seat.teammate)
        except ClaimLost as error:
            return Lost(found=error.found)
        except Exception as error:  # noqa: BLE001 - whatever comes out of a work costs one attempt
            self.crash = error
            get_logger(__name__).exception(
                "work_crashed", teammate=self._seat.member.name, task=self._seat.member.task
            )
            return Faulted(error=in_one_line(error))

    async def _watch_claim(self, fence: Fence) -> None:
        """A claim that is gone ends the attempt and its tools, also in a long tool call.

        One that went by accident is put back as soon as that is told, before another run takes the
        task. A file may also be on its way then, so what is lost is judged at the ticks only.
        """
        state, seat, clock = self._state, self._seat, self._state.clock
        tick_s = state.settings.limits.poll_interval_s
        due = clock.monotonic() + tick_s
        while True:
            await state.pulse.wait_until(lambda: seat.disturbed, due - clock.monotonic())
            seat.disturbed = False
            is_tick = clock.monotonic() >= due - _ROUNDING_S
            if is_tick:
                due = clock.monotonic() + tick_s
            try:
                held = await state.board.holds(fence)
            except (OSError, BoardError) as error:
                # a look that failed tells nothing about the claim, and the next one is near
                get_logger(__name__).warning("claim_not_seen", task=fence.key, error=str(error))
                continue
            if is_tick and not held:
                self.cut(Lost(found="somebody changed the task"))


async def settle(state: RunState, seat: Seat, task: Task, outcome: Outcome) -> None:
    """Write the outcome into the task, exactly one verb of the board for each kind.

    Not interrupted by a cancellation. A board that is busy or a file that cannot be written is
    tried again for an idle timeout, since what is finished should not be done a second time; then
    it is given up, and stale when the run has ended.
    Raises: OSError, when the whole board could not be looked at for half a minute.
    """
    with state.writes.shielded():
        try:
            found = await _patiently(state, seat, task, outcome)
        except ClaimLost as error:
            found = error.found
        if found is not None:
            seat.teammate.emit("task.lost", task, found=found)


async def _patiently(state: RunState, seat: Seat, task: Task, outcome: Outcome) -> str | None:
    """Why it is given up; None when it is written, or the end of the run comes first."""
    pause_s, without_board = _SAVE_PAUSE_S, 0
    clock = state.clock
    end = clock.monotonic() + state.settings.limits.idle_timeout_s
    while True:
        try:
            await _write(state, seat, task, outcome)
        except ClaimLost:
            raise
        except (BoardError, OSError) as error:
            state.trouble("result_not_saved", error, task=task)
            if state.writes.hurried:
                # stale as soon as this process is gone
                return None
            without_board += isinstance(error, OSError)
            if without_board == _MAX_TRIES_WITHOUT_BOARD:
                raise
            if clock.monotonic() >= end:
                return state.give_up(task, error)
        else:
            return None
        left_s = end - clock.monotonic()
        await state.pulse.wait_until(lambda: state.writes.hurried, min(pause_s, left_s))
        pause_s = min(pause_s * 2, _MAX_SAVE_PAUSE_S)


async def _write(state: RunState, seat: Seat, task: Task, outcome: Outcome) -> None:
    board, fence, usage = state.board, task.fence, outcome.usage.to_json()
    match outcome:
        case Done(result=result, has_result=given):
            await board.complete(fence, result=result, has_result=given, usage=usage)
        case Failed(error=error, result=result):
            await board.fail(fence, error=error, result=result, usage=usage)
        case LimitReached(limit="budget", error=error):
            await board.release(fence, reason=error, usage=usage)
        case LimitReached(error=error):
            await board.fail(fence, error=error, usage=usage)
        case Faulted(error=error):
            await board.release(fence, reason=error, fault=True, usage=usage)
        case HandedBack(reason=reason):
            reason = state.cause or reason
            state.refusals.set_aside(await board.release(fence, reason=reason, usage=usage), reason)
        case _:
            seat.teammate.emit("task.lost", task, found=outcome.found)


async def give_back(state: RunState, seat: Seat, reason: str) -> None:
    """Return whatever this teammate still holds: it has ended, however it went."""
    mate = seat.teammate
    held, mate.task, mate.next_task = (mate.task, mate.next_task), None, None
    with state.writes.shielded():
        for task in held:
            if task is None:
                continue
            try:
                await state.board.release(task.fence, reason=reason)
            except (BoardError, OSError) as error:
                state.trouble("claim_not_returned", error, task=task)
