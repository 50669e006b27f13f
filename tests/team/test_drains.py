"""Runs that end when nothing is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.board.board import Board
from runner.board.runs import RunLock
from runner.board.task import Claimant, Task
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.layout import Layout
from runner.team.outcome import Done, Outcome
from runner.team.types import Assignment, Teammate
from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.team import running_team
from tests.team.helpers import events, finish, half_write, on_disk


async def claimed_elsewhere(layout: Layout) -> tuple[RunLock, Board, Task]:
    """Another live run, by its lock and its board, and the first task, which its zoe has."""
    lock = RunLock.start(layout, "other")
    journal = Journal(layout.runs / "other.jsonl", run="other", clock=SystemClock())
    other = Board(layout, clock=SystemClock(), journal=journal, run="other")
    return lock, other, await other.claim(1, Claimant(name="zoe"))


@pytest.mark.parametrize(
    "tasks",
    [
        [{"blockedBy": [2]}, {"blockedBy": [1]}],
        [{"blockedBy": [99]}],
        [{"status": "failed"}, {"blockedBy": [1]}],
        [{"required_role": "painter"}],
        [{"owner": "somebody-else"}],
        [{"status": "in_progress", "owner": "a-person"}],
    ],
    ids=["cycle", "missing", "failed", "role", "owner", "by hand"],
)
async def test_a_drain_ends_at_once_when_the_board_is_stuck(
    tmp_path: Path, tasks: list[dict[str, Any]]
) -> None:
    layout, clock = make_board(tmp_path, tasks), FakeClock()
    async with running_team(layout, work=finish, clock=clock, drain=True) as team:
        report = await team.finished()
    assert clock.monotonic() == 0
    assert report.exit_code == (1 if tasks[0].get("status") == "failed" else 3)
    assert all(row.reason for row in report.tasks if row.verdict == "undone")


async def test_a_drain_waits_for_a_retry_that_lies_ahead(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{"retryAt": "2026-01-01T00:01:40Z"}])
    clock = FakeClock()
    async with running_team(layout, work=finish, clock=clock, drain=True) as team:
        await clock.advance(99)
        assert all(mate.progress.status == "idle" for mate in team.teammates)
        await clock.advance(1)
        assert (await team.finished()).exit_code == 0


async def test_a_drain_gives_a_half_written_file_one_more_look(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    half_write(layout, 1, clock)
    async with running_team(layout, work=finish, clock=clock, drain=True) as team:
        await clock.sleepers(3)
        make_board(tmp_path, [{"id": 1}])
        await clock.advance(5)
        assert (await team.finished()).exit_code == 0
    assert on_disk(layout, 1)["status"] == "completed"
    assert events(team.journal, "board.problem") == []


async def test_a_file_that_stays_broken_is_a_problem_at_the_next_tick(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    half_write(layout, 1, clock)
    async with running_team(layout, work=finish, clock=clock, drain=True) as team:
        await clock.advance(4.9)
        assert events(team.journal, "board.problem") == []
        await clock.advance(0.1)
        report = await team.finished()
    assert (report.exit_code, report.tasks[0].state) == (3, "unclaimable")
    assert len(events(team.journal, "board.problem")) == 1


async def test_a_drain_does_not_end_before_work_that_was_just_created_is_done(
    tmp_path: Path,
) -> None:
    layout = make_board(tmp_path, [{}])

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        assert isinstance(assignment, Task)
        if assignment.key < "8":
            await mate.board.add({"subject": "one more"})
        return Done()

    async with running_team(layout, work=work, drain=True) as team:
        report = await team.finished()
    assert [row.status for row in report.tasks] == ["completed"] * 8


async def test_a_drain_waits_for_what_another_live_run_works_on(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}, {"blockedBy": [1]}]), FakeClock()
    lock, other, task = await claimed_elsewhere(layout)
    async with running_team(layout, work=finish, clock=clock, drain=True) as team:
        await clock.advance(300)
        assert {mate.progress.status for mate in team.teammates} == {"idle"}
        await other.complete(task.fence)
        await clock.advance(5)
        assert (await team.finished()).exit_code == 0
    lock.release()


async def test_a_drain_sees_the_end_of_what_another_live_run_works_on(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()
    lock, other, task = await claimed_elsewhere(layout)
    async with running_team(layout, work=finish, clock=clock, drain=True) as team:
        await clock.advance(200)
        assert [mate.progress.status for mate in team.teammates] == ["idle"] * 3
        await other.complete(task.fence)
        await clock.advance(5)
        report = await team.finished()
    assert (report.exit_code, report.tasks[0].owner) == (0, "zoe")
    lock.release()


async def test_what_another_live_run_hands_back_is_done_by_a_drain(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()
    lock, other, task = await claimed_elsewhere(layout)
    async with running_team(layout, work=finish, clock=clock, drain=True) as team:
        await clock.advance(5)
        await other.release(task.fence, reason="stopped")
        await clock.advance(5)
        report = await team.finished()
    assert (report.exit_code, on_disk(layout, 1)["attempt"]) == (0, 2)
    lock.release()
