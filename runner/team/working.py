"""One assignment being worked on: it can be cut short, and always ends in one outcome."""

from __future__ import annotations

from dataclasses import replace

import anyio

from runner.board.task import Fence, Task
from runner.core.log import get_logger
from runner.errors import BoardBusy, BoardError, ClaimLost
from runner.team.outcome import (
    Done,
    Failed,
    Faulted,
    HandedBack,
    LimitReached,
    Lost,
    Outcome,
)
from runner.team.state import RunState, Seat
from runner.team.types import Assignment

_SAVE_TRIES = 3
_SAVE_PAUSE_S = 1.0


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
        async with anyio.create_task_group() as group:
            self._scope = group.cancel_scope
            if isinstance(self._assignment, Task):
                group.start_soon(self._watch_claim, self._assignment.fence)
            outcome = await self._call()
            group.cancel_scope.cancel()
        if self._cut is not None:
            # a work that swallows its cancellation must not complete the task by that
            return replace(self._cut, usage=outcome.usage) if outcome is not None else self._cut
        if outcome is None:
            raise AssertionError("unreachable: only a cut ends the group without an outcome")
        return outcome

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
            return Faulted(error=f"{type(error).__name__}: {error}")

    async def _watch_claim(self, fence: Fence) -> None:
        """A claim that is gone ends the attempt and its tools, also in a long tool call."""
        while True:
            await self._state.clock.sleep(self._state.settings.limits.poll_interval_s)
            try:
                held = await self._state.board.holds(fence)
            except (OSError, BoardError) as error:
                # a look that failed tells nothing about the claim, and the next one is near
                get_logger(__name__).warning("claim_not_seen", task=fence.key, error=str(error))
                continue
            if not held:
                self.cut(Lost(found="somebody changed the task"))


async def settle(state: RunState, seat: Seat, task: Task, outcome: Outcome) -> None:
    """Write the outcome into the task, exactly one verb of the board for each kind.

    Not interrupted by a cancellation. Raises: BoardBusy, SaveFailed (then the claim still stands
    and is returned by a later look).
    """
    with state.shielded():
        try:
            await _patiently(state, seat, task, outcome)
        except ClaimLost as error:
            seat.teammate.emit("task.lost", task, found=error.found)


async def _patiently(state: RunState, seat: Seat, task: Task, outcome: Outcome) -> None:
    for _ in range(_SAVE_TRIES - 1):
        try:
            return await _write(state, seat, task, outcome)
        except BoardBusy:
            if state.hurried:
                raise
            await state.clock.sleep(_SAVE_PAUSE_S)
    return await _write(state, seat, task, outcome)


async def _write(state: RunState, seat: Seat, task: Task, outcome: Outcome) -> None:
    board, fence, usage = state.board, task.fence, outcome.usage.to_json()
    match outcome:
        case Done(result=result):
            await board.complete(fence, result=result, usage=usage)
        case Failed(error=error, result=result):
            await board.fail(fence, error=error, result=result, usage=usage)
        case LimitReached(limit="budget", error=error):
            await board.release(fence, reason=error, usage=usage)
        case LimitReached(error=error):
            await board.fail(fence, error=error, usage=usage)
        case Faulted(error=error):
            await board.release(fence, reason=error, fault=True, usage=usage)
        case HandedBack(reason=reason):
            state.set_aside(await board.release(fence, reason=reason, usage=usage), reason)
        case _:
            seat.teammate.emit("task.lost", task, found=outcome.found)


async def give_back(state: RunState, seat: Seat, reason: str) -> None:
    """Return whatever this teammate still holds: it has ended, however it went."""
    mate = seat.teammate
    held, mate.task, mate.next_task = (mate.task, mate.next_task), None, None
    with state.shielded():
        for task in held:
            if task is None:
                continue
            try:
                await state.board.release(task.fence, reason=reason)
            except BoardError as error:
                get_logger(__name__).warning("claim_not_returned", task=task.id, error=str(error))
