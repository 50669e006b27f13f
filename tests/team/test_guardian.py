"""Processes of tools never outlive their run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.board.runs import RunLock, is_alive
from runner.core.ids import random_id
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
    groups = GuardedGroups(lock.descriptor, "here")
    yield groups
    groups.close()
    lock.release()


def guardian_of(guarded: GuardedGroups, group: int) -> int:
    """The id of the guardian that guards this group, the first one, from now on."""
    guarded.add(group)
    assert guarded.pid is not None
    return guarded.pid


DOOMED = """
    import os, subprocess, sys, time
    from pathlib import Path
    from runner.board.runs import RunLock
    from runner.core.layout import Layout
    from runner.team.guardian import GuardedGroups
    root = Path(sys.argv[1])
    lock = RunLock.start(Layout(root=root, workspace=root), "doomed")
    groups = GuardedGroups(lock.descriptor, "doomed")
    tool = subprocess.Popen(
        ["sh", "-c", "trap '' TERM INT HUP; setsid sleep 60 & sleep 60 & sleep 60"],
        start_new_session=True,
        env=os.environ | groups.environment,
    )
    groups.add(tool.pid)
    print(tool.pid, groups.pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def doomed(layout: Layout) -> Iterator[subprocess.Popen[bytes]]:
    """A run with tools, one of which has left its process group."""
    run = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(DOOMED), str(layout.root)], stdout=subprocess.PIPE
    )
    yield run
    run.kill()
    run.communicate()


def test_a_killed_run_takes_its_tools_along_and_frees_its_lock(
    layout: Layout, doomed: subprocess.Popen[bytes]
) -> None:
    assert doomed.stdout is not None
    tool, guardian = map(int, doomed.stdout.readline().split())
    _until_it_ignores_signals(guardian)
    _until_a_child_leads_a_session(tool)
    assert is_alive(layout, "doomed")

    started = time.monotonic()  # noqa: TID251 - the time of real processes is what this is about
    doomed.kill()
    # the guardian, which outlives the run for a moment, holds the lock until the tools are dead
    lock = RunLock.start(layout, "doomed")
    took_s = time.monotonic() - started  # noqa: TID251 - as above

    # the tools have inherited the pipe: it is at its end when none of them is left
    os.set_blocking(doomed.stdout.fileno(), False)
    assert doomed.stdout.read() == b""
    assert took_s < 0.3, "a zombie that nobody reaped was waited for"
    lock.release()


def test_closing_kills_what_is_left_and_ends_the_guardian(
    guarded: GuardedGroups, sleeper: subprocess.Popen[bytes]
) -> None:
    guardian = guardian_of(guarded, sleeper.pid)
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
    guardian = guardian_of(guarded, sleeper.pid)
    _until_it_ignores_signals(guardian)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(guardian, number)
    guarded.remove(sleeper.pid)
    assert guarded.pid == guardian


def test_a_killed_guardian_is_replaced_by_one_that_knows_all_groups(
    guarded: GuardedGroups, sleeper: subprocess.Popen[bytes]
) -> None:
    first = guardian_of(guarded, sleeper.pid)
    os.kill(first, signal.SIGKILL)
    second = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        guarded.add(second.pid)
        # killed is not dead yet: the line may have gone into its pipe
        while guarded.pid in (None, first):
            os.sched_yield()
    finally:
        guarded.close()
        assert second.wait(timeout=5) == -signal.SIGKILL
    assert sleeper.wait(timeout=5) == -signal.SIGKILL


def test_who_comes_before_the_successor_of_a_dead_guardian_starts_it(
    guarded: GuardedGroups, sleeper: subprocess.Popen[bytes]
) -> None:
    first = guardian_of(guarded, 2**22 + 1)
    with guarded._mutex:
        os.kill(first, signal.SIGKILL)
        while guardian_main.lives(first):
            os.sched_yield()
        guarded._groups.add(sleeper.pid)
        guarded._tell(f"+{sleeper.pid}\n")
        assert guarded.pid not in (None, first)
    guarded.close()
    assert sleeper.wait(timeout=5) == -signal.SIGKILL


def test_what_nothing_can_guard_is_refused_and_can_be_forgotten(
    guarded: GuardedGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(FileNotFoundError):
        guarded.add(2**22 + 1)
    guarded.remove(2**22 + 1)
    assert guarded.groups == frozenset()


def test_a_guardian_that_hangs_is_not_waited_for_without_end(guarded: GuardedGroups) -> None:
    guardian = guardian_of(guarded, 2**22 + 1)
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


def test_a_killed_guardian_is_replaced_before_the_next_command(
    guarded: GuardedGroups, sleeper: subprocess.Popen[bytes]
) -> None:
    first = guardian_of(guarded, sleeper.pid)
    os.kill(first, signal.SIGKILL)
    while guarded.pid in (None, first):
        os.sched_yield()
    guarded.close()
    assert sleeper.wait(timeout=5) == -signal.SIGKILL


def test_a_guardian_that_cannot_live_is_not_replaced_without_end(
    guarded: GuardedGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    guardian = guardian_of(guarded, 2**22 + 1)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    os.kill(guardian, signal.SIGKILL)
    while any(thread.name.endswith("(_succeed)") for thread in threading.enumerate()):
        os.sched_yield()
    monkeypatch.undo()
    guarded.add(2**22 + 2)
    assert guarded.pid is not None
    assert guardian_main.lives(guarded.pid), "the next command has one again"


def test_zombies_count_as_gone(sleeper: subprocess.Popen[bytes]) -> None:
    guardian_main.kill({sleeper.pid, 2**22 + 1}, b"X=1")
    assert not guardian_main.lives(sleeper.pid), "killed, and not reaped yet"
    assert guardian_main.lives(os.getpid())
    assert sleeper.wait(timeout=5) == -signal.SIGKILL


def test_who_carries_the_mark_is_killed_and_nobody_else(
    sleeper: subprocess.Popen[bytes],
) -> None:
    mark = {"BOARDRUNNER_RUN": random_id("r-")}
    marker = f"BOARDRUNNER_RUN={mark['BOARDRUNNER_RUN']}".encode()
    command = ["sh", "-c", "setsid sleep 60 & echo; exec sleep 60"]
    with subprocess.Popen(command, env=os.environ | mark, stdout=subprocess.PIPE) as marked:
        assert marked.stdout is not None
        assert marked.stdout.readline() == b"\n"
        assert guardian_main.kill_marked(marker) == 2
        assert marked.stdout.read() == b"", "the child that left its group is gone too"
    assert guardian_main.kill_marked(marker) == 0
    assert sleeper.poll() is None


def test_without_proc_only_groups_are_killed(
    sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    nowhere = str(tmp_path / "none")
    assert guardian_main.kill_marked(b"X=1", proc=nowhere) == 0
    guardian_main.kill({2**22 + 1}, b"X=1", proc=nowhere)
    assert guardian_main.lives(sleeper.pid, proc=nowhere)
    assert not guardian_main.lives(2**22 + 1, proc=nowhere)
    guardian_main.kill({sleeper.pid}, b"X=1", proc=nowhere)
    assert sleeper.wait(timeout=5) == -signal.SIGKILL


def test_what_does_not_die_is_not_waited_for_without_end(tmp_path: Path) -> None:
    stuck, gone = tmp_path / str(2**22 + 1), tmp_path / str(2**22 + 2)
    stuck.mkdir()
    gone.mkdir()
    (stuck / "stat").write_text(f"{stuck.name} (a (b) c) D 1 {stuck.name} 1 0")
    (stuck / "environ").write_bytes(b"A=1\0X=1\0")
    assert guardian_main.kill_marked(b"X=1", proc=str(tmp_path)) == 1


def test_the_mark_of_a_run_is_its_id(guarded: GuardedGroups) -> None:
    assert guarded.environment == {"BOARDRUNNER_RUN": "here"}
    assert ProcessGroups().environment == {}


def _until_a_child_leads_a_session(pid: int) -> None:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    while not any(os.getsid(int(child)) == int(child) for child in children.read_text().split()):
        os.sched_yield()


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
