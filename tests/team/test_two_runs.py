"""Two runs on one board, each with its own teammates."""

from __future__ import annotations

import shutil
from pathlib import Path

import anyio
import pytest

from runner.core.ids import LEAD
from runner.core.layout import Layout
from runner.core.settings import Limits, Settings
from runner.team.outcome import Done, Failed, Faulted, LimitReached, Outcome
from runner.team.requests import ask_to_stop
from runner.team.roster_files import live_members
from runner.team.types import Assignment, Mail, Teammate
from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.team import running_team
from tests.team.helpers import events, finish, on_disk

# nothing here is seen by a poll
NO_POLL = Settings(limits=Limits(poll_interval_s=3600, idle_timeout_s=36_000))


class Held:
    """Work that begins, and ends when it is told to."""

    def __init__(self, outcome: Outcome) -> None:
        self.begun, self.may_end = anyio.Event(), anyio.Event()
        self.outcome = outcome

    async def __call__(self, assignment: Assignment, mate: Teammate) -> Outcome:
        self.begun.set()
        await self.may_end.wait()
        return self.outcome


@pytest.mark.parametrize(
    ("outcome", "exit_code"), [(Done(), 0), (Failed(error="no"), 1)], ids=["done", "failed"]
)
async def test_a_drain_that_lost_the_race_ends_with_the_other_though_no_poll_is_near(
    tmp_path: Path, outcome: Outcome, exit_code: int
) -> None:
    layout, held = make_board(tmp_path, [{}]), Held(outcome)
    async with running_team(
        layout, work=held, members=["ann"], settings=NO_POLL, drain=True
    ) as first:
        await held.begun.wait()
        async with running_team(
            layout, work=finish, members=["ann"], settings=NO_POLL, drain=True
        ) as second:
            second.journal.subscribe(
                lambda line: held.may_end.set() if line["event"] == "teammate.idle" else None
            )
            reports = [await first.finished(), await second.finished()]
    assert [report.exit_code for report in reports] == [exit_code] * 2
    assert on_disk(layout, 1)["attempt"] == 1


async def test_what_a_stopped_run_hands_back_is_done_by_the_other_at_once(tmp_path: Path) -> None:
    layout, held = make_board(tmp_path, [{}]), Held(Done())
    async with running_team(layout, work=held, members=["ann"], settings=NO_POLL) as first:
        await held.begun.wait()
        async with running_team(
            layout, work=finish, members=["bob"], settings=NO_POLL, drain=True
        ) as second:
            first.stop()
            first.stop()
            await first.finished()
            report = await second.finished()
    assert report.exit_code == 0
    assert (on_disk(layout, 1)["owner"], on_disk(layout, 1)["attempt"]) == ("bob", 2)


async def test_mail_reaches_the_one_it_names_whichever_run_it_sits_in(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{"owner": "ann-2"}]), FakeClock()
    read: list[tuple[str, str]] = []

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        if isinstance(assignment, Mail):
            read.extend((mate.run, message.content) for message in assignment.messages)
        else:
            assert mate.members() == (LEAD, "ann", "ann-2", "bob")
            await mate.send("ann", "to the first")
            await mate.send("bob", "to the second")
        return Done()

    async with running_team(layout, work=work, members=["ann"], clock=clock, run_id="one"):
        await clock.settle()
        async with running_team(
            layout, work=work, members=["ann", "bob"], clock=clock, run_id="two"
        ):
            await clock.advance(10)
    assert sorted(read) == [("one", "to the first"), ("two", "to the second")]


async def test_who_is_asked_to_stop_in_one_run_stays_in_the_other(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock) as first:
        await clock.settle()
        async with running_team(layout, work=finish, members=["ann"], clock=clock) as second:
            await clock.settle()
            ask_to_stop(
                layout,
                "ann-2",
                sender=LEAD,
                run=second.run_id,
                members=live_members(layout),
                clock=clock,
                journal=second.journal,
            )
            await clock.advance(5)
            report = await second.finished()
        assert [row.status for row in report.teammates] == ["shutdown"]
        assert live_members(layout) == (LEAD, "ann")
        assert not events(first.journal, "teammate.shutdown")


@pytest.mark.parametrize(
    "outcome",
    [
        Failed(error="no such folder"),
        Faulted(error="no such folder"),
        LimitReached(limit="max_turns", error="50 turns"),
    ],
    ids=lambda outcome: type(outcome).__name__,
)
async def test_a_workspace_that_is_removed_costs_no_task(tmp_path: Path, outcome: Outcome) -> None:
    root = make_board(tmp_path, [{}, {}]).root
    workspace = tmp_path / "worktree"
    workspace.mkdir()
    layout = Layout(root=root, workspace=workspace)

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        shutil.rmtree(workspace)
        return outcome

    async with running_team(layout, work=work, members=["ann"], drain=True) as team:
        report = await team.finished()
    assert report.exit_code == 3
    assert [on_disk(layout, number)["status"] for number in (1, 2)] == ["pending"] * 2
    assert report.tasks[0].reason == f"the workspace {workspace} is gone"
    assert "faults" not in on_disk(layout, 1)


async def test_what_was_done_before_the_workspace_went_stays_done(tmp_path: Path) -> None:
    root = make_board(tmp_path, [{}]).root
    workspace = tmp_path / "worktree"
    workspace.mkdir()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        workspace.rmdir()
        return Done()

    layout = Layout(root=root, workspace=workspace)
    async with running_team(layout, work=work, members=["ann"], drain=True) as team:
        report = await team.finished()
    assert (report.exit_code, on_disk(layout, 1)["status"]) == (0, "completed")
