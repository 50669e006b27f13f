"""Processes of tools never outlive their run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.board.runs import RunLock, is_alive
from runner.core.layout import Layout
from runner.team import guardian_main
from runner.team.guardian import GuardedGroups, ProcessGroups
from runner.testing.board import make_board


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return make_board(tmp_path)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def guarded(layout: Layout) -> Iterator[GuardedGroups]:
    lock = RunLock.start(layout, "here")
    groups = GuardedGroups(lock.descriptor)
    yield groups
    groups.close()
    lock.release()


def test_a_killed_run_takes_its_tools_along_and_frees_its_lock(layout: Layout) -> None:
    script = """
        import subprocess, sys, time
        from pathlib import Path
        from runner.board.runs import RunLock
        from runner.core.layout import Layout
        from runner.team.guardian import GuardedGroups
        root = Path(sys.argv[1])
        lock = RunLock.start(Layout(root=root, workspace=root), "doomed")
        groups = GuardedGroups(lock.descriptor)
        tool = subprocess.Popen(
            ["sh", "-c", "trap '' TERM INT HUP; sleep 60 & sleep 60"], start_new_session=True
        )
        groups.add(tool.pid)
        print("up", flush=True)
        time.sleep(60)
    """
    run = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), str(layout.root)], stdout=subprocess.PIPE
    )
    assert run.stdout is not None
    assert run.stdout.readline() == b"up\n"
    assert is_alive(layout, "doomed")

    run.kill()
    run.wait()
    # the guardian, which outlives the run for a moment, holds the lock until the tools are dead
    lock = RunLock.start(layout, "doomed")

    # the tools have inherited the pipe: it is at its end when none of them is left
    os.set_blocking(run.stdout.fileno(), False)
    assert run.stdout.read() == b""
    lock.release()
    run.stdout.close()


def test_closing_kills_what_is_left_and_ends_the_guardian(
    guarded: GuardedGroups, sleeper: subprocess.Popen[bytes]
) -> None:
    guarded.add(sleeper.pid)
    guardian = guarded.pid
    assert guardian is not None
    guarded.close()
    assert sleeper.wait(timeout=5) == -signal.SIGKILL
    assert guarded.groups == frozenset()
    with pytest.raises(ProcessLookupError):
        os.kill(guardian, 0)


def test_a_run_without_commands_starts_no_guardian(guarded: GuardedGroups) -> None:
    guarded.remove(12345)
    assert guarded.pid is None


def test_a_group_that_has_ended_is_forgotten(
    guarded: GuardedGroups, sleeper: subprocess.Popen[bytes]
) -> None:
    guarded.add(sleeper.pid)
    guarded.remove(sleeper.pid)
    guarded.close()
    assert sleeper.poll() is None


def test_a_guardian_shrugs_off_signals(
    guarded: GuardedGroups, sleeper: subprocess.Popen[bytes]
) -> None:
    guarded.add(sleeper.pid)
    guardian = guarded.pid
    assert guardian is not None
    _until_it_ignores_signals(guardian)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(guardian, number)
    guarded.remove(sleeper.pid)
    assert guarded.pid == guardian


def test_a_killed_guardian_is_replaced_by_one_that_knows_all_groups(
    guarded: GuardedGroups, sleeper: subprocess.Popen[bytes]
) -> None:
    guarded.add(sleeper.pid)
    first = guarded.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)

    with subprocess.Popen(["sleep", "60"], start_new_session=True) as second:
        guarded.add(second.pid)
        assert guarded.pid not in (None, first)
        guarded.close()
        assert second.wait(timeout=5) == -signal.SIGKILL
    assert sleeper.wait(timeout=5) == -signal.SIGKILL


def test_a_guardian_that_hangs_is_not_waited_for_without_end(guarded: GuardedGroups) -> None:
    guarded.add(2**22 + 1)
    guardian = guarded.pid
    assert guardian is not None
    os.kill(guardian, signal.SIGSTOP)
    guarded.close()
    with pytest.raises(ProcessLookupError):
        os.kill(guardian, 0)


def test_groups_without_a_guardian_serve_tests(sleeper: subprocess.Popen[bytes]) -> None:
    groups = ProcessGroups()
    groups.add(sleeper.pid)
    assert groups.groups == {sleeper.pid}
    groups.close()
    assert sleeper.wait(timeout=5) == -signal.SIGKILL


def test_a_guardian_reads_lines_however_they_are_cut() -> None:
    reading, writing = os.pipe()
    for piece in (b"+1", b"1\n+22\n-1", b"1\n-33\nnonsense\n+4"):
        os.write(writing, piece)
    os.close(writing)
    assert guardian_main.read_groups(reading) == {22}
    os.close(reading)


def test_a_guardian_does_not_wait_without_end_for_a_zombie(
    sleeper: subprocess.Popen[bytes],
) -> None:
    guardian_main.kill({2**22 + 1})
    guardian_main.kill({sleeper.pid, 2**22 + 1})
    assert sleeper.wait(timeout=5) == -signal.SIGKILL


def _until_it_ignores_signals(pid: int) -> None:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        pytest.skip("needs /proc to see when the guardian is up")
    mask = 1 << (signal.SIGTERM - 1)
    while not _ignored(status) & mask:
        os.sched_yield()


def _ignored(status: Path) -> int:
    lines = status.read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("SigIgn:")).split()[1], 16)
