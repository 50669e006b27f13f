"""Order of the steps of a save, and locks after a cancelled wait (field cases H1 to H4)."""

from __future__ import annotations

import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import pytest

from runner.board.board import Board
from runner.core.files import Step, locked, watch_steps
from tests.board.conftest import ADA

if TYPE_CHECKING:
    from tests.board.conftest import Desk

TAKE = (
    "import sys; from pathlib import Path; from runner.core.files import locked\n"
    "with locked(Path(sys.argv[1]), timeout_s=1):\n"
    "    print('taken')\n"
)


@pytest.mark.parametrize(("verb", "puts"), [("claim", "replace"), ("add", "link")])
def test_data_is_on_the_disk_before_it_gets_its_name(desk: Desk, verb: str, puts: str) -> None:
    desk.put({"id": 1})
    store, steps = desk.store(), list[str]()

    def note(frame: object, event: str, what: object) -> None:
        name = getattr(what, "__name__", "")
        if event == "c_call" and getattr(what, "__module__", "") == "posix":
            steps.append(name)

    old = sys.getprofile()
    sys.setprofile(note)
    try:
        if verb == "claim":
            store.claim(1, ADA)
        else:
            store.add({"subject": "new"})
    finally:
        sys.setprofile(old)
    (place,) = [number for number, step in enumerate(steps) if step == puts]
    assert "fsync" in steps[:place]


async def test_after_a_cancelled_wait_another_process_gets_the_lock(desk: Desk) -> None:
    desk.put({})
    desk.layout.ensure_team()
    argv = [sys.executable, "-c", TAKE, str(desk.layout.lock_file)]
    with locked(desk.layout.lock_file), anyio.move_on_after(0.05) as scope:
        await Board(desk.layout).claim_next(ADA)
    assert scope.cancelled_caught
    taken = await anyio.run_process(argv)
    assert taken.stdout == b"taken\n"
    assert desk.raw(1)["status"] == "pending"


@pytest.mark.parametrize("verb", ["complete", "release"])
async def test_a_cancel_during_a_write_leaves_it_whole_and_the_lock_free(
    desk: Desk, verb: str
) -> None:
    desk.put({})
    board = Board(desk.layout)
    task = await board.claim_next(ADA)
    assert task is not None
    writing, go_on = threading.Event(), threading.Event()

    def pause(step: Step, path: Path) -> None:
        if step == "replacing":
            writing.set()
            go_on.wait()

    async def end() -> None:
        if verb == "complete":
            await board.complete(task.fence, result="done")
        else:
            await board.release(task.fence, reason="not now")

    watch_steps(pause)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(end)
            await anyio.to_thread.run_sync(writing.wait)
            group.cancel_scope.cancel()
            go_on.set()
    finally:
        watch_steps(None)
    seen = board.store.find(1)
    assert (seen.status, seen.raw) == (desk.raw(1)["status"], desk.raw(1))
    assert seen.status == {"complete": "completed", "release": "pending"}[verb]
    with locked(desk.layout.lock_file, timeout_s=1):
        pass
    argv = [sys.executable, "-c", TAKE, str(desk.layout.lock_file)]
    assert (await anyio.run_process(argv)).stdout == b"taken\n"


def test_looking_needs_no_lock(desk: Desk) -> None:
    desk.put({}, {})
    store = desk.store(lock_timeout_s=0)
    task = store.claim(1, ADA)
    with locked(desk.layout.lock_file):
        desk.put({"id": 3})
        assert sorted(store.scan().tasks) == ["1", "2", "3"]
        assert store.holds(task.fence)


def test_a_lock_is_a_file_of_its_own_that_stays(desk: Desk) -> None:
    desk.put({}, {})
    store = desk.store()
    store.claim(1, ADA)
    inode = desk.layout.lock_file.stat().st_ino
    subprocess.run([sys.executable, "-c", TAKE, desk.layout.lock_file], check=True)
    store.claim(2, ADA)
    assert desk.layout.lock_file.stat().st_ino == inode
    assert desk.layout.lock_file.parent != desk.layout.tasks


def test_no_lock_library_that_deletes_lock_files_is_allowed() -> None:
    """From 3.20.4 up to 3.29.4 it unlinks on release; cancelling is safe from 3.30.3 only."""
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    wanted = tomllib.loads(text)["project"]["dependencies"]
    (floor,) = [one.removeprefix("filelock>=") for one in wanted if one.startswith("filelock")]
    assert tuple(map(int, floor.split("."))) >= (3, 30, 3)
