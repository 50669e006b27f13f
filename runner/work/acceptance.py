"""Taking in a result: the contract first, then the task's own acceptance commands."""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread

from runner.team.outcome import Done, Failed
from runner.work.attempt import Attempt, Means
from runner.work.awaiting import all_ended
from runner.work.messages import ToolCall, ToolResult
from runner.work.processes.verify import VerifyResult, verify_task
from runner.work.records.findings import findings_in
from runner.work.results.contract import Declared, Refused, ResultContract, Submitted
from runner.work.results.findings import Finding
from runner.work.tools.finding import REPORT_FINDING

MAX_FAILED_CHECKS = 3
ACCEPTED = "The result was accepted."
NOT_YET = "The result was not looked at yet. {} Then submit again."


async def submit(
    attempt: Attempt, call: ToolCall, contract: ResultContract, misfit: Sequence[str] = ()
) -> ToolResult:
    """Judge one `submit_result` call; a result that stands the checks ends the attempt.

    `misfit` says what was in it that is no JSON at all. It is not looked at before the agent knows
    what its subagents have found.
    """
    if news := await all_ended(attempt):
        return attempt.result(call, NOT_YET.format(news), is_error=True)
    verdict = (
        contract.refuse(misfit)
        if misfit
        else contract.judge(call.arguments or {}, await _reported(attempt.means))
    )
    if isinstance(verdict, Refused):
        if contract.exhausted:
            attempt.ended = Failed(error=verdict.reason)
        return attempt.result(call, verdict.reason, is_error=True)
    if isinstance(verdict, Declared):
        attempt.ended = Failed(error=attempt.means.redact(verdict.error))
        return attempt.result(call, "The task is given up, with your reason.")
    attempt.warnings = verdict.warnings
    failure = None
    if attempt.means.subagent is None:  # the task is its starter's to report and to verify
        attempt.means.emit("task.reported", warnings=list(attempt.warnings))
        failure = await _failed_check(attempt)
    if failure is None:
        attempt.ended = Done(result=verdict.data, has_result=True)
        return attempt.result(call, ACCEPTED)
    return _refused_by_check(attempt, call, verdict, failure)


async def _reported(means: Means) -> list[Finding]:
    """What the agent has reported with a tool, if it has that one."""
    if REPORT_FINDING.spec.name not in means.toolbox.tools:
        return []
    path, root = means.transcript.path, means.workspace.root
    return await anyio.to_thread.run_sync(findings_in, path, root)


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
    """The acceptance command that failed, or None."""
    means = attempt.means
    if means.task is None or not means.task.verify:
        return None
    result = await verify_task(
        means.task,
        means.teammate,
        means.workspace.root,
        means.checkout,
        timeout_s=means.verify_timeout_s,
        mark=means.leftovers.mark,
    )
    return None if result.ok else result
