"""Making the report of a run that ends."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import anyio
import anyio.to_thread

from runner.core.ids import Key
from runner.team.last_writes import LAST_WRITE_S
from runner.team.report import Report, TeammateRow, judge
from runner.team.seat import Seat
from runner.team.state import RunState


async def report_of(
    state: RunState,
    started: datetime,
    *,
    agents: Mapping[Key, str],
    signal: int | None,
    limit: str | None,
) -> Report:
    """Look at the board once more, close the inboxes, and say what came of everything.

    `agents` has the agent that a task was resolved to. Raises: OSError.
    """
    look = await state.look()
    if state.no_more_claims is not None:
        state.tell(f"claiming was stopped: {state.no_more_claims}")
    # whoever holds the lock of an inbox for longer is stopped, and the run has to end
    with anyio.move_on_after(LAST_WRITE_S):
        await anyio.to_thread.run_sync(_close_inboxes, state)
    return Report(
        run=state.run,
        team=state.settings.team,
        started=started,
        finished=state.clock.now(),
        tasks=judge(
            look.snapshot,
            await state.outlook(look, final=True),
            only=state.only,
            agents=agents,
            left=_why_left(state),
        ),
        teammates=tuple(map(_row, state.seats)),
        usages=tuple(state.usages),
        message_turns=state.message_turns,
        signal=signal,
        limit=limit,
        notes=tuple(state.notes),
    )


def _row(seat: Seat) -> TeammateRow:
    return TeammateRow(
        name=seat.member.name,
        role=seat.member.role,
        agent=seat.member.agent,
        status=seat.member.status,
        tasks=tuple(seat.worked),
    )


def _close_inboxes(state: RunState) -> None:
    """Nobody reads any more: what was asked too late is answered, what stays unread is said."""
    for seat in state.seats:
        unread = seat.inbox.close()
        if unread:
            some = "1 message" if unread == 1 else f"{unread} messages"
            state.tell(f"{some} for {seat.member.name} stayed unread")


def _why_left(state: RunState) -> str:
    if state.doom is not None:
        return f"not done: every teammate crashed: {state.doom}"
    if state.no_more_claims is not None:
        return f"not done: claiming was stopped: {state.no_more_claims}"
    if state.cause is not None:
        return f"not done: {state.cause}"
    if state.stopping:
        return "not done: the run was stopped before"
    return "not done: the run ended before"
