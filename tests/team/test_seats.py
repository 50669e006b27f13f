"""Seats: who is called back, who stays away, who is given up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from runner.board.task import Claimant
from runner.core.settings import MemberSpec
from runner.errors import SaveFailed
from runner.team.outcome import Done, Outcome
from runner.team.requests import read_request
from runner.team.types import Assignment, Teammate
from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.team import running_team
from tests.team.helpers import events, finish, mend_board, on_disk, spoil, stop_mate


def coder(name: str) -> MemberSpec:
    return MemberSpec(name=name, role="coder")


async def test_an_empty_seat_is_taken_again_when_there_is_work(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{"required_role": "coder"}]), FakeClock()
    long = anyio.Event()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        if mate.name == "cod":
            await long.wait()
        return Done()

    members = [coder("cod"), MemberSpec(name="ann")]
    async with running_team(layout, work=work, members=members, clock=clock) as team:
        await clock.advance(60)
        assert [mate.progress.status for mate in team.teammates] == ["working", "shutdown"]
        make_board(tmp_path, [{"id": 2, "priority": 1}])
        await clock.advance(5)
        assert on_disk(layout, 2)["status"] == "completed"
        assert team.teammates[1].progress.status == "idle"
        long.set()
    assert len(events(team.journal, "teammate.spawned")) == 3


async def test_nobody_is_called_back_for_what_an_idle_teammate_can_do(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{"owner": "bob"}]), FakeClock()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await mate.clock.sleep(58)
        return Done()

    async with running_team(layout, work=work, members=["ann", "bob"], clock=clock) as team:
        await clock.advance(60)
        assert [mate.progress.status for mate in team.teammates] == ["shutdown", "idle"]
        await team.board.add({"subject": "one for bob"})
        await clock.settle()
        assert [mate.progress.status for mate in team.teammates] == ["shutdown", "working"]


async def test_nobody_is_called_back_for_a_task_that_admission_refuses(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{"owner": "bob"}]), FakeClock()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await mate.clock.sleep(600)
        return Done()

    def refuses_for(claimant: Claimant) -> Any:
        return lambda task: "no such agent" if task.key == "2" else None

    async with running_team(
        layout, work=work, members=["ann", "bob"], clock=clock, refuses_for=refuses_for
    ) as team:
        await clock.advance(60)
        await team.board.add({"subject": "refused"})
        await clock.advance(5)
        assert team.teammates[0].progress.status == "shutdown"
        await clock.advance(30)
        told = events(team.journal, "task.unclaimable")
        assert [(line["task"], line["reason"]) for line in told] == [(2, "no such agent")]
        team.limit_reached("budget", "no money")
        await clock.advance(5)


async def test_a_teammate_asked_to_stop_answers_and_stays_away(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(layout, work=finish, members=["ann", "bob"], clock=clock) as team:
        await clock.sleepers(2)
        request = await anyio.to_thread.run_sync(stop_mate, team, "ann", clock)
        await clock.advance(5)
        assert [mate.progress.status for mate in team.teammates] == ["shutdown", "idle"]
        make_board(tmp_path, [{"owner": "ann"}])
        await clock.advance(60)
        report = await team.finished()
    record = read_request(layout, request)
    assert record is not None
    assert (record.status, record.by) == ("approved", "ann")
    answer = json.loads((layout.inbox / "lead.jsonl").read_bytes())
    assert (answer["type"], answer["from"]) == ("shutdown_response", "ann")
    assert answer["request"] == request
    assert events(team.journal, "teammate.shutdown")[0]["reason"] == "requested"
    assert report.exit_code == 3


async def test_an_open_task_is_finished_before_a_shutdown_request_is_heeded(
    tmp_path: Path,
) -> None:
    layout, clock = make_board(tmp_path, [{}, {}]), FakeClock()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await mate.clock.sleep(20)
        assert await mate.new_mail() is None
        return Done()

    async with running_team(layout, work=work, members=["ann"], clock=clock) as team:
        await clock.settle()
        await anyio.to_thread.run_sync(stop_mate, team, "ann", clock)
        await clock.advance(20)
        await team.finished()
    assert [on_disk(layout, n)["status"] for n in (1, 2)] == ["completed", "pending"]


async def test_a_teammate_that_crashes_by_itself_comes_back_after_a_while(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock) as team:
        await clock.sleepers(1)
        spoil(layout)
        await clock.advance(5)
        assert len(events(team.journal, "teammate.crashed")) == 1
        mend_board(layout)
        make_board(tmp_path, [{"id": 1}])
        await clock.advance(0.5)
        assert on_disk(layout, 1)["status"] == "pending"
        await clock.advance(0.5)
        assert on_disk(layout, 1)["status"] == "completed"


async def test_a_teammate_that_crashes_again_and_again_is_given_up(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock) as team:
        await clock.sleepers(1)
        spoil(layout)
        await clock.advance(5 + 1 + 2 + 4 + 8 + 15)
        assert len(events(team.journal, "teammate.crashed")) == 5

        def mend(line: dict[str, Any]) -> None:
            if line["event"] == "teammate.shutdown":
                mend_board(layout)

        team.journal.subscribe(mend)
        await clock.advance(1)
        await team.finished()
    assert len(events(team.journal, "teammate.crashed")) == 6
    assert [line["reason"] for line in events(team.journal, "teammate.shutdown")] == ["given_up"]


async def test_a_crash_of_the_helper_that_fills_seats_is_no_crash_of_the_run(
    tmp_path: Path,
) -> None:
    layout, clock, asked = make_board(tmp_path, [{"owner": "bob"}]), FakeClock(), list[str]()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await mate.clock.sleep(70)
        return Done()

    def refuses_for(claimant: Claimant) -> Any:
        if claimant.name == "ann" and not asked:
            asked.append(claimant.name)
            raise SaveFailed("disk", "on fire")
        return lambda task: None

    async with running_team(
        layout, work=work, members=["ann", "bob"], clock=clock, refuses_for=refuses_for
    ) as team:
        await clock.advance(61)
        await team.board.add({"owner": "ann", "subject": "s"})
        await clock.advance(10)
        assert asked
        assert on_disk(layout, 1)["status"] == "completed"


def broken_admission(claimant: Claimant) -> Any:
    raise ZeroDivisionError("by zero\nand more")


@pytest.mark.parametrize(("names", "after_s"), [(["ann", "bob", "cid"], 0), (["ann"], 1)])
async def test_a_team_that_crashes_alike_before_it_does_anything_is_given_up(
    tmp_path: Path, names: list[str], after_s: float, capsys: pytest.CaptureFixture[str]
) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()
    async with running_team(
        layout, work=finish, members=names, clock=clock, refuses_for=broken_admission
    ) as team:
        await clock.advance(after_s)
        report = await team.finished()
    said = "every teammate crashed: ZeroDivisionError: by zero"
    assert (report.exit_code, report.notes) == (3, (said,))
    assert report.tasks[0].reason == f"not done: {said}"
    assert len(events(team.journal, "teammate.crashed")) == max(2, len(names))
    err = capsys.readouterr().err
    assert (err.count("Traceback"), err.count("teammate_crashed")) == (1, max(2, len(names)))
