"""Tasks with `run`: a plain command is the whole attempt."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from runner.board.task import Task
from runner.core.events import read_journal
from runner.core.settings import Limits
from runner.team.outcome import Done, Failed, LimitReached, Outcome
from runner.team.types import Teammate
from runner.testing import make_board
from runner.work.checkout import Checkout
from runner.work.command_engine import run_command_task
from runner.work.redact import redacted
from tests.work.conftest import make_teammate

LIMITS = Limits()


async def claimed(root: Path, run: str | list[str], **fields: Any) -> tuple[Task, Teammate]:
    teammate = make_teammate(make_board(root, [{"run": run, **fields}]))
    task = await teammate.board.claim_next(teammate.claimant)
    assert task is not None
    return task, teammate


async def outcome_of(root: Path, run: str | list[str], **fields: Any) -> Outcome:
    task, teammate = await claimed(root, run, **fields)
    outcome = await run_command_task(task, teammate, root, LIMITS, Checkout())
    assert teammate.processes.groups == frozenset()
    return outcome


def events(root: Path) -> list[dict[str, Any]]:
    return list(read_journal(root / ".team/runs/r1.jsonl"))


async def test_the_result_is_exit_seconds_and_output(tmp_path: Path) -> None:
    outcome = await outcome_of(tmp_path, "echo hello; echo from >&2; pwd")

    assert isinstance(outcome, Done)
    assert outcome.result["exit"] == 0
    assert outcome.result["output"] == f"hello\nfrom\n{tmp_path}\n"
    assert 0 <= outcome.result["seconds"] < 10
    assert outcome.usage.tool_calls == 1


async def test_a_list_is_an_argument_vector(tmp_path: Path) -> None:
    outcome = await outcome_of(tmp_path, ["echo", "$HOME", "a  b"])

    assert isinstance(outcome, Done)
    assert outcome.result["output"] == "$HOME a  b\n"


async def test_the_last_64_kb_of_output_are_kept(tmp_path: Path) -> None:
    outcome = await outcome_of(tmp_path, "seq 100000")

    assert isinstance(outcome, Done)
    assert len(outcome.result["output"]) == 65_536
    assert outcome.result["output"].endswith("99999\n100000\n")


async def test_another_exit_fails_the_task_and_keeps_the_result(tmp_path: Path) -> None:
    outcome = await outcome_of(tmp_path, "echo broken; exit 3", verify="touch verified")

    assert isinstance(outcome, Failed)
    assert outcome.error == "exit 3: broken"
    assert (outcome.result["exit"], outcome.result["output"]) == (3, "broken\n")
    assert not (tmp_path / "verified").exists()


async def test_the_timeout_of_the_task_ends_it(tmp_path: Path) -> None:
    outcome = await outcome_of(tmp_path, "echo begun; sleep 60", timeout=0.2)

    assert isinstance(outcome, LimitReached)
    assert outcome.limit == "timeout"
    assert outcome.error == "the command was not finished after 0.2 s: begun"


async def test_verify_runs_after_the_command(tmp_path: Path) -> None:
    outcome = await outcome_of(tmp_path, "echo 42 >answer", verify="grep -q 42 answer")

    assert isinstance(outcome, Done)
    told = [line["event"] for line in events(tmp_path)]
    assert told.index("task.reported") < told.index("task.verified")


async def test_a_failed_verify_fails_the_task_and_keeps_the_result(tmp_path: Path) -> None:
    outcome = await outcome_of(tmp_path, "echo 41 >answer", verify=["true", "grep 42 answer"])

    assert isinstance(outcome, Failed)
    assert outcome.error.startswith("verify ended with exit 1: grep 42 answer")
    assert outcome.result["exit"] == 0
    failed = next(line for line in events(tmp_path) if line["event"] == "task.verify_failed")
    assert (failed["command"], failed["exit"], failed["attempt"]) == ("grep 42 answer", 1, 1)


async def test_a_check_that_failed_while_somebody_wrote_is_repeated_once_when_quiet(
    tmp_path: Path,
) -> None:
    """The first check lets the other writer finish, so what it wants is there at the second."""
    os.mkfifo(tmp_path / "seen")
    check = "test -e ready || { echo >seen; exit 1; }"
    task, teammate = await claimed(tmp_path, "true", verify=check)
    checkout = Checkout()

    async def somebody() -> None:
        with checkout.writing("bob"):
            writing.set()
            await anyio.to_thread.run_sync((tmp_path / "seen").read_bytes)
            (tmp_path / "ready").touch()

    writing = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(somebody)
        await writing.wait()
        outcome = await run_command_task(task, teammate, tmp_path, LIMITS, checkout)

    assert isinstance(outcome, Done)
    first, second = (line for line in events(tmp_path) if "verif" in line["event"])
    assert (first["event"], second["event"]) == ("task.verify_failed", "task.verified")
    assert first["disturbed_by"] == ["bob"]
    assert first["reason"] == "does not count and is repeated: bob worked in the same place"


async def test_a_check_that_failed_while_nobody_else_wrote_is_not_repeated(tmp_path: Path) -> None:
    """What others had finished before it began is no reason either, nor what one wrote oneself."""
    task, teammate = await claimed(tmp_path, "echo x >made", verify="echo >>checks; false")
    checkout = Checkout()
    with checkout.writing("bob"):
        pass

    outcome = await run_command_task(task, teammate, tmp_path, LIMITS, checkout)

    assert isinstance(outcome, Failed)
    assert (tmp_path / "checks").read_text() == "\n"
    [told] = (line for line in events(tmp_path) if "verif" in line["event"])
    assert "disturbed_by" not in told


async def test_a_workspace_that_is_gone_fails_the_task(tmp_path: Path) -> None:
    task, teammate = await claimed(tmp_path, "true")

    outcome = await run_command_task(task, teammate, tmp_path / "gone", LIMITS, Checkout())

    assert isinstance(outcome, Failed)
    assert "could not be started" in outcome.error


async def test_a_stop_kills_the_command_and_reaches_the_caller(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    task, teammate = await claimed(tmp_path, "echo >begun; sleep 60 & wait")
    outcomes: list[Outcome] = []

    async def attempt() -> None:
        outcomes.append(await run_command_task(task, teammate, tmp_path, LIMITS, Checkout()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(attempt)
        await anyio.to_thread.run_sync((tmp_path / "begun").read_bytes)
        tasks.cancel_scope.cancel()

    assert outcomes == []
    assert teammate.processes.groups == frozenset()


def key_hidden(text: str) -> str:
    return text.replace("sk-test-123", "[redacted]")


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ("echo sk-test-123", lambda outcome: outcome.result["output"]),
        ("echo sk-test-123; false", lambda outcome: outcome.error + outcome.result["output"]),
        ("echo sk-test-123; sleep 60", lambda outcome: outcome.error),
    ],
)
async def test_keys_are_not_written_down(
    tmp_path: Path, run: str, told: Callable[[Any], str]
) -> None:
    task, teammate = await claimed(tmp_path, run, timeout=0.5)

    outcome = redacted(
        await run_command_task(task, teammate, tmp_path, LIMITS, Checkout()), key_hidden
    )

    assert "[redacted]" in told(outcome)
    assert "sk-test-123" not in told(outcome)
