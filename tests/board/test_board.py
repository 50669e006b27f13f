"""The async face: one hop a call, and a claim is never owned by nobody."""

from __future__ import annotations

import threading
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from runner.board.board import Board
from runner.board.task import Claimant, Task
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.files import WaitCancelled, locked
from runner.errors import BoardBusy
from runner.testing.board import make_board
from tests.board.conftest import ADA, Desk


async def test_every_verb_of_the_store_is_there(desk: Desk) -> None:
    desk.put({}, {}, {}, {"owner": "ada"})
    board = Board(desk.layout.root, clock=desk.clock)
    task = await board.claim_next(ADA)
    assert task is not None
    assert await board.holds(task.fence)
    await board.complete(task.fence, result=1)
    await board.fail((await board.claim(1, ADA)).fence, error="e")
    assert (await board.retry(1)).status == "pending"
    await board.release((await board.claim(1, ADA)).fence, reason="r")
    added = await board.add({"subject": "new"})
    assert (await board.edit(added.id, {"priority": 2})).priority == 2
    assert (await board.delete(added.id)).status == "deleted"
    for verb in (board.held_by_hand, board.finish_by_hand, board.fail_by_hand):
        assert (await verb(2, force=True)).key == "2"
    await board.claim(3, ADA)
    assert (await board.release_by_hand(3, force=True)).status == "pending"
    assert await board.return_stale() == []
    assert await board.take_over() == []
    assert await board.tidy() == []
    assert board.run is None
    assert len((await board.scan(settle=True)).tasks) == 5


async def test_the_journal_of_a_board_without_a_run_is_that_of_the_commands(desk: Desk) -> None:
    desk.put({})
    await Board(desk.layout).claim(1, ADA)
    assert [line["event"] for line in desk.events()] == ["task.claimed"]


async def test_the_state_folder_is_made_at_the_first_write(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])
    journal = Journal(tmp_path / "journal", run="r1", clock=SystemClock())
    board = Board(layout, journal=journal, run="r1")
    await board.scan()
    assert not layout.team.exists()
    await board.claim_next(ADA)
    assert (layout.team / ".gitignore").read_text() == "*\n"


async def test_a_cancelled_wait_for_the_lock_ends_at_once_and_owns_nothing(desk: Desk) -> None:
    desk.put({})
    desk.layout.ensure_team()
    board = Board(desk.layout)
    threads = threading.active_count()
    with locked(desk.layout.lock_file):
        with anyio.move_on_after(0.05) as scope:
            await board.claim_next(ADA)
        assert scope.cancelled_caught
        assert desk.raw(1)["status"] == "pending"
    with locked(desk.layout.lock_file, timeout_s=0.2):
        assert threading.active_count() <= threads + 1
    task = await board.claim_next(ADA)
    assert task is not None


async def test_a_cancel_during_the_hop_still_hands_over_the_claim(desk: Desk) -> None:
    desk.put({})
    board = Board(desk.layout)
    got: list[Task | None] = []
    inside, go_on = threading.Event(), threading.Event()

    def slowly(claimant: Claimant) -> None:
        inside.set()
        go_on.wait()

    async def claim() -> None:
        got.append(await board.claim_next(ADA, refuses_for=slowly))  # type: ignore[arg-type]

    async with anyio.create_task_group() as group:
        group.start_soon(claim)
        await anyio.to_thread.run_sync(inside.wait)
        group.cancel_scope.cancel()
        go_on.set()
    (task,) = got
    assert task is not None
    assert board.store.holds(task.fence)


async def test_teammates_of_one_process_wait_for_one_another(desk: Desk) -> None:
    desk.put(*({} for _ in range(12)))
    board = Board(desk.layout)
    got: list[int | str] = []

    async def work(name: str) -> None:
        while (task := await board.claim_next(Claimant(name=name))) is not None:
            got.append(task.id)
            await board.complete(task.fence)

    async with anyio.create_task_group() as group:
        for name in ("ada", "bo", "cy", "di"):
            group.start_soon(work, name)
    assert sorted(map(int, got)) == list(range(1, 13))


async def test_a_stop_gives_up_a_claim_but_not_a_release(desk: Desk) -> None:
    desk.put({}, {})
    stopping: list[bool] = []
    board = Board(desk.layout, stopping=lambda: bool(stopping), lock_timeout_s=0.05)
    task = await board.claim_next(ADA)
    assert task is not None
    stopping.append(True)
    with locked(desk.layout.lock_file):
        assert await board.claim_next(ADA) is None
        with pytest.raises(WaitCancelled):
            await board.claim(2, ADA)
        with pytest.raises(BoardBusy, match="not free within"):
            await board.release(task.fence, reason="stopped")
    assert (await board.release(task.fence, reason="stopped")).status == "pending"
