"""Taking in a result: the contract first, then the task's own acceptance commands."""

from __future__ import annotations

from runner.team.outcome import Done, Failed
from runner.work.attempt import Attempt
from runner.work.messages import ToolCall, ToolResult
from runner.work.result import Declared, Refused, ResultContract, Submitted
from runner.work.verify import VerifyResult

MAX_FAILED_CHECKS = 3
QUIET_WAIT_S = 30.0
ACCEPTED = "The result was accepted."


async def submit(attempt: Attempt, call: ToolCall, contract: ResultContract) -> ToolResult:
    """Judge one `submit_result` call; a result that stands the checks ends the attempt."""
    verdict = contract.judge(call.arguments or {})
    if isinstance(verdict, Refused):
        if contract.exhausted:
            attempt.ended = Failed(error=verdict.reason)
        return attempt.result(call, verdict.reason, is_error=True)
    if isinstance(verdict, Declared):
        attempt.ended = Failed(error=attempt.means.redact(verdict.error))
        return attempt.result(call, "The task is given up, with your reason.")
    attempt.warnings = (verdict.warning,) if verdict.warning else ()
    attempt.means.emit("task.reported", warnings=list(attempt.warnings))
    failure = await _failed_check(attempt)
    if failure is None:
        attempt.ended = Done(result=verdict.data)
        return attempt.result(call, ACCEPTED)
    return _refused_by_check(attempt, call, verdict, failure)


def _refused_by_check(
    attempt: Attempt, call: ToolCall, verdict: Submitted, failure: VerifyResult
) -> ToolResult:
    attempt.failed_checks += 1
    text = (
        f"The result was not accepted ({attempt.failed_checks} of {MAX_FAILED_CHECKS} rounds): "
        f"{failure.report}"
    )
    if attempt.failed_checks >= MAX_FAILED_CHECKS:
        attempt.ended = Failed(error=attempt.means.redact(text), result=verdict.data)
    else:
        text += "\nMend it, then submit again."
    return attempt.result(call, text, is_error=True)


async def _failed_check(attempt: Attempt) -> VerifyResult | None:
    """The acceptance command that failed, or None.

    In a shared checkout others may have been in the middle of a change: a failure while somebody
    else wrote is repeated once when they are quiet, and only the repetition counts.
    """
    means = attempt.means
    if means.task is None or not means.task.verify:
        return None
    who, checkout = means.teammate.name, means.checkout
    before, busy = checkout.mark(who), checkout.others_write(who)
    result = await means.verify()
    disturbed = busy or checkout.others_write(who) or checkout.mark(who) != before
    if not result.ok and disturbed:
        await attempt.means.transcript.write("note", text=f"repeated when quiet: {result.summary}")
        await checkout.quiet(who, at_most_s=QUIET_WAIT_S)
        result = await means.verify()
    return None if result.ok else result
