"""The runner's own check: acceptance commands that must exit 0 before a task counts as done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.errors import ToolError
from runner.work.processes.commands import CommandResult, run_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.board.task import Task
    from runner.core.clock import Clock
    from runner.team.guardian import ProcessGroups
    from runner.team.types import Teammate
    from runner.work.checkout import Checkout
    from runner.work.processes.mark import Mark

OUTPUT_LIMIT = 16_384  # bytes of a failed command's output that are kept: its end
QUIET_WAIT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult:
    """How the check went. `command`, `exit` and `output` are of the first command that failed.

    `command` None means that all passed; `exit` None means that the command was not finished in
    time or could not be started.
    """

    command: str | None = None
    exit: int | None = None
    output: str = ""
    timed_out: bool = False
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.command is None

    @property
    def summary(self) -> str:
        """One line for reports and errors."""
        if self.command is None:
            return "verified"
        if self.timed_out:
            return f"verify did not finish in time: {self.command}"
        ended = "could not be started" if self.exit is None else f"ended with exit {self.exit}"
        return f"verify {ended}: {self.command}"

    @property
    def report(self) -> str:
        """The summary and the end of the output, for who has to mend it."""
        return f"{self.summary}\n{self.output or '(no output)'}"


async def run_verify(
    commands: Sequence[str],
    workspace: Path,
    *,
    timeout_s: float,
    processes: ProcessGroups,
    clock: Clock,
    mark: Mark | None = None,
) -> VerifyResult:
    """Run the commands one after the other, each at most `timeout_s`; stop at the first failure.

    What a command leaves in the background is killed with its end.
    """
    started = clock.monotonic()
    for command in commands:
        try:
            result = await run_command(
                command,
                cwd=workspace,
                timeout_s=timeout_s,
                processes=processes,
                mark=mark,
                output_limit=OUTPUT_LIMIT,
                clock=clock,
            )
        except ToolError as error:
            return VerifyResult(command=command, output=str(error))
        if result.exit != 0:
            return _failure(command, result, clock.monotonic() - started)
    return VerifyResult(seconds=clock.monotonic() - started)


def _failure(command: str, result: CommandResult, seconds: float) -> VerifyResult:
    return VerifyResult(
        command=command,
        exit=result.exit,
        output=result.output,
        timed_out=result.timed_out,
        seconds=seconds,
    )


async def verify_task(
    task: Task,
    teammate: Teammate,
    workspace: Path,
    checkout: Checkout,
    *,
    timeout_s: float,
    mark: Mark,
) -> VerifyResult:
    """Check a task's result in its workspace and put down in the journal how it went.

    In a shared checkout others may have been in the middle of a change: a failure while somebody
    else wrote is repeated once when they are quiet, and only the repetition counts. The journal
    line of the first one names them (`disturbed_by`).
    """
    who = teammate.name
    others, before = checkout.writers(who), checkout.finished(who)

    async def check() -> VerifyResult:
        with teammate.progress.using("verify"):
            return await run_verify(
                task.verify,
                workspace,
                timeout_s=timeout_s,
                processes=teammate.processes,
                clock=teammate.clock,
                mark=mark,
            )

    result = await check()
    others |= checkout.writers(who) | set(checkout.finished(who) - before)
    if others and not result.ok:
        names = sorted(others)
        why = f"does not count and is repeated: {', '.join(names)} worked in the same place"
        _tell(task, teammate, result, disturbed_by=names, reason=why)
        await checkout.quiet(who, at_most_s=QUIET_WAIT_S)
        result = await check()
    _tell(task, teammate, result)
    return result


def _tell(task: Task, teammate: Teammate, result: VerifyResult, **more: Any) -> None:
    """A line in the journal about one check."""
    about = {"commands": len(task.verify), "seconds": round(result.seconds, 3), **more}
    if result.ok:
        teammate.emit("task.verified", task, **about)
    else:
        failure = {"command": result.command, "exit": result.exit, "timed_out": result.timed_out}
        teammate.emit("task.verify_failed", task, **about, **failure)
