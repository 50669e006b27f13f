"""Boards that are busy, broken or gone, and what that may cost a run."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from runner.board.board import Board
from runner.board.task import Claimant, Task
from runner.core.files import locked
from runner.core.settings import Settings
from runner.team.outcome import Done, Outcome
from runner.team.team import Team
from runner.team.types import Assignment, Teammate
from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.team import running_team
from tests.team.helpers import events, finish, half_write, impatient, mend_board, on_disk, spoil


async def test_a_board_that_cannot_be_looked_at_for_a_while_costs_no_attempt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout, clock, go = make_board(tmp_path, [{}]), FakeClock(), anyio.Event()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await go.wait()
        return Done()

    async with running_team(layout, work=work, members=["ann"], clock=clock, drain=True) as team:
        await clock.sleepers(1)
        spoil(layout)
        await clock.advance(5)
        mend_board(layout)
        await clock.advance(5)
        go.set()
        assert (await team.finished()).exit_code == 0
    assert (on_disk(layout, 1)["status"], on_disk(layout, 1)["attempt"]) == ("completed", 1)
    assert capsys.readouterr().err.count("claim_not_seen") == 1


async def test_a_result_that_cannot_be_saved_is_kept_until_it_can(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout, clock, runs = make_board(tmp_path, [{}, {}]), FakeClock(), list[str]()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        assert isinstance(assignment, Task)
        runs.append(assignment.key)
        if assignment.key == "1":
            (layout.tasks / assignment.file).chmod(0o444)
        return Done(result="sure")

    members = ["ann", "bob"]
    async with running_team(layout, work=work, members=members, clock=clock, drain=True) as team:
        await clock.advance(50)
        assert [on_disk(layout, n)["status"] for n in (1, 2)] == ["in_progress", "completed"]
        (layout.tasks / "task_1.json").chmod(0o644)
        await clock.advance(10)
        assert (await team.finished()).exit_code == 0
    assert sorted(runs) == ["1", "2"]
    assert (on_disk(layout, 1)["attempt"], on_disk(layout, 1)["result"]) == (1, "sure")
    assert capsys.readouterr().err.count("result_not_saved") == 1


async def test_a_result_that_can_never_be_saved_is_given_up_after_an_idle_timeout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout, clock = make_board(tmp_path, [{}, {}, {"blockedBy": [1]}]), FakeClock()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        assert isinstance(assignment, Task)
        if assignment.key == "1":
            (layout.tasks / assignment.file).chmod(0o444)
        return Done()

    async with running_team(layout, work=work, members=["ann"], clock=clock, drain=True) as team:
        await clock.advance(60)
        report = await team.finished()
    assert report.exit_code == 3
    assert [row.verdict for row in report.tasks] == ["undone", "completed", "undone"]
    file = layout.tasks / "task_1.json"
    said = f"could not be saved: {file}: the file is read-only (no write bits)"
    assert report.tasks[0].reason == said
    assert report.tasks[2].reason == "blocked by 1 (in_progress)"
    assert events(team.journal, "task.lost")[0]["found"] == said
    assert capsys.readouterr().err.count("result_given_up") == 1
    file.chmod(0o644)
    assert [task.key for task in await Board(layout).return_stale()] == ["1"]


async def test_a_board_that_is_gone_for_good_ends_the_run_with_its_path(tmp_path: Path) -> None:
    layout, clock, go = make_board(tmp_path, [{}]), FakeClock(), anyio.Event()
    errors = list[OSError]()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await go.wait()
        spoil(layout)
        return Done()

    async def run(team: Team) -> None:
        try:
            await team.run()
        except OSError as error:
            errors.append(error)

    team = Team(layout, Settings(), work, clock=clock)
    async with anyio.create_task_group() as group:
        group.start_soon(run, team)
        await clock.settle()
        go.set()
        await clock.advance(120)
    assert [error.filename for error in errors] == [str(layout.tasks)]


async def test_a_task_half_written_at_its_end_is_completed_when_it_is_whole(
    tmp_path: Path,
) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()
    path = layout.tasks / "task_1.json"

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        whole.append(path.read_bytes())
        half_write(layout, 1, clock)
        return Done(result="kept")

    whole: list[bytes] = []
    async with running_team(layout, work=work, members=["ann"], clock=clock, drain=True) as team:
        await clock.settle()
        path.write_bytes(whole[0])
        await clock.advance(2)
        assert (await team.finished()).exit_code == 0
    assert (len(whole), on_disk(layout, 1)["result"]) == (1, "kept")


async def test_a_busy_board_delays_and_loses_nothing(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}, {}]), FakeClock()
    go = anyio.Event()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await go.wait()
        return Done()

    async with running_team(layout, work=work, members=["ann", "bob"], clock=clock) as team:
        impatient(team, layout, clock)
        with locked(layout.lock_file):
            # nobody can claim, nor return what nobody works on
            await clock.advance(5)
        await clock.advance(5)
        with locked(layout.lock_file):
            # both have a result, and cannot save it
            go.set()
            await clock.settle()
        await clock.advance(1)
        assert [on_disk(layout, n)["status"] for n in (1, 2)] == ["completed", "completed"]


@pytest.mark.parametrize(("held_s", "exit_code"), [(50, 0), (60, 3)])
async def test_a_result_waits_for_the_lock_for_an_idle_timeout(
    tmp_path: Path, held_s: float, exit_code: int
) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()
    go = anyio.Event()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await go.wait()
        return Done()

    async with running_team(layout, work=work, members=["ann"], clock=clock, drain=True) as team:
        impatient(team, layout, clock)
        await clock.advance(5)
        with locked(layout.lock_file):
            go.set()
            await clock.advance(held_s)
        assert on_disk(layout, 1)["status"] == "in_progress"
        await clock.advance(10)
        report = await team.finished()
    assert (report.exit_code, on_disk(layout, 1)["attempt"]) == (exit_code, 1)


async def test_what_nobody_works_on_waits_for_the_lock_too(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{"required_role": "coder"}]), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock) as team:
        impatient(team, layout, clock)
        await clock.sleepers(1)
        await team.board.claim(1, Claimant(name="zoe", role="coder"))
        with locked(layout.lock_file):
            await clock.advance(5)
        assert on_disk(layout, 1)["status"] == "in_progress"
        await clock.advance(5)
        assert on_disk(layout, 1)["status"] == "pending"


async def test_a_claim_of_this_run_that_nobody_works_on_goes_back(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{"required_role": "coder"}]), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock) as team:
        await clock.sleepers(1)
        await team.board.claim(1, Claimant(name="zoe", role="coder"))
        await clock.advance(5)
        assert on_disk(layout, 1)["status"] == "pending"
