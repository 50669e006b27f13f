"""WORK, IDLE, shutdown: the life of a team on a clock that a test moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio

from runner.core.settings import MemberSpec
from runner.team.outcome import Done, Outcome
from runner.team.types import Assignment, Mail, Teammate
from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.team import running_team
from tests.team.helpers import events, finish, on_disk, write


async def test_an_empty_board_is_polled_twelve_times_and_then_left(tmp_path: Path) -> None:
    clock = FakeClock()
    async with running_team(
        make_board(tmp_path), work=finish, members=["ann"], clock=clock
    ) as team:
        await clock.sleepers(1)
        await clock.advance(59.9)
        assert team.teammates[0].progress.status == "idle"
        await clock.advance(0.1)
        report = await team.finished()
    assert report.exit_code == 0
    assert clock.monotonic() == 60
    assert [line["reason"] for line in events(team.journal, "teammate.shutdown")] == [
        "idle_timeout"
    ]


async def test_work_found_at_the_start_is_claimed_without_a_tick(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}, {}]), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock):
        await clock.settle()
        assert clock.monotonic() == 0
        assert [on_disk(layout, n)["status"] for n in (1, 2)] == ["completed", "completed"]


async def test_a_task_that_appears_is_claimed_at_the_next_tick(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock):
        await clock.sleepers(1)
        await clock.advance(7)
        make_board(tmp_path, [{"id": 1}])
        await clock.advance(2.9)
        assert on_disk(layout, 1)["status"] == "pending"
        await clock.advance(0.1)
        assert on_disk(layout, 1)["status"] == "completed"


async def test_the_inbox_comes_before_the_board(tmp_path: Path) -> None:
    layout, seen = make_board(tmp_path, [{}]), list[str]()
    write(layout, "ann", "hello")

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        seen.append("mail" if isinstance(assignment, Mail) else "task")
        return Done()

    async with running_team(layout, work=work, members=["ann"], drain=True) as team:
        await team.finished()
    assert seen == ["mail", "task"]


async def test_an_idle_time_begins_anew_after_work(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock) as team:
        await clock.advance(52)
        make_board(tmp_path, [{"id": 1}])
        await clock.advance(55 + 59 - 52)
        assert team.teammates[0].progress.status == "idle"
        await clock.advance(1)
        await team.finished()
    assert clock.monotonic() == 115


async def test_time_at_work_is_no_idle_time(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await mate.clock.sleep(600)
        return Done()

    async with running_team(layout, work=work, members=["ann"], clock=clock) as team:
        await clock.advance(600 + 59)
        assert team.teammates[0].progress.status == "idle"
        await clock.advance(1)
        await team.finished()
    assert on_disk(layout, 1)["status"] == "completed"


async def test_the_idle_clock_stands_still_behind_a_running_task(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}, {"blockedBy": [1]}]), FakeClock()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await mate.clock.sleep(180)
        return Done(result=mate.name)

    async with running_team(layout, work=work, members=["ann", "bob"], clock=clock) as team:
        await clock.advance(179)
        assert [mate.progress.status for mate in team.teammates] == ["working", "idle"]
        await clock.advance(1)
        assert on_disk(layout, 2)["status"] == "in_progress"
        await clock.advance(180)
        await clock.advance(60)
        report = await team.finished()
    assert report.exit_code == 0


async def test_the_idle_clock_runs_for_somebody_who_could_not_do_it(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}, {"blockedBy": [1], "required_role": "coder"}])
    clock, members = FakeClock(), [MemberSpec(name="ann", role="coder"), MemberSpec(name="rev")]

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await mate.clock.sleep(180)
        return Done()

    async with running_team(layout, work=work, members=members, clock=clock) as team:
        await clock.advance(65)
        assert [mate.progress.status for mate in team.teammates] == ["working", "shutdown"]


async def test_a_wake_up_that_finds_nothing_resets_nothing(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{"required_role": "coder"}]), FakeClock()
    members = [MemberSpec(name="ann", role="coder"), MemberSpec(name="rev")]

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await mate.clock.sleep(58)
        return Done()

    async with running_team(layout, work=work, members=members, clock=clock) as team:
        await clock.advance(59)
        assert team.teammates[1].progress.status == "idle"
        await clock.advance(1)
        assert team.teammates[1].progress.status == "shutdown"


async def test_two_teammates_work_at_the_same_time(tmp_path: Path) -> None:
    layout, together = make_board(tmp_path, [{}, {}]), list[str]()
    both = anyio.Event()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        together.append(mate.name)
        if len(together) == 2:
            both.set()
        await both.wait()
        return Done()

    async with running_team(layout, work=work, members=["ann", "bob"], drain=True) as team:
        report = await team.finished()
    assert sorted(together) == ["ann", "bob"]
    assert report.exit_code == 0


async def test_a_finished_blocker_wakes_who_waits_without_a_tick(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}, {"blockedBy": [1]}, {"blockedBy": [1]}]), FakeClock()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await mate.clock.sleep(1 if task_id(assignment) == 1 else 100)
        return Done()

    async with running_team(layout, work=work, members=["ann", "bob"], clock=clock) as team:
        await clock.advance(1)
        assert [mate.progress.status for mate in team.teammates] == ["working", "working"]


async def test_mail_to_an_idle_teammate_is_seen_at_once(tmp_path: Path) -> None:
    layout, clock, seen = make_board(tmp_path, [{"owner": "ann"}]), FakeClock(), list[str]()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        if isinstance(assignment, Mail):
            seen.extend(f"{mate.name}: {one.content}" for one in assignment.messages)
        else:
            await mate.clock.sleep(1)
            await mate.send("bob", "look at task 1")
        return Done()

    async with running_team(layout, work=work, members=["ann", "bob"], clock=clock) as team:
        await clock.advance(1)
        assert seen == ["bob: look at task 1"]
        assert len(events(team.journal, "message.delivered")) == 1


async def test_a_message_turn_may_claim_what_is_worked_on_next(tmp_path: Path) -> None:
    layout, order = make_board(tmp_path, [{"priority": 5}, {}]), list[Any]()
    write(layout, "ann", "take 2 first")

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        if isinstance(assignment, Mail):
            await mate.claim_task(2)
        else:
            order.append(assignment.id)
        return Done()

    async with running_team(layout, work=work, members=["ann"], drain=True) as team:
        await team.finished()
    assert order == [2, 1]


async def test_hundreds_of_idle_teammates_share_one_look(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{"required_role": "nobody"}]), FakeClock()
    members = [f"mate-{number}" for number in range(200)]
    async with running_team(layout, work=finish, members=members, clock=clock) as team:
        await clock.sleepers(200)
        looks = team.looks_taken
        await clock.advance(5)
        assert looks < team.looks_taken <= looks + 2


def task_id(assignment: Assignment) -> int | str | None:
    return None if isinstance(assignment, Mail) else assignment.id
