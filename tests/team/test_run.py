"""Runs: how they end, stop, drain, and keep their seats taken."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from runner.board.board import Board
from runner.board.runs import RunLock
from runner.board.task import Claimant, Task
from runner.core.clock import SystemClock
from runner.core.files import locked
from runner.core.layout import Layout
from runner.core.settings import Budget, Limits, MemberSpec, Settings
from runner.errors import ConfigError, SaveFailed, UsageError
from runner.team.mailbox import Mailbox
from runner.team.outcome import Done, HandedBack, Outcome, Usage
from runner.team.requests import ask_to_stop, read_request
from runner.team.roster_files import live_members
from runner.team.team import Team
from runner.team.types import Assignment, Mail, Teammate
from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.team import running_team
from tests.team.helpers import events, finish, half_write, on_disk, write


async def hang(assignment: Assignment, mate: Teammate) -> Outcome:
    await anyio.sleep_forever()
    return Done()


def coder(name: str) -> MemberSpec:
    return MemberSpec(name=name, role="coder")


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
    team = Team(layout, Settings(), finish, clock=clock)
    lock = RunLock.start(layout, "other")
    other = Board(layout, clock=SystemClock(), journal=team.journal, run="other")
    task = await other.claim(1, Claimant(name="zoe"))
    async with running_team(layout, work=finish, clock=clock, drain=True) as team:
        await clock.advance(300)
        assert {mate.progress.status for mate in team.teammates} == {"idle"}
        await other.complete(task.fence)
        await clock.advance(5)
        assert (await team.finished()).exit_code == 0
    lock.release()


async def test_a_drain_sees_the_end_of_what_another_live_run_works_on(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()
    lock = RunLock.start(layout, "other")
    journal = Team(layout, Settings(), finish, clock=clock).journal
    other = Board(layout, clock=SystemClock(), journal=journal, run="other")
    task = await other.claim(1, Claimant(name="zoe"))
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
    lock = RunLock.start(layout, "other")
    journal = Team(layout, Settings(), finish, clock=clock).journal
    other = Board(layout, clock=SystemClock(), journal=journal, run="other")
    task = await other.claim(1, Claimant(name="zoe"))
    async with running_team(layout, work=finish, clock=clock, drain=True) as team:
        await clock.advance(5)
        await other.release(task.fence, reason="stopped")
        await clock.advance(5)
        report = await team.finished()
    assert (report.exit_code, on_disk(layout, 1)["attempt"]) == (0, 2)
    lock.release()


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


async def test_mail_that_came_with_the_request_is_read_first(tmp_path: Path) -> None:
    layout, clock, got = make_board(tmp_path), FakeClock(), list[str]()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        assert isinstance(assignment, Mail)
        got.extend(one.content for one in assignment.messages)
        await anyio.to_thread.run_sync(write, layout, "ann", "too late")
        return Done()

    async with running_team(layout, work=work, members=["ann", "bob"], clock=clock) as team:
        await clock.sleepers(2)
        await anyio.to_thread.run_sync(write, layout, "ann", "last words")
        await anyio.to_thread.run_sync(stop_mate, team, "ann", clock)
        await clock.advance(5)
        assert team.teammates[0].progress.status == "shutdown"
        team.stop()
        report = await team.finished()
    assert got == ["last words"]
    assert report.notes == ("1 message for ann stayed unread",)
    assert [one.content for one in Mailbox(layout, "ann").peek() if one.type == "message"] == [
        "too late"
    ]


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


async def test_a_state_folder_that_is_a_file_is_refused_at_the_start(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])
    layout.team.touch()
    with pytest.raises(UsageError, match=r"\.team: File exists"):
        await Team(layout, Settings(), finish).run()


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


class Chatty:
    """Answers every message; `heard` by others in message turns, `told` within tasks."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.told: list[str] = []

    async def __call__(self, assignment: Assignment, mate: Teammate) -> Outcome:
        if isinstance(assignment, Mail):
            self.heard.extend(one.content for one in assignment.messages)
        elif (mail := await mate.new_mail()) is not None:
            self.told.extend(one.content for one in mail.messages)
        await mate.send("bob" if mate.name == "ann" else "ann", "and you?")
        return Done()


async def test_teammates_who_answer_each_other_do_not_go_on_for_ever(tmp_path: Path) -> None:
    layout, clock, work = make_board(tmp_path, [{}]), FakeClock(), Chatty()
    members = ["ann", "bob"]
    async with running_team(layout, work=work, members=members, clock=clock, drain=True) as team:
        report = await team.finished()
    assert (report.exit_code, report.totals["attempts"]) == (0, 1)
    assert 10 <= len(work.heard) <= 20
    assert any(
        "ann answered mail with mail 10 times in a row: further mail waits" in n
        for n in report.notes
    )
    assert any("stayed unread" in note for note in report.notes)


async def test_mail_that_waits_joins_the_next_task_and_the_lead_is_heard_at_once(
    tmp_path: Path,
) -> None:
    layout, clock, work = make_board(tmp_path, [{"owner": "ann"}]), FakeClock(), Chatty()
    async with running_team(layout, work=work, members=["ann", "bob"], clock=clock) as team:
        await clock.advance(10)
        waiting = next(n for n in ("ann", "bob") if Mailbox(layout, n).peek())
        make_board(tmp_path, [{"id": 2, "owner": waiting}])
        await clock.advance(5)
        assert work.told == ["and you?"]
        await anyio.to_thread.run_sync(write, layout, "ann", "the lead speaks")
        await clock.advance(5)
        assert "the lead speaks" in work.heard
        team.stop()


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


def impatient(team: Team, layout: Layout, clock: FakeClock) -> None:
    """Give the team a board that waits for its lock for a twentieth of a second only."""
    team.board = Board(
        layout, clock=clock, journal=team.journal, run=team.run_id, lock_timeout_s=0.05
    )


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


async def test_what_can_be_asked_before_a_run_has_begun(tmp_path: Path) -> None:
    team = Team(make_board(tmp_path), Settings(), finish)
    assert (team.teammates, team.looks_taken, team.stopping) == ((), 0, False)


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


async def test_an_error_of_the_run_itself_is_raised_as_it_is(tmp_path: Path) -> None:
    class Broken(FakeClock):
        async def sleep(self, seconds: float) -> None:
            if seconds == 77:
                raise ZeroDivisionError
            await super().sleep(seconds)

    settings = Settings(budget=Budget(time_s=77))
    with pytest.raises(ZeroDivisionError):
        await Team(make_board(tmp_path), settings, finish, clock=Broken()).run()


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


async def test_teammates_know_each_other(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(layout, work=finish, members=["ann", "bob"], clock=clock) as team:
        await clock.settle()
        assert team.teammates[0].members() == ("lead", "ann", "bob")


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


async def test_a_claim_of_this_run_that_nobody_works_on_goes_back(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{"required_role": "coder"}]), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock) as team:
        await clock.sleepers(1)
        await team.board.claim(1, Claimant(name="zoe", role="coder"))
        await clock.advance(5)
        assert on_disk(layout, 1)["status"] == "pending"


async def test_the_name_lead_is_reserved(tmp_path: Path) -> None:
    settings = Settings(members=(MemberSpec(name="lead"),))
    with pytest.raises(ConfigError, match="reserved"):
        await Team(make_board(tmp_path), settings, finish).run()


async def test_a_run_that_could_not_start_has_no_report(tmp_path: Path) -> None:
    layout, refusals = make_board(tmp_path), list[str]()

    async def ask(team: Team) -> None:
        with pytest.raises(RuntimeError) as refusal:
            await team.finished()
        refusals.append(str(refusal.value))

    team = Team(layout, Settings(members=(MemberSpec(name="lead"),)), finish, run_id="r1")
    async with anyio.create_task_group() as group:
        group.start_soon(ask, team)
        with pytest.raises(ConfigError):
            await team.run()
    assert refusals == ["run r1 ended with an error and has no report"]


async def test_an_error_in_the_body_is_raised_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with running_team(make_board(tmp_path), work=finish):
            raise KeyError("mine")


def test_an_id_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--only"):
        Team(make_board(tmp_path), Settings(), finish, only=[""])


async def test_tasks_of_another_place_are_taken_over_on_request(tmp_path: Path) -> None:
    claim = {"id": "c1", "run": "gone", "by": "zoe", "at": "2026-01-01T00:00:00Z"}
    claim |= {"source": "run", "place": "elsewhere:1"}
    layout = make_board(tmp_path, [{"status": "in_progress", "claim": claim, "owner": "zoe"}])
    assert (await Team(layout, Settings(), finish, drain=True).run()).exit_code == 3
    assert (await Team(layout, Settings(), finish, drain=True, take_over=True).run()).exit_code == 0


def stop_mate(team: Team, name: str, clock: FakeClock) -> str:
    return ask_to_stop(
        team.layout,
        name,
        sender="lead",
        run=team.run_id,
        members=live_members(team.layout),
        clock=clock,
        journal=team.journal,
    ).id


def spoil(layout: Layout) -> None:
    """A board that cannot be looked at: its folder is a file."""
    layout.tasks.rename(layout.root / "aside")
    layout.tasks.touch()


def mend_board(layout: Layout) -> None:
    layout.tasks.unlink()
    (layout.root / "aside").rename(layout.tasks)


async def test_mail_that_is_only_read_never_waits(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{"owner": "ann"}]), FakeClock()
    heard: list[str] = []

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        if isinstance(assignment, Mail):
            heard.extend(one.content for one in assignment.messages)
            return Done()
        for number in range(30):
            await mate.send("bob", str(number))
            await clock.sleep(1)
        return Done()

    members = ["ann", "bob"]
    async with running_team(layout, work=work, members=members, clock=clock, drain=True) as team:
        await clock.advance(30)
        report = await team.finished()
    assert heard == [str(number) for number in range(30)]
    assert not any("unread" in note for note in report.notes)
