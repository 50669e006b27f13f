"""A run is alive as long as somebody holds the lock of its file."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from runner.board.runs import RunLock, is_alive, lock_file
from runner.errors import BoardBusy

if TYPE_CHECKING:
    from tests.board.conftest import Desk


def test_a_run_is_alive_until_it_ends(desk: Desk) -> None:
    lock = RunLock.start(desk.layout, "r1")
    assert is_alive(desk.layout, "r1")
    lock.release()
    assert not is_alive(desk.layout, "r1")
    assert lock_file(desk.layout, "r1").exists()


@pytest.mark.parametrize("run_id", ["never-was", "../../x", "", "a/b"])
def test_a_probe_of_an_unknown_run_leaves_nothing_behind(desk: Desk, run_id: str) -> None:
    before = sorted(desk.layout.root.rglob("*"))
    assert not is_alive(desk.layout, run_id)
    assert sorted(desk.layout.root.rglob("*")) == before


def test_a_run_id_that_lives_is_not_started_twice(desk: Desk) -> None:
    lock = RunLock.start(desk.layout, "r1")
    with pytest.raises(BoardBusy, match="a live run r1"):
        RunLock.start(desk.layout, "r1", timeout_s=0.05)
    lock.release()
    RunLock.start(desk.layout, "r1", timeout_s=0.05).release()


def test_a_probe_does_not_keep_a_run_from_starting(desk: Desk) -> None:
    RunLock.start(desk.layout, "r1").release()
    assert not is_alive(desk.layout, "r1")
    RunLock.start(desk.layout, "r1", timeout_s=0.05).release()


def test_whoever_inherits_the_descriptor_keeps_the_run_alive(desk: Desk) -> None:
    script = (
        "import subprocess, sys\n"
        "from pathlib import Path\n"
        "from runner.board.runs import RunLock\n"
        "from runner.core.layout import Layout\n"
        "root = Path(sys.argv[1])\n"
        "lock = RunLock.start(Layout(root=root, workspace=root), 'r1')\n"
        "heir = subprocess.Popen(['sleep', '30'], pass_fds=[lock.descriptor],\n"
        "                        stdout=subprocess.DEVNULL)\n"
        "print(heir.pid, flush=True)\n"
        "import os\n"
        "os._exit(9)\n"
    )
    argv = [sys.executable, "-c", script, str(desk.layout.root)]
    ended = subprocess.run(argv, stdout=subprocess.PIPE, check=False)
    assert ended.returncode == 9
    assert is_alive(desk.layout, "r1")
    heir = int(ended.stdout)
    os.kill(heir, 9)
    while is_alive(desk.layout, "r1"):
        os.sched_yield()
