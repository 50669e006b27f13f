"""Mail between teammates during a run."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.to_thread

from runner.team.mailbox import Mailbox
from runner.team.outcome import Done, Outcome
from runner.team.types import Assignment, Mail, Teammate
from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.team import running_team
from tests.team.helpers import finish, stop_mate, write


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


async def test_teammates_know_each_other(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(layout, work=finish, members=["ann", "bob"], clock=clock) as team:
        await clock.settle()
        assert team.teammates[0].members() == ("lead", "ann", "bob")


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
