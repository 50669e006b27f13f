"""The runner's own check of a result."""

from __future__ import annotations

from pathlib import Path

from runner.core.clock import SystemClock
from runner.team.guardian import ProcessGroups
from runner.work.processes.verify import VerifyResult, run_verify


async def verify(folder: Path, *commands: str, timeout_s: float = 10) -> VerifyResult:
    return await run_verify(
        commands, folder, timeout_s=timeout_s, processes=ProcessGroups(), clock=SystemClock()
    )


async def test_all_commands_run_in_order_in_the_workspace(tmp_path: Path) -> None:
    result = await verify(tmp_path, "echo one >>said", "echo two >>said", "grep -q two said")

    assert result.ok
    assert result.summary == "verified"
    assert (tmp_path / "said").read_text() == "one\ntwo\n"


async def test_nothing_to_verify_is_verified(tmp_path: Path) -> None:
    assert (await verify(tmp_path)).ok


async def test_the_first_failure_ends_the_check_and_is_told(tmp_path: Path) -> None:
    result = await verify(tmp_path, "true", "echo broken >&2; exit 4", "touch never")

    assert not result.ok
    assert (result.command, result.exit) == ("echo broken >&2; exit 4", 4)
    assert result.report == "verify ended with exit 4: echo broken >&2; exit 4\nbroken\n"
    assert not (tmp_path / "never").exists()


async def test_a_failure_without_output_says_so(tmp_path: Path) -> None:
    assert (await verify(tmp_path, "false")).report.endswith("false\n(no output)")


async def test_a_command_that_hangs_is_a_failure(tmp_path: Path) -> None:
    result = await verify(tmp_path, "echo begun; sleep 60", timeout_s=0.2)

    assert result.timed_out
    assert result.report == "verify did not finish in time: echo begun; sleep 60\nbegun\n"


async def test_a_workspace_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    result = await verify(tmp_path / "gone", "true")

    assert not result.ok
    assert result.summary == "verify could not be started: true"
    assert "gone" in result.output
