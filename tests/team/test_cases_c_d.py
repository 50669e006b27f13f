"""Polls, the order of a look, late mail, and teammates whose every turn fails (C1, C5, D3)."""

from __future__ import annotations

from pathlib import Path

import anyio.to_thread

from runner.core.ids import LEAD
from runner.team.outcome import Done, Failed, Outcome
from runner.team.requests import ask_to_stop
from runner.team.team import Team
from runner.team.types import Assignment, Mail, Teammate
from runner.testing import FakeClock, make_board, running_team
from tests.team.helpers import events, finish, on_disk, write


async def test_an_idle_teammate_looks_at_once_and_then_twelve_times(tmp_path: Path) -> None:
    clock, looks = FakeClock(), list[int]()
    layout = make_board(tmp_path)
    async with running_team(layout, work=finish, members=["ann"], clock=clock) as team:
        await clock.sleepers(1)
        for _ in range(12):
            looks.append(team.looks_taken)
            await clock.advance(5)
        await team.finished()
    assert looks == list(range(looks[0], looks[0] + 12))
    assert clock.monotonic() == 60


async def test_at_a_tick_too_the_inbox_comes_before_the_board(tmp_path: Path) -> None:
    layout, clock, seen = make_board(tmp_path), FakeClock(), list[tuple[str, float]]()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        seen.append(("mail" if isinstance(assignment, Mail) else "task", clock.monotonic()))
        return Done()

    async with running_team(layout, work=work, members=["ann"], clock=clock) as team:
        await clock.sleepers(1)
        await clock.advance(7)
        make_board(tmp_path, [{}])
        write(layout, "ann", "read me first")
        await clock.advance(3)
        assert team.teammates[0].progress.status == "idle"
    assert seen == [("mail", 10), ("task", 10)]


async def test_mail_that_comes_as_work_ends_is_read_at_the_first_look(tmp_path: Path) -> None:
    layout, clock, read = make_board(tmp_path, [{}]), FakeClock(), list[str]()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        if isinstance(assignment, Mail):
            read.extend(one.content for one in assignment.messages)
        else:
            await anyio.to_thread.run_sync(write, layout, "ann", "one more thing")
        return Done()

    async with running_team(layout, work=work, members=["ann"], clock=clock):
        await clock.sleepers(1)
    assert (read, clock.monotonic()) == (["one more thing"], 0)


async def test_mail_at_the_last_poll_brings_an_idle_teammate_back_to_work(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock) as team:
        await clock.advance(59)
        write(layout, "ann", "wait")
        await clock.advance(60)
        assert team.teammates[0].progress.status == "idle"
        await clock.advance(1)
        await team.finished()
    assert len(events(team.journal, "message.delivered")) == 1
    assert clock.monotonic() == 120


async def test_who_fails_at_every_message_still_shuts_down_when_asked(tmp_path: Path) -> None:
    layout, clock, tried = make_board(tmp_path), FakeClock(), list[Assignment]()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        tried.append(assignment)
        return Failed(error="the context is full")

    async with running_team(layout, work=work, members=["ann"], clock=clock) as team:
        write(layout, "ann", "are you there?")
        await clock.advance(5)
        assert tried
        await anyio.to_thread.run_sync(_ask_to_stop, team, clock)
        await clock.advance(5)
        await team.finished()
    reasons = [line["reason"] for line in events(team.journal, "teammate.shutdown")]
    assert reasons == ["requested"]


def _ask_to_stop(team: Team, clock: FakeClock) -> None:
    ask_to_stop(
        team.layout,
        "ann",
        sender=LEAD,
        run=team.run_id,
        members=["ann"],
        clock=clock,
        journal=team.journal,
    )


async def test_work_that_is_long_leaves_no_task_behind_without_a_nudge(tmp_path: Path) -> None:
    """C1 as written: 1 takes three minutes, 2 waits for it, nobody looks in."""
    layout, clock = make_board(tmp_path, [{}, {"blockedBy": [1]}]), FakeClock()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await mate.clock.sleep(180)
        return Done()

    members = ["ann", "bob"]
    async with running_team(layout, work=work, members=members, clock=clock, drain=True) as team:
        await clock.advance(360)
        report = await team.finished()
    assert report.exit_code == 0
    assert [on_disk(layout, n)["status"] for n in (1, 2)] == ["completed"] * 2
