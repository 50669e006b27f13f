"""The lock of the board: one holder at a time, and nobody stopped by a file that lies there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from runner.core.files import locked
from runner.errors import BoardBusy
from tests.board.conftest import ADA, Desk


@pytest.mark.slow
def test_never_two_holders_of_one_lock(desk: Desk) -> None:
    desk.layout.ensure_team()
    overlap = desk.layout.team / "overlap"
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from runner.core.files import locked\n"
        "lock, mark = Path(sys.argv[1]), sys.argv[2]\n"
        "for _ in range(700):\n"
        "    with locked(lock):\n"
        "        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))\n"
        "        os.unlink(mark)\n"
    )
    argv = [sys.executable, "-c", script, str(desk.layout.lock_file), str(overlap)]
    processes = [subprocess.Popen(argv) for _ in range(3)]
    assert [process.wait(timeout=15) for process in processes] == [0, 0, 0]


def test_a_lock_file_that_nobody_holds_stops_nobody(desk: Desk) -> None:
    desk.put({}, {})
    desk.layout.ensure_team()
    for text, task_id in (("", 1), (str(os.getpid()), 2)):
        desk.layout.lock_file.write_text(text)
        task = desk.store(lock_timeout_s=0.2).claim(task_id, ADA)
        assert task.status == "in_progress"


def test_two_threads_of_claims_in_one_process_wait_for_one_another(desk: Desk) -> None:
    desk.layout.ensure_team()
    with (
        locked(desk.layout.lock_file),
        pytest.raises(BoardBusy, match="not free within 0"),
        locked(desk.layout.lock_file, timeout_s=0.02),
    ):
        raise AssertionError("unreachable: two holders")
