"""What becomes of a task when its attempt ends, whichever way it ends."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from runner.board.outlook import Refuses
from runner.board.task import Claimant, Task
from runner.core.layout import Layout
from runner.errors import ClaimLost, NotClaimable, OwnInbox
from runner.team.mailbox import Mailbox
from runner.team.outcome import (
    Done,
    Failed,
    Faulted,
    HandedBack,
    LimitReached,
    Lost,
    Outcome,
    Usage,
)
from runner.team.team import Team
from runner.team.types import Assignment, Mail, Teammate
from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.team import running_team
from tests.team.helpers import events, on_disk, write


class Always:
    """A work that gives the same outcome to everybody, and counts."""

    def __init__(self, outcome: Outcome | Exception) -> None:
        self.outcome = outcome
        self.given = list[Assignment]()

    async def __call__(self, assignment: Assignment, mate: Teammate) -> Outcome:
        self.given.append(assignment)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


async def drained(layout: Layout, outcome: Outcome) -> tuple[Team, int, Always]:
    work = Always(outcome)
    async with running_team(layout, work=work, members=["ann"], drain=True) as team:
        report = await team.finished()
    return team, report.exit_code, work


async def test_done_completes_with_result_and_usage(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])
    done = Done(result={"answer": 42}, usage=Usage(turns=3, tool_calls=2))
    _, code, _ = await drained(layout, done)
    task = on_disk(layout, 1)
    assert (code, task["status"], task["result"]) == (0, "completed", {"answer": 42})
    assert task["usage"]["toolCalls"] == 2


@pytest.mark.parametrize(
    "outcome",
    [
        Failed(error="no way"),
        LimitReached(limit="max_turns", error="no way"),
        LimitReached(limit="timeout", error="no way"),
        LimitReached(limit="repeated_calls", error="no way"),
    ],
)
async def test_a_final_outcome_fails_the_task(tmp_path: Path, outcome: Outcome) -> None:
    layout = make_board(tmp_path, [{}])
    _, code, work = await drained(layout, outcome)
    assert (code, len(work.given)) == (1, 1)
    assert (on_disk(layout, 1)["status"], on_disk(layout, 1)["error"]) == ("failed", "no way")


async def test_a_used_up_budget_hands_the_task_back_and_ends_the_run(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}, {}])
    team, code, work = await drained(layout, LimitReached(limit="budget", error="no money"))
    assert (code, len(work.given)) == (4, 1)
    assert on_disk(layout, 1)["status"] == "pending"
    assert [line["reason"] for line in events(team.journal, "budget.reached")] == ["no money"]
    assert team.notes == ["no money"]


async def test_a_fault_is_retried_later_and_fails_in_the_end(tmp_path: Path) -> None:
    layout, clock, work = make_board(tmp_path, [{}]), FakeClock(), Always(Faulted(error="503"))
    async with running_team(layout, work=work, members=["ann"], clock=clock, drain=True) as team:
        await clock.settle()
        assert on_disk(layout, 1)["retryAt"]
        await clock.advance(600)
        report = await team.finished()
    assert (report.exit_code, len(work.given)) == (1, 3)
    assert on_disk(layout, 1)["attempt"] == 3


async def test_a_task_that_was_handed_back_is_not_taken_again_and_again(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])
    _, code, work = await drained(layout, HandedBack(reason="the agent is gone"))
    assert (code, len(work.given)) == (3, 1)
    assert on_disk(layout, 1)["status"] == "pending"


async def test_what_was_handed_back_is_unclaimable_only_while_admission_refuses_it(
    tmp_path: Path,
) -> None:
    layout, gone = make_board(tmp_path, [{"id": 1}, {"id": 2}]), set[str]()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        gone.add("1")
        return HandedBack(reason="the agent is gone")

    def refuses_for(claimant: Claimant) -> Refuses:
        return lambda task: "no such agent" if task.key in gone else None

    async with running_team(
        layout, work=work, members=["ann"], drain=True, refuses_for=refuses_for
    ) as team:
        report = await team.finished()
    assert [row.state for row in report.tasks] == ["unclaimable", "ready"]
    assert {row.reason for row in report.tasks} == {"the agent is gone"}


async def test_a_task_that_was_handed_back_is_taken_again_when_it_changes(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()
    work = Always(HandedBack(reason="the agent is gone"))
    async with running_team(layout, work=work, members=["ann"], clock=clock) as team:
        await clock.advance(10)
        assert len(work.given) == 1
        await team.board.edit(1, {"agent": "task"})
        await clock.advance(5)
        assert len(work.given) == 2


async def test_a_bad_key_ends_claiming_instead_of_failing_every_task(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}, {}, {}])
    refused = HandedBack(reason="401: bad key", stop_claiming=True)
    team, code, work = await drained(layout, refused)
    assert (code, len(work.given)) == (3, 1)
    assert {on_disk(layout, n)["status"] for n in (1, 2, 3)} == {"pending"}
    assert team.notes == ["claiming was stopped: 401: bad key"]
    assert {row.state for row in (await team.finished()).tasks} == {"ready"}


async def test_a_bad_key_leaves_teammates_to_their_idle_timeout(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}, {}, {"blockedBy": [1]}]), FakeClock()
    work = Always(HandedBack(reason="401", stop_claiming=True))
    async with running_team(layout, work=work, members=["ann"], clock=clock) as team:
        await clock.advance(60)
        report = await team.finished()
    assert [row.reason for row in report.tasks] == [
        "401",
        "not done: claiming was stopped: 401",
        "blocked by 1 (pending)",
    ]


async def test_a_lost_claim_writes_nothing(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        assert isinstance(assignment, Task)
        await mate.board.edit(1, {"status": "completed"}, force=True)
        return Done(result="late")

    async with running_team(layout, work=work, members=["ann"], drain=True) as team:
        assert (await team.finished()).exit_code == 0
    assert "result" not in on_disk(layout, 1)
    assert len(events(team.journal, "task.lost")) == 1


@pytest.mark.parametrize("how", [Lost(found="gone"), ClaimLost(1, "gone")])
async def test_a_work_may_find_out_that_its_claim_is_lost(
    tmp_path: Path, how: Outcome | ClaimLost
) -> None:
    layout = make_board(tmp_path, [{}])

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await mate.board.edit(1, {"status": "completed"}, force=True)
        if isinstance(how, ClaimLost):
            raise how
        return how

    async with running_team(layout, work=work, members=["ann"], drain=True) as team:
        await team.finished()
    assert [line["found"] for line in events(team.journal, "task.lost")] == ["gone"]


async def test_a_claim_that_is_taken_away_ends_a_long_attempt(tmp_path: Path) -> None:
    layout, clock, ended = make_board(tmp_path, [{}]), FakeClock(), anyio.Event()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        try:
            await mate.clock.sleep(1000)
        finally:
            ended.set()
        return Done()

    async with running_team(layout, work=work, members=["ann"], clock=clock) as team:
        await clock.advance(12)
        await team.board.edit(1, {"status": "completed"}, force=True)
        assert not ended.is_set()
        await clock.advance(3)
        assert ended.is_set()
        assert len(events(team.journal, "task.lost")) == 1


async def test_an_exception_costs_an_attempt_and_not_the_task(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}, {}]), FakeClock()
    tried = list[int | str]()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        assert isinstance(assignment, Task)
        tried.append(assignment.id)
        if tried == [1]:
            mate.memory["broken"] = True
            raise ZeroDivisionError("oops")
        assert not mate.memory
        return Done()

    async with running_team(layout, work=work, members=["ann"], clock=clock, drain=True) as team:
        await clock.settle()
        assert tried == [1, 2]
        await clock.advance(600)
        report = await team.finished()
    assert (report.exit_code, tried) == (0, [1, 2, 1])
    assert [line["error"] for line in events(team.journal, "teammate.crashed")] == [
        "ZeroDivisionError: oops"
    ]
    assert len(events(team.journal, "teammate.spawned")) == 2


async def test_a_finished_message_turn_is_read_even_if_the_work_forgot(tmp_path: Path) -> None:
    layout = make_board(tmp_path)
    write(layout, "ann", "hello")
    for outcome in (Done(), Failed(error="?"), LimitReached(limit="max_turns", error="?")):
        _, _, work = await drained(layout, outcome)
        assert len(work.given) == (1 if isinstance(outcome, Done) else 0)


@pytest.mark.parametrize("how", [Faulted(error="503"), ValueError("oops")])
async def test_mail_whose_turn_faults_comes_again_but_not_for_ever(
    tmp_path: Path, how: Outcome | Exception
) -> None:
    layout, clock, work = make_board(tmp_path), FakeClock(), Always(how)
    write(layout, "ann", "hello")
    async with running_team(layout, work=work, members=["ann"], clock=clock, drain=True) as team:
        await clock.settle()
        assert len(work.given) == 1
        await clock.advance(5)
        assert len(work.given) == 2
        await clock.advance(5)
        await team.finished()
    assert len(work.given) == 3
    assert Mailbox(layout, "ann").peek() == ()


@pytest.mark.parametrize(
    "outcome", [HandedBack(reason="stop"), LimitReached(limit="budget", error="no money")]
)
async def test_mail_that_was_handed_back_stays_for_another_run(
    tmp_path: Path, outcome: Outcome
) -> None:
    layout = make_board(tmp_path)
    write(layout, "ann", "hello")
    _, _, work = await drained(layout, outcome)
    assert len(work.given) == 1
    assert [one.content for one in Mailbox(layout, "ann").peek()] == ["hello"]


async def test_mail_taken_in_work_and_not_committed_comes_again(tmp_path: Path) -> None:
    layout, clock, got = make_board(tmp_path, [{}]), FakeClock(), list[str]()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        if isinstance(assignment, Mail):
            got.extend(f"turn: {one.content}" for one in assignment.messages)
            return Done()
        await anyio.to_thread.run_sync(write, layout, "ann", "psst")
        mail = await mate.new_mail()
        assert mail is not None
        assert await mate.new_mail() is None
        got.extend(f"work: {one.content}" for one in mail.messages)
        return Done()

    async with running_team(layout, work=work, members=["ann"], clock=clock, drain=True) as team:
        await clock.advance(5)
        await team.finished()
    assert got == ["work: psst", "turn: psst"]


async def test_committed_mail_is_delivered_once(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        assert isinstance(assignment, Task)
        await anyio.to_thread.run_sync(write, layout, "ann", "a note")
        mail = await mate.new_mail()
        assert mail is not None
        await mail.commit()
        await mail.commit()
        return Done(result=[one.content for one in mail.messages])

    async with running_team(layout, work=work, members=["ann"], drain=True) as team:
        await team.finished()
    assert on_disk(layout, 1)["result"] == ["a note"]
    assert len(events(team.journal, "message.delivered")) == 1


async def test_a_message_to_oneself_is_refused(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        with pytest.raises(OwnInbox, match="to oneself is not sent"):
            await mate.send("ann", "note to myself")
        return Done()

    async with running_team(layout, work=work, members=["ann"], drain=True) as team:
        assert (await team.finished()).exit_code == 0


async def test_claiming_by_hand_is_refused_while_a_task_is_open(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}, {}])

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        with pytest.raises(NotClaimable, match="ann has task 1 open"):
            await mate.claim_task(2)
        return Done()

    async with running_team(layout, work=work, members=["ann"], drain=True, only=[1]) as team:
        assert (await team.finished()).exit_code == 0


async def test_claiming_by_hand_heeds_the_limits_of_the_run(tmp_path: Path) -> None:
    layout, said = make_board(tmp_path, [{}, {}]), list[str]()
    write(layout, "ann", "claim something")

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        if isinstance(assignment, Mail):
            for _ in range(2):
                with pytest.raises(NotClaimable) as refusal:
                    await mate.claim_task(2)
                said.append(str(refusal.value))
                team.stop()
        return Done()

    async with running_team(layout, work=work, members=["ann"], only=[1]) as team:
        await team.finished()
    assert said == [
        "task 2: this run works on other tasks only (--only)",
        "task 2: the run is stopping",
    ]
