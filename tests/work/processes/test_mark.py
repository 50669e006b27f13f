"""Who left the process group of its command dies with the attempt too."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from runner.team.guardian import ProcessGroups
from runner.team.guardian_main import lives
from runner.team.outcome import Done, Failed, LimitReached
from runner.testing import call, submit
from runner.work.processes.commands import run_command
from runner.work.processes.leftovers import Leftovers
from runner.work.processes.mark import ATTEMPT_VARIABLE

if TYPE_CHECKING:
    from tests.work.conftest import Stage

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="marks are found through /proc")

# The pipe is closed when the process that left is dead.
LEAVES = (
    "(setsid sh -c 'exec 9>left; echo $$ >&9; touch begun; exec sleep 60' >/dev/null 2>&1 &); "
    "until test -e begun; do sleep 0.01; done"
)
WAITS = "; sleep 60"


class Left:
    """The process that left its group; `gone` waits for its end."""

    def __init__(self, root: Path) -> None:
        os.mkfifo(root / "left")
        self._descriptor = os.open(root / "left", os.O_RDONLY | os.O_NONBLOCK)

    async def begun(self) -> int:
        """Its process id."""
        return int(await self._read())

    async def gone(self) -> None:
        with anyio.fail_after(5):
            while await self._read():
                pass

    async def _read(self) -> bytes:
        await anyio.wait_readable(self._descriptor)
        return os.read(self._descriptor, 100)

    def close(self) -> None:
        os.close(self._descriptor)


@pytest.fixture
async def left(tmp_path: Path) -> AsyncIterator[Left]:
    left = Left(tmp_path)
    yield left
    left.close()


async def test_it_lives_as_long_as_the_attempt(tmp_path: Path, left: Left) -> None:
    processes = ProcessGroups()
    async with Leftovers(processes) as leftovers:
        for command in (LEAVES, "true"):
            await run_command(
                command, cwd=tmp_path, timeout_s=10, processes=processes, leftovers=leftovers
            )
        pid = await left.begun()
        assert lives(pid)

    await left.gone()


async def test_a_command_that_belongs_to_no_attempt_is_one_by_itself(
    tmp_path: Path, left: Left
) -> None:
    await run_command(LEAVES, cwd=tmp_path, timeout_s=10, processes=ProcessGroups())

    await left.gone()


@pytest.mark.parametrize("fields", [{"run": LEAVES}, {"run": "true", "verify": [LEAVES]}])
async def test_a_task_with_a_command_leaves_nobody(
    stage: Stage, left: Left, fields: dict[str, Any]
) -> None:
    outcome = await stage.do(**fields)

    assert isinstance(outcome, Done)
    await left.gone()


async def test_an_agents_attempt_leaves_nobody(stage: Stage, left: Left) -> None:
    outcome = await stage.do(call("bash", command=LEAVES), submit(1))

    assert isinstance(outcome, Done)
    await left.gone()


@pytest.mark.parametrize("kind", ["run", "bash"])
async def test_a_timeout_leaves_nobody(stage: Stage, left: Left, kind: str) -> None:
    if kind == "run":
        outcome = await stage.do(run=LEAVES + WAITS, timeout=0.5)
    else:
        outcome = await stage.do(call("bash", command=LEAVES + WAITS), timeout=0.5)

    assert isinstance(outcome, LimitReached)
    await left.gone()


async def test_a_cancelled_attempt_leaves_nobody(stage: Stage, left: Left) -> None:
    task = await stage.claim(run=LEAVES + WAITS)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.work, task)
        await left.begun()
        tasks.cancel_scope.cancel()

    await left.gone()


async def test_the_mark_of_another_attempt_is_not_inherited(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ATTEMPT_VARIABLE, "of-another")

    first = await stage.do(run=f"echo ${ATTEMPT_VARIABLE}; false", task_id=1)
    second = await stage.do(run=f"echo ${ATTEMPT_VARIABLE}; false", task_id=2)

    assert isinstance(first, Failed)
    assert isinstance(second, Failed)
    marks = {first.result["output"].strip(), second.result["output"].strip()}
    assert len(marks) == 2
    assert not marks & {"", "of-another"}
