"""The `command` engine: a task with `run` is a plain command, no model and no history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.core.settings import Limits
from runner.errors import ToolError
from runner.team.outcome import Done, Failed, LimitReached, Outcome, Usage
from runner.work.processes.commands import CommandResult, run_command
from runner.work.processes.mark import Mark
from runner.work.processes.verify import verify_task

if TYPE_CHECKING:
    from runner.board.task import Task
    from runner.team.types import Teammate
    from runner.work.checkout import Checkout

_OUTPUT_IN_ERROR = 400  # characters


async def run_command_task(
    task: Task, teammate: Teammate, workspace: Path, limits: Limits, checkout: Checkout
) -> Outcome:
    """Run the command of a claimed task, then its `verify` commands.

    Cancelling the call kills what runs; the caller hands the task back.
    """
    mark = Mark()
    try:
        return await _attempt(task, teammate, workspace, limits, checkout, mark)
    finally:
        await mark.wipe()


async def _attempt(
    task: Task,
    teammate: Teammate,
    workspace: Path,
    limits: Limits,
    checkout: Checkout,
    mark: Mark,
) -> Outcome:
    timeout_s = task.timeout_s or limits.timeout_s
    try:
        ran = await _run(task, teammate, workspace, checkout, timeout_s, mark)
    except ToolError as error:
        return Failed(error=str(error))
    usage = Usage(tool_calls=1, seconds=ran.seconds)
    if ran.timed_out:
        late = f"the command was not finished after {timeout_s:g} s{_end(ran)}"
        return LimitReached(limit="timeout", error=late, usage=usage)
    result = {"exit": ran.exit, "seconds": round(ran.seconds, 3), "output": ran.output}
    if ran.exit != 0:
        return Failed(error=f"exit {ran.exit}{_end(ran)}", result=result, usage=usage)
    teammate.emit("task.reported", task)
    if task.verify:
        verified = await verify_task(
            task, teammate, workspace, checkout, timeout_s=limits.verify_timeout_s, mark=mark
        )
        if not verified.ok:
            return Failed(error=verified.report, result=result, usage=usage)
    return Done(result=result, has_result=True, usage=usage)


async def _run(
    task: Task,
    teammate: Teammate,
    workspace: Path,
    checkout: Checkout,
    timeout_s: float,
    mark: Mark,
) -> CommandResult:
    if task.run is None:
        raise AssertionError("unreachable: only tasks with `run` come here")
    with checkout.writing(teammate.name), teammate.progress.using("run"):
        return await run_command(
            task.run,
            cwd=workspace,
            timeout_s=timeout_s,
            processes=teammate.processes,
            mark=mark,
            clock=teammate.clock,
        )


def _end(ran: CommandResult) -> str:
    """The last line or so of the output, so that a report says what went wrong."""
    tail = ran.output.strip()[-_OUTPUT_IN_ERROR:]
    return f": {tail}" if tail else ""
