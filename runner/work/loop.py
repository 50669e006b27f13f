"""The turn loop: ask the model, run its calls, until the attempt has its outcome."""

from __future__ import annotations

import json
from dataclasses import replace

from runner.errors import (
    ContextOverflow,
    ModelError,
    ModelRejected,
    ModelUnavailable,
)
from runner.team.outcome import Done, Failed, Faulted, HandedBack, LimitReached, Lost, Outcome
from runner.work.attempt import Attempt
from runner.work.awaiting import next_ended
from runner.work.calls import Answered, answer_calls, remind
from runner.work.histories.compaction import NoRoom, make_room, make_room_after
from runner.work.ledger import BudgetReached
from runner.work.messages import ModelReply, ModelRequest
from runner.work.prompt import reminder
from runner.work.records.resume import judge_again
from runner.work.repeats import FAIL_AT, NUDGE
from runner.work.tools.talk import SEND_MESSAGE


async def run_attempt(attempt: Attempt, timeout_s: float) -> Outcome:
    """Work until there is an outcome; it carries what was used. The time is limited."""
    outcome: Outcome = LimitReached(limit="timeout", error=f"not finished after {timeout_s:g} s")
    with attempt.means.deadline.begin(timeout_s):
        outcome = await run_with_children(attempt)
    return replace(outcome, usage=attempt.usage())


async def run_with_children(attempt: Attempt) -> Outcome:
    """Work within the time of whoever limits it; subagents that still run at the end are ended."""
    attempt.started = attempt.means.teammate.clock.monotonic()
    async with attempt.means.children:
        outcome = await run_turns(attempt)
    return replace(outcome, usage=attempt.usage())


async def run_turns(attempt: Attempt) -> Outcome:
    """The turns of an attempt, a message turn or a subagent, from top to bottom."""
    if attempt.handed_in is not None:
        await judge_again(attempt, attempt.handed_in)
    if attempt.ended is not None:
        return attempt.ended

    while True:
        # the claim may be gone, a stop asked for, a limit reached
        if (barred := await _barred(attempt)) is not None:
            return barred

        # what arrived meanwhile joins the user turn, behind the results of the last calls
        await attempt.tell_arrivals()

        reply = await _ask(attempt)
        if not isinstance(reply, ModelReply):
            return reply
        attempt.force_call = False

        # every call gets its one result, in order; a submitted result is judged here too
        answered = await answer_calls(attempt, reply)
        _note_answers(attempt, answered)
        if attempt.ended is not None:
            return attempt.ended

        # no call is a stop, whatever that means here; calls may go round in circles
        if not reply.calls and not attempt.cut_replies:
            await _stop(attempt)
        elif answered:
            await _watch_circles(attempt, answered)
        if attempt.ended is not None:
            return attempt.ended


async def _barred(attempt: Attempt) -> Outcome | None:
    """Why no further turn may start."""
    teammate, task = attempt.means.teammate, attempt.means.task
    if teammate.stopping:
        return HandedBack(reason="stopped")
    if task is not None and not await teammate.board.holds(task.fence):
        return Lost(found="the claim is gone")
    if attempt.turn >= attempt.means.max_turns:
        return LimitReached(limit="max_turns", error=f"{attempt.turn} turns without a result")
    return None


async def _ask(attempt: Attempt) -> ModelReply | Outcome:
    """One reply, or what its failure means for the attempt."""
    means = attempt.means
    try:
        await make_room(attempt)
        request = attempt.request()
        try:
            return await _reply(attempt, request)
        except ContextOverflow as error:
            await make_room_after(attempt, request, error)
            return await _reply(attempt, attempt.request())
    except BudgetReached as error:
        return LimitReached(limit="budget", error=str(error))
    except (ContextOverflow, NoRoom) as error:
        return Failed(error=means.redact(str(error)))
    except ModelUnavailable as error:
        return HandedBack(reason=means.redact(str(error)))
    except ModelRejected as error:
        text = means.redact(str(error))
        if error.is_about_account:
            return HandedBack(reason=text, stop_claiming=True)
        return Failed(error=text)
    except ModelError as error:
        return Faulted(error=means.redact(str(error)))


async def _reply(attempt: Attempt, request: ModelRequest) -> ModelReply:
    """Raises: BudgetReached, ModelError."""
    with attempt.means.teammate.progress.hearing() as heard:
        reply = await attempt.means.ask(replace(request, on_text=heard))
    attempt.room.note(request, reply.input_tokens)
    return reply


async def _stop(attempt: Attempt) -> None:
    """Wait for the next subagent, else end the message turn, else remind of the open task."""
    if await next_ended(attempt):
        return
    if attempt.means.contract is None:
        attempt.ended = Done()
    elif (text := remind(attempt)) is not None:
        await attempt.tell(reminder(text))


def _note_answers(attempt: Attempt, answered: Answered) -> None:
    """Whoever was written to has an answer to what came from there."""
    for call, result in answered:
        if call.name == SEND_MESSAGE.spec.name and not result.is_error:
            attempt.written_to((call.arguments or {}).get("to"))


async def _watch_circles(attempt: Attempt, answered: Answered) -> None:
    """The same calls with the same results: a nudge first, then the end."""
    circle = attempt.repeats.note(
        tuple(
            (call.name, json.dumps(call.arguments, sort_keys=True), result.text)
            for call, result in answered
        )
    )
    if circle == "nudge":
        await attempt.tell(reminder(NUDGE))
    elif circle == "fail":
        names = ", ".join(dict.fromkeys(call.name for call, _ in answered))
        attempt.ended = LimitReached(
            limit="repeated_calls",
            error=f"the same calls ({names}) with the same results {FAIL_AT} times in a row",
        )
