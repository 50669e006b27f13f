"""Verify commands for a task that a person reports as done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio

from runner.core.clock import SystemClock
from runner.team.guardian import GuardedGroups
from runner.work.processes.verify import VerifyResult, run_verify


def verify(commands: Sequence[str], workspace: Path, *, timeout_s: float) -> VerifyResult:
    """Run the commands in `workspace`; a command of ours never outlives us."""
    processes = GuardedGroups(None)

    async def run() -> VerifyResult:
        return await run_verify(
            commands,
            workspace,
            timeout_s=timeout_s,
            processes=processes,
            clock=SystemClock(),
        )

    try:
        return anyio.run(run)
    finally:
        processes.close()
