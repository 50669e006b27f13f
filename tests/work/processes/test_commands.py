"""Commands: their end, their output, and that nothing of them runs on."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from runner.errors import ToolError
from runner.team.guardian import ProcessGroups
from runner.work.processes.commands import CommandResult, run_command
from runner.work.processes.leftovers import Leftovers, group_lives

IGNORES_TERM = "trap '' TERM; "


class Witness:
    """A named pipe that a command holds open: it can say something, and is silent when dead."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def close(self) -> None:
        os.close(self._descriptor)

    async def speaks(self) -> bytes:
        await anyio.wait_readable(self._descriptor)
        return os.read(self._descriptor, 100)

    async def falls_silent(self) -> None:
        """Wait until no process holds the pipe."""
        while await self.speaks():
            pass


@pytest.fixture
async def witness(tmp_path: Path) -> AsyncIterator[Witness]:
    witness = Witness(tmp_path / "witness")
    yield witness
    witness.close()


@pytest.fixture
def processes() -> ProcessGroups:
    return ProcessGroups()


async def run(
    command: str | list[str], tmp_path: Path, processes: ProcessGroups, timeout_s: float = 10
) -> CommandResult:
    return await run_command(command, cwd=tmp_path, timeout_s=timeout_s, processes=processes)


def is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - another process: there is no event to wait for
        await anyio.sleep(0.005)


async def test_both_streams_and_the_exit_status_come_back(
    tmp_path: Path, processes: ProcessGroups
) -> None:
    result = await run("echo one; echo two >&2; exit 3", tmp_path, processes)

    assert (result.exit, result.output) == (3, "one\ntwo\n")
    assert not result.timed_out
    assert not result.truncated
    assert processes.groups == frozenset()


async def test_an_argument_vector_is_not_read_by_a_shell(
    tmp_path: Path, processes: ProcessGroups
) -> None:
    result = await run(["printf", "%s|", "a b", "$HOME", "*;'"], tmp_path, processes)

    assert result.output == "a b|$HOME|*;'|"


async def test_a_program_that_asks_a_question_fails_fast(
    tmp_path: Path, processes: ProcessGroups
) -> None:
    result = await run([sys.executable, "-c", "input('Go on? ')"], tmp_path, processes)

    assert result.exit == 1
    assert "EOFError" in result.output


async def test_a_missing_program_is_an_exit_status_with_a_message(
    tmp_path: Path, processes: ProcessGroups
) -> None:
    result = await run(["no-such-program", "x"], tmp_path, processes)

    assert result.exit == 127
    assert "no-such-program" in result.output


@pytest.mark.parametrize(
    ("command", "folder", "said"),
    [
        ("true", "gone", "could not be started in"),
        ("echo \0", ".", "could not be started in"),
        ([], ".", "empty"),
    ],
)
async def test_what_cannot_be_started_is_said_plainly(
    tmp_path: Path, processes: ProcessGroups, command: str | list[str], folder: str, said: str
) -> None:
    with pytest.raises(ToolError, match=said):
        await run(command, tmp_path / folder, processes)

    assert processes.groups == frozenset()


async def test_death_by_a_signal_is_told_as_a_shell_tells_it(
    tmp_path: Path, processes: ProcessGroups
) -> None:
    result = await run(["sh", "-c", "kill -9 $$"], tmp_path, processes)

    assert result.exit == 128 + signal.SIGKILL


async def test_a_command_that_closes_its_output_early_is_waited_for(
    tmp_path: Path, processes: ProcessGroups
) -> None:
    result = await run("echo said; exec >&- 2>&-; sleep 0.2; exit 5", tmp_path, processes)

    assert (result.exit, result.output) == (5, "said\n")


async def test_a_flood_of_output_is_bounded(tmp_path: Path, processes: ProcessGroups) -> None:
    result = await run("yes | head -c 3000000; echo end", tmp_path, processes)

    assert result.truncated
    assert len(result.output) == 65_536
    assert result.output.endswith("y\nend\n")


async def test_a_server_in_the_background_does_not_delay_the_end_and_is_killed(
    tmp_path: Path, processes: ProcessGroups, witness: Witness
) -> None:
    server = f"({IGNORES_TERM}exec 9>witness; echo up >&9; while :; do sleep 60; done) &"

    result = await run(f"{server} head -c 1 <witness >/dev/null; echo started", tmp_path, processes)

    assert (result.exit, result.output) == (0, "started\n")
    await witness.falls_silent()
    assert processes.groups == frozenset()


async def test_a_flood_from_the_background_does_not_delay_the_end(
    tmp_path: Path, processes: ProcessGroups
) -> None:
    command = "mkfifo begun; (yes | head -c 100000; echo >begun; exec yes) & read -r _ <begun"

    with anyio.fail_after(5):
        result = await run(command, tmp_path, processes)

    assert result.exit == 0
    assert result.truncated


async def test_a_server_lives_and_may_log_until_the_attempt_ends(
    tmp_path: Path, processes: ProcessGroups, witness: Witness
) -> None:
    server = f"({IGNORES_TERM}exec 9>witness; head -c 300000 /dev/zero; echo ok >&9; sleep 60) &"
    async with Leftovers(processes) as leftovers:
        result = await run_command(
            server, cwd=tmp_path, timeout_s=10, processes=processes, leftovers=leftovers
        )
        assert result.exit == 0
        assert await witness.speaks() == b"ok\n"
        assert leftovers.running == tuple(processes.groups)
        assert len(leftovers.running) == 1

    await witness.falls_silent()
    assert processes.groups == frozenset()


async def test_a_background_process_that_ended_is_forgotten(
    tmp_path: Path, processes: ProcessGroups, witness: Witness
) -> None:
    os.mkfifo(tmp_path / "go")
    async with Leftovers(processes) as leftovers:
        await run_command(
            "(exec 9>witness >/dev/null 2>&1; read -r _ <go) &",
            cwd=tmp_path,
            timeout_s=10,
            processes=processes,
            leftovers=leftovers,
        )
        assert len(leftovers.running) == 1
        (tmp_path / "go").write_text("\n")
        await witness.falls_silent()
        await until(lambda: not leftovers.running)

        assert processes.groups == frozenset()


async def test_nothing_is_kept_of_a_command_without_background(
    tmp_path: Path, processes: ProcessGroups
) -> None:
    async with Leftovers(processes) as leftovers:
        await run_command(
            "true", cwd=tmp_path, timeout_s=10, processes=processes, leftovers=leftovers
        )

        assert processes.groups == frozenset()


async def test_at_the_timeout_a_command_may_tidy_up(
    tmp_path: Path, processes: ProcessGroups
) -> None:
    command = "trap 'echo tidied; exit 0' TERM; echo begun; sleep 60 & wait"

    result = await run(command, tmp_path, processes, timeout_s=0.3)

    assert result.timed_out
    assert result.exit is None
    assert result.output == "begun\ntidied\n"


async def test_a_command_that_ignores_the_timeout_is_killed(
    tmp_path: Path, processes: ProcessGroups, witness: Witness
) -> None:
    command = f"{IGNORES_TERM}exec 9>witness; while :; do sleep 60; done"

    result = await run(command, tmp_path, processes, timeout_s=0.1)

    assert result.timed_out
    await witness.falls_silent()


async def test_cancelling_kills_grandchildren_too(
    tmp_path: Path, processes: ProcessGroups, witness: Witness
) -> None:
    command = f"sh -c '{IGNORES_TERM}exec 9>witness; echo up >&9; sleep 60 & wait' & wait"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, command, tmp_path, processes)
        assert await witness.speaks() == b"up\n"
        tasks.cancel_scope.cancel()

    await witness.falls_silent()
    assert processes.groups == frozenset()


async def test_a_command_that_cannot_be_registered_never_begins(tmp_path: Path) -> None:
    class NoGuardian(ProcessGroups):
        def add(self, group: int) -> None:
            assert group_lives(group)
            raise OSError("no guardian")

    with pytest.raises(OSError, match="no guardian"):
        await run("touch begun", tmp_path, NoGuardian())

    assert is_empty(tmp_path)


async def test_a_command_killed_at_the_gate_counts_as_killed(tmp_path: Path) -> None:
    class Killer(ProcessGroups):
        def add(self, group: int) -> None:
            super().add(group)
            os.killpg(group, signal.SIGKILL)
            os.waitid(os.P_PID, group, os.WEXITED | os.WNOWAIT)

    result = await run("touch begun", tmp_path, Killer())

    assert result.exit == 128 + signal.SIGKILL
    assert is_empty(tmp_path)


async def test_a_run_killed_before_the_gate_opens_leaves_nothing_running(tmp_path: Path) -> None:
    program = """
import os, signal, sys
from pathlib import Path
import anyio
from runner.team.guardian import ProcessGroups
from runner.work.processes.commands import run_command

class Dies(ProcessGroups):
    def add(self, group):
        os.write(1, str(group).encode())
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    await run_command("touch begun", cwd=Path(sys.argv[1]), timeout_s=5, processes=Dies())

anyio.run(main)
"""
    died = await anyio.run_process([sys.executable, "-c", program, str(tmp_path)], check=False)
    group = int(died.stdout)
    await until(lambda: not group_lives(group))

    assert died.returncode == -signal.SIGKILL
    assert is_empty(tmp_path)


async def test_a_command_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    program = r"""
import os, sys
from pathlib import Path
import anyio
from runner.team.guardian import ProcessGroups
from runner.work.processes.commands import run_command

async def main():
    here = Path(sys.argv[1])
    for command in ("echo \u20ac \U0001f600 $ODD | od -An -tx1", ["echo", "\ud83d"]):
        result = await run_command(command, cwd=here, timeout_s=5, processes=ProcessGroups())
        sys.stdout.write(result.output)

try:
    anyio.run(main)
except Exception as error:
    sys.stdout.write(f"{type(error).__name__} {ascii(str(error))}")
"""
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "ODD": "\udce9"}
    ran = await anyio.run_process(
        [sys.executable, "-c", program, str(tmp_path)], env={**os.environ, **plain}
    )

    output = ran.stdout.decode()
    assert output.split()[:10] == "e2 82 ac 20 f0 9f 98 80 20 e9".split()
    assert "ToolError" in output
    assert "could not be started" in output


async def test_many_long_commands_leave_the_thread_pool_free(
    tmp_path: Path, processes: ProcessGroups
) -> None:
    os.mkfifo(tmp_path / "go")
    async with anyio.create_task_group() as tasks:
        for _ in range(45):
            tasks.start_soon(run, ["cat", "go"], tmp_path, processes)
        await until(lambda: len(processes.groups) == 45)
        with anyio.fail_after(5):
            assert await anyio.to_thread.run_sync(int, "7") == 7
        tasks.cancel_scope.cancel()

    assert processes.groups == frozenset()


async def test_keys_are_not_in_the_environment_of_a_command(
    tmp_path: Path, processes: ProcessGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-123")
    monkeypatch.setenv("GITHUB_TOKEN", "sk-test-123")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")

    result = await run("env; python3 -c 'import os; print(dict(os.environ))'", tmp_path, processes)

    assert "sk-test-123" not in result.output
    assert "GIT_DIR" not in result.output
    assert f"PATH={os.environ['PATH']}" in result.output
