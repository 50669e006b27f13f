"""Answering the calls of a turn: each gets exactly one result, whatever happens."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import anyio

from runner.core.failures import innermost
from runner.core.log import get_logger
from runner.errors import ToolError
from runner.team.outcome import Done, Failed
from runner.work.acceptance import submit
from runner.work.attempt import Attempt
from runner.work.awaiting import next_ended
from runner.work.histories.history import INTERRUPTED
from runner.work.histories.turns import result_as_json
from runner.work.json_values import misfits
from runner.work.messages import ModelReply, ToolCall, ToolResult
from runner.work.prompt import reminder
from runner.work.redact import redacting
from runner.work.results.contract import IDLE, NO_SUBMIT, SUBMIT
from runner.work.results.shape import shortened
from runner.work.tools.base import Toolbox

Answered = list[tuple[ToolCall, ToolResult]]
MAX_CUT_REPLIES = 3
AT_ONCE = 8  # calls of one turn; searches take processors from everybody
CUT = (
    "Your output was cut off at the token limit, so it was not used. Send less at once: "
    "write a long file in several parts, for example."
)
TOO_DEEP = "they are nested too deeply"
_LONGEST_REFUSAL = 1_000  # characters
NOT_RUN = "not run: the attempt had already ended with a call before this one"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A call as it stands in the history, and what speaks against running it."""

    call: ToolCall
    problem: str | None
    misfit: tuple[str, ...]


async def answer_calls(attempt: Attempt, reply: ModelReply) -> Answered:
    """Record the reply and run its calls; the results join the next user turn in their order.

    Neighbours that only look run side by side, all others one after the other. A refusal of the
    model ends the attempt, and so does a key that a subagent found refused.
    """
    calls = await attempt.hear(reply)
    attempt.ended = attempt.ended or attempt.means.children.barred or _refusal(attempt, reply)
    asked = [
        _Asked(
            call=call,
            problem=_unreadable(given, cut_off=reply.stop == "length" and call is calls[-1]),
            misfit=tuple(misfits(given.arguments)),
        )
        for given, call in zip(reply.calls, calls, strict=True)
    ]
    answered: Answered = []
    for _, together in groupby(asked, partial(_company, attempt.means.toolbox)):
        batch = list(together)
        results = await _answer_all(attempt, batch)
        attempt.history.tell("", results)
        answered += zip((one.call for one in batch), results, strict=True)
    attempt.ended = attempt.ended or attempt.means.children.barred
    cut = any(one.problem for one in asked) or (reply.stop == "length" and not calls)
    attempt.cut_replies = attempt.cut_replies + 1 if cut else 0
    if cut and attempt.ended is None:
        await _tell_cut(attempt, bool(calls))
    return answered


def _refusal(attempt: Attempt, reply: ModelReply) -> Failed | None:
    """A model that will not go on is not asked again and again."""
    if reply.stop != "refusal":
        return None
    said = shortened(attempt.means.redact(reply.text), _LONGEST_REFUSAL)
    return Failed(error=f"the model refused: {said}" if said else "the model refused to answer")


def _company(toolbox: Toolbox, asked: _Asked) -> Hashable:
    """Neighbours of the same company may run at the same time."""
    tool = toolbox.tools.get(asked.call.name)
    if tool is None or not tool.read_only:
        return asked.call.id
    return tool.limited  # subagents may write, so nothing else runs beside them


async def _answer_all(attempt: Attempt, batch: Sequence[_Asked]) -> list[ToolResult]:
    """The results of calls that run at the same time; each is recorded before any of them."""
    results: dict[str, ToolResult] = {}
    places = anyio.Semaphore(AT_ONCE)

    async def answer(asked: _Asked) -> None:
        async with places:
            results[asked.call.id] = await _answer(attempt, asked)

    for asked in batch:
        call = asked.call
        await attempt.means.transcript.write(
            "call", id=call.id, name=call.name, arguments=call.arguments
        )
    try:
        async with anyio.create_task_group() as group:
            for asked in batch:
                group.start_soon(answer, asked)
    except ExceptionGroup as errors:
        raise innermost(errors) from errors
    return [results[asked.call.id] for asked in batch]


async def _tell_cut(attempt: Attempt, told: bool) -> None:
    if attempt.cut_replies >= MAX_CUT_REPLIES:
        attempt.ended = Failed(
            error=f"the model's output was cut off or unreadable {MAX_CUT_REPLIES} times in a row"
        )
    elif not told:
        await attempt.tell(reminder(CUT))


def _unreadable(asked: ToolCall, *, cut_off: bool) -> str | None:
    """What to tell about a call that must not run because it is not what the model meant."""
    if cut_off:
        return CUT
    if asked.arguments is not None or not asked.raw.strip():
        return None
    try:
        value = json.loads(asked.raw)
    except json.JSONDecodeError as error:
        if error.pos >= len(asked.raw.rstrip()) or error.msg.startswith("Unterminated"):
            return CUT
        problem = str(error)
    except RecursionError:
        problem = TOO_DEEP
    except ValueError:
        problem = "a number in them has thousands of digits"
    else:
        problem = TOO_DEEP if isinstance(value, dict) else "they are no JSON object"
    return f"The arguments of this call are broken ({problem}), so it did not run. Send it again."


async def _answer(attempt: Attempt, asked: _Asked) -> ToolResult:
    """The one result of one call, written down when it is there."""
    means, call = attempt.means, asked.call
    started = means.teammate.clock.monotonic()
    attempt.tool_calls += 1
    if asked.problem is not None:
        result = attempt.result(call, asked.problem, is_error=True)
    elif attempt.ended is not None:
        result = attempt.result(call, NOT_RUN, is_error=True)
    elif call.name == SUBMIT and means.contract is not None:
        result = await submit(attempt, call, means.contract, asked.misfit)
    elif asked.misfit:
        result = attempt.result(call, f"{call.name}: {'; '.join(asked.misfit)}", is_error=True)
    elif call.name == IDLE:
        result = await _idle(attempt, call)
    else:
        result = await _run_tool(attempt, call)
    seconds = round(means.teammate.clock.monotonic() - started, 3)
    await means.transcript.write("result", seconds=seconds, **result_as_json(result))
    means.emit("tool.ended", tool=call.name, error=result.is_error, seconds=seconds)
    return result


async def _idle(attempt: Attempt, call: ToolCall) -> ToolResult:
    """Without an open task the turn ends; with one it is a stop without a result."""
    if news := await next_ended(attempt):
        return attempt.result(call, news)
    if attempt.means.contract is None:
        attempt.ended = Done()
        return attempt.result(call, "ok")
    if text := remind(attempt):
        return attempt.result(call, text, is_error=True)
    return attempt.result(call, NO_SUBMIT, is_error=True)


def remind(attempt: Attempt) -> str | None:
    """The next reminder of the open task; None when there was one too many, which ends it."""
    contract = attempt.means.contract
    text = contract.remind() if contract else None
    attempt.force_call = text is not None
    if text is None:
        attempt.ended = Failed(error=NO_SUBMIT)
    return text


async def _run_tool(attempt: Attempt, call: ToolCall) -> ToolResult:
    """Run a tool of the agent. Whatever it raises becomes an error result."""
    means = attempt.means
    tool = means.toolbox.tools.get(call.name)
    text, is_error = INTERRUPTED, True
    try:
        with ExitStack() as stack:
            stack.enter_context(redacting(means.redact))
            stack.enter_context(means.teammate.progress.using(call.name))
            if tool is not None and not tool.read_only:
                stack.enter_context(means.checkout.writing(means.teammate.name))
            limit_s = means.call_limit_s if tool is None or tool.limited else math.inf
            with anyio.move_on_after(limit_s) as scope:
                text = await means.toolbox.run(call.name, call.arguments or {}, means)
                is_error = False
            if scope.cancelled_caught:
                text = f"{INTERRUPTED}: it took longer than {means.call_limit_s:g} s"
    except ToolError as error:
        text = str(error)
    except Exception as error:  # noqa: BLE001 - a broken tool costs one call, not the attempt
        get_logger(__name__).exception("tool_failed", tool=call.name)
        text = f"{call.name} failed unexpectedly: {type(error).__name__}: {error}"
    return attempt.result(call, text, is_error=is_error)
