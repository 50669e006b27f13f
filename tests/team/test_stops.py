"""Runs that are stopped, by somebody or by a limit."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread

from runner.core.files import locked
from runner.core.settings import Budget, Limits, Settings
from runner.team.outcome import Done, HandedBack, Outcome, Usage
from runner.team.roster_files import live_members
from runner.team.team import Team
from runner.team.types import Assignment, Teammate
from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.team import running_team
from tests.team.helpers import (
    events,
    finish,
    impatient,
    mend_board,
    on_disk,
    spoil,
    stop_mate,
    write,
)


async def hang(assignment: Assignment, mate: Teammate) -> Outcome:
    await anyio.sleep_forever()
    return Done()


async def test_a_stop_lets_the_turn_end_within_the_grace_time(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}, {}]), FakeClock()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        while not mate.stopping:
            await mate.clock.sleep(1)
        await mate.clock.sleep(8)
        return Done()

    async with running_team(layout, work=work, members=["ann"], clock=clock) as team:
        await clock.advance(5)
        team.stop(15)
        await clock.advance(9)
        report = await team.finished()
    assert report.exit_code == 128 + 15
    assert [on_disk(layout, n)["status"] for n in (1, 2)] == ["completed", "pending"]
    assert "attempt" not in on_disk(layout, 2)


async def test_after_the_grace_time_the_task_goes_back(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()
    async with running_team(layout, work=hang, members=["ann", "bob"], clock=clock) as team:
        await clock.advance(1)
        team.stop()
        await clock.advance(9.9)
        assert on_disk(layout, 1)["status"] == "in_progress"
        await clock.advance(0.1)
        report = await team.finished()
    task = on_disk(layout, 1)
    assert (task["status"], task.get("owner"), task["attempt"]) == ("pending", None, 1)
    assert task["usage"]["seconds"] == 11
    assert report.exit_code == 3


async def test_a_second_stop_does_not_wait_for_the_grace_time(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()
    async with running_team(layout, work=hang, members=["ann"], clock=clock) as team:
        await clock.settle()
        team.stop(2)
        team.stop(15)
        report = await team.finished()
    assert report.exit_code == 128 + 2
    assert on_disk(layout, 1)["status"] == "pending"


async def test_a_swallowed_cancellation_completes_nothing(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        try:
            await anyio.sleep_forever()
        except BaseException:  # noqa: BLE001 - the very mistake that must do no harm
            return Done(result="sure")
        raise AssertionError("unreachable: nobody sleeps forever")

    async with running_team(layout, work=work, members=["ann"], clock=clock) as team:
        await clock.settle()
        team.stop()
        team.stop()
        await team.finished()
    assert on_disk(layout, 1)["status"] == "pending"


async def test_a_stop_before_the_start_claims_nothing(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])
    team = Team(layout, Settings(), finish)
    team.stop()
    assert (await team.run()).exit_code == 3
    assert "attempt" not in on_disk(layout, 1)
    assert team.looks_taken == 1


async def test_a_second_stop_gives_up_a_release_that_gets_no_lock(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])
    with_lock, let_go = anyio.Event(), anyio.Event()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        with_lock.set()
        await let_go.wait()
        return HandedBack(reason="stopped")

    async with running_team(layout, work=work, members=["ann"]) as team:
        await with_lock.wait()
        with locked(layout.lock_file):
            team.stop()
            let_go.set()
            team.stop()
            report = await team.finished()
    assert report.exit_code == 3
    assert on_disk(layout, 1)["status"] == "in_progress"
    # nobody is left who holds it: the next run takes it
    later = FakeClock(datetime(2100, 1, 1, tzinfo=UTC))
    async with running_team(layout, work=finish, clock=later, drain=True) as team:
        assert (await team.finished()).exit_code == 0


async def test_a_release_under_way_is_hurried_by_the_second_stop(tmp_path: Path) -> None:
    layout, working, cut = make_board(tmp_path, [{}]), anyio.Event(), anyio.Event()
    settings = Settings(limits=Limits(grace_s=0))

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        working.set()
        try:
            await anyio.sleep_forever()
        finally:
            cut.set()
        return Done()

    async with running_team(layout, work=work, members=["ann"], settings=settings) as team:
        await working.wait()
        with locked(layout.lock_file):
            team.stop()
            await cut.wait()
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
            team.stop()
            await team.finished()
    assert on_disk(layout, 1)["status"] == "in_progress"


async def test_a_cancelled_run_returns_what_it_held(tmp_path: Path) -> None:
    layout, working = make_board(tmp_path, [{}]), anyio.Event()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        working.set()
        await anyio.sleep_forever()
        return Done()

    async with anyio.create_task_group() as group:
        group.start_soon(Team(layout, Settings(), work).run)
        await working.wait()
        group.cancel_scope.cancel()
    assert on_disk(layout, 1)["status"] == "pending"
    assert live_members(layout) == ("lead",)


async def test_the_time_limit_ends_the_run_with_exit_4(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()
    settings = Settings(budget=Budget(time_s=30))
    async with running_team(layout, work=hang, settings=settings, clock=clock) as team:
        await clock.advance(40)
        report = await team.finished()
    assert report.exit_code == 4
    assert report.notes == ("the time limit of 30 s is used up",)
    assert on_disk(layout, 1)["status"] == "pending"


async def test_a_second_limit_changes_nothing(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(layout, work=finish, clock=clock) as team:
        await clock.settle()
        team.stop()
        team.limit_reached("budget", "first")
        team.limit_reached("time", "second")
        report = await team.finished()
    assert (report.exit_code, report.notes) == (4, ("first",))


async def test_a_stop_gives_up_a_result_that_cannot_be_saved(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        (layout.tasks / "task_1.json").chmod(0o444)
        return Done()

    async with running_team(layout, work=work, members=["ann"], clock=clock) as team:
        await clock.advance(3)
        team.stop()
        await clock.advance(10)
        report = await team.finished()
    assert (report.exit_code, report.tasks[0].state) == (3, "in_progress")
    assert events(team.journal, "teammate.crashed") == []


async def test_after_the_grace_time_no_lock_delays_the_end(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}, {}, {}])
    busy, held = anyio.Event(), anyio.Event()
    settings = Settings(limits=Limits(grace_s=0.1, poll_interval_s=0.05))

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        if mate.name == "ann":
            busy.set()
            await anyio.sleep_forever()
        await held.wait()
        return Done()

    members = ["ann", "bob", "cid", "dan"]
    async with running_team(layout, work=work, members=members, settings=settings) as team:
        await busy.wait()
        with locked(layout.lock_file), locked(layout.team / "roster.lock"):
            held.set()
            started = anyio.current_time()
            team.stop(15)
            report = await team.finished()
            took_s = anyio.current_time() - started
    assert (report.exit_code, took_s < 5) == (128 + 15, True)


async def test_a_time_limit_is_the_reason_of_what_it_stopped(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}, {}]), FakeClock()
    settings = Settings(budget=Budget(time_s=30), limits=Limits(grace_s=2))

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        mate.progress.spent = lambda: Usage(turns=7)
        return await hang(assignment, mate)

    async with running_team(
        layout, work=work, members=["ann"], settings=settings, clock=clock
    ) as team:
        await clock.advance(32)
        report = await team.finished()
    first, second = report.tasks
    assert first.reason == "time limit of 30 s reached"
    assert second.reason == "not done: time limit of 30 s reached"
    assert first.usage is not None
    assert (first.usage["turns"], first.seconds) == (7, 32)
    assert (first.state, second.state) == ("ready", "ready")


async def test_after_the_grace_time_no_inbox_delays_the_end(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{"owner": "ann"}])
    busy, held = anyio.Event(), anyio.Event()
    settings = Settings(limits=Limits(grace_s=0.05, poll_interval_s=0.05))

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        busy.set()
        await held.wait()
        return Done()

    write(layout, "bob", "never read")
    with locked(layout.inbox / "bob.lock"), locked(layout.inbox / "lead.lock"):
        members = ["ann", "bob"]
        async with running_team(layout, work=work, members=members, settings=settings) as team:
            await busy.wait()
            await anyio.to_thread.run_sync(stop_mate, team, "ann", FakeClock())
            started = anyio.current_time()
            held.set()
            team.stop(15)
            report = await team.finished()
            took_s = anyio.current_time() - started
    assert (report.exit_code, took_s < 5) == (128 + 15, True)


async def test_a_back_off_does_not_outlive_the_run(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock) as team:
        await clock.sleepers(1)
        spoil(layout)
        await clock.advance(5)
        mend_board(layout)
        team.stop()
        await team.finished()
    assert clock.monotonic() == 5


async def test_a_stopped_run_does_not_try_again_and_again_to_save(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()
    async with running_team(layout, work=hang, members=["ann"], clock=clock) as team:
        impatient(team, layout, clock)
        await clock.settle()
        with locked(layout.lock_file):
            team.stop()
            team.stop()
            await team.finished()
    assert clock.monotonic() == 0
    assert events(team.journal, "teammate.crashed") == []
