"""Verify commands for a task that a person reports as done."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import anyio

from runner.core.clock import SystemClock
from runner.team.guardian import GuardedGroups
from runner.work.verify import VerifyResult, run_verify


def verify(commands: Sequence[str], workspace: Path, *, timeout_s: float) -> VerifyResult:
    """Run the commands in `workspace`; a command of ours never outlives us."""
    # a guardian wants the descriptor of a run lock; there is no run, so it gets a harmless one
    descriptor = os.open(os.devnull, os.O_RDONLY)
    processes = GuardedGroups(descriptor)

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
        os.close(descriptor)
