"""The `command` engine: a task with `run` is a plain command, no model and no history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from runner.core.settings import Limits
from runner.errors import ToolError
from runner.team.outcome import Done, Failed, LimitReached, Lost, Outcome, Usage
from runner.work.commands import CommandResult, run_command
from runner.work.verify import verify_task

if TYPE_CHECKING:
    from runner.board.task import Task
    from runner.team.types import Teammate

LOST = "the claim is gone; the command was killed"
_OUTPUT_IN_ERROR = 400  # characters


async def run_command_task(
    task: Task,
    teammate: Teammate,
    workspace: Path,
    limits: Limits,
    redact: Callable[[str], str] = str,
) -> Outcome:
    """Run the command of a claimed task, then its `verify` commands.

    A claim that disappears meanwhile kills what runs and ends as Lost. Cancelling the call kills
    it too; the caller hands the task back. `redact` takes keys out of what is written down.
    """
    _warn_of_ignored(task, teammate)
    outcome: Outcome = Lost(found=LOST)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_watch_claim, task, teammate, limits, tasks.cancel_scope)
        outcome = await _attempt(task, teammate, workspace, limits)
        tasks.cancel_scope.cancel()
    return _redacted(outcome, redact)


def _redacted(outcome: Outcome, redact: Callable[[str], str]) -> Outcome:
    """The outcome as it may stand in a file: commands print what they like."""
    if isinstance(outcome, Failed | LimitReached):
        outcome = replace(outcome, error=redact(outcome.error))
    if isinstance(outcome, Failed | Done) and outcome.result is not None:
        result = {**outcome.result, "output": redact(outcome.result["output"])}
        outcome = replace(outcome, result=result)
    return outcome


async def _watch_claim(
    task: Task, teammate: Teammate, limits: Limits, scope: anyio.CancelScope
) -> None:
    while await teammate.board.holds(task.fence):
        await teammate.clock.sleep(limits.poll_interval_s)
    scope.cancel()


async def _attempt(task: Task, teammate: Teammate, workspace: Path, limits: Limits) -> Outcome:
    if task.run is None:
        raise AssertionError("unreachable: only tasks with `run` come here")
    timeout_s = task.timeout_s or limits.timeout_s
    teammate.progress.tool = "run"
    try:
        ran = await run_command(
            task.run,
            cwd=workspace,
            timeout_s=timeout_s,
            processes=teammate.processes,
            clock=teammate.clock,
        )
    except ToolError as error:
        return Failed(error=str(error))
    finally:
        teammate.progress.tool = None
    usage = Usage(tool_calls=1, seconds=ran.seconds)
    if ran.timed_out:
        late = f"the command was not finished after {timeout_s:g} s{_end(ran)}"
        return LimitReached(limit="timeout", error=late, usage=usage)
    result = {"exit": ran.exit, "seconds": round(ran.seconds, 3), "output": ran.output}
    if ran.exit != 0:
        return Failed(error=f"exit {ran.exit}{_end(ran)}", result=result, usage=usage)
    return await _checked(task, teammate, workspace, limits, result, usage)


async def _checked(
    task: Task,
    teammate: Teammate,
    workspace: Path,
    limits: Limits,
    result: dict[str, Any],
    usage: Usage,
) -> Outcome:
    teammate.journal.emit(
        "task.reported", teammate=teammate.name, task=task.id, attempt=task.attempt
    )
    if task.verify:
        verified = await verify_task(task, teammate, workspace, timeout_s=limits.verify_timeout_s)
        if not verified.ok:
            return Failed(error=verified.report, result=result, usage=usage)
    return Done(result=result, usage=usage)


def _end(ran: CommandResult) -> str:
    """The last line or so of the output, so that a report says what went wrong."""
    tail = ran.output.strip()[-_OUTPUT_IN_ERROR:]
    return f": {tail}" if tail else ""


def _warn_of_ignored(task: Task, teammate: Teammate) -> None:
    present = {"agent": task.agent, "schema": task.schema, "plan": task.plan or None}
    ignored = [name for name, value in present.items() if value is not None]
    if ignored:
        message = f"task {task.id} is a command: {', '.join(ignored)} beside run is ignored"
        teammate.journal.emit(
            "board.problem",
            teammate=teammate.name,
            task=task.id,
            attempt=task.attempt,
            severity="warning",
            kind="bad-field",
            file=task.file,
            message=message,
        )
