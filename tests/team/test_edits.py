"""A person, or git, changes task files while a watched team works on them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import anyio
import pytest

from runner.core.clock import SystemClock
from runner.core.layout import Layout
from runner.core.settings import Limits, Settings
from runner.team.outcome import Done, Outcome
from runner.team.pulse import Pulse
from runner.team.types import Assignment, Teammate
from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.team import running_team
from tests.team.helpers import events, on_disk

QUICK = Settings(limits=Limits(poll_interval_s=0.1))


def git(root: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A board in a repository, with its one task as it was committed."""
    layout = make_board(tmp_path, [{}])
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".tasks")
    git(tmp_path, "commit", "--quiet", "--message", "board")
    return layout


class Hands:
    """Work that lasts until it is told to end."""

    def __init__(self) -> None:
        self.begun, self.may_end, self.calls = anyio.Event(), anyio.Event(), 0
        self.was_cut = False

    async def __call__(self, assignment: Assignment, mate: Teammate) -> Outcome:
        self.calls += 1
        self.begun.set()
        try:
            await self.may_end.wait()
        except anyio.get_cancelled_exc_class():
            self.was_cut = True
            raise
        return Done()


async def test_a_checkout_of_the_board_takes_no_task_from_who_works_on_it(layout: Layout) -> None:
    hands, members = Hands(), ["ann", "bob"]
    async with running_team(
        layout, work=hands, members=members, settings=QUICK, drain=True
    ) as team:
        restored = Pulse(SystemClock())
        team.journal.subscribe(lambda line: restored.beat() if line.get("restored") else None)
        await hands.begun.wait()
        claimed = on_disk(layout, 1)
        git(layout.root, "checkout", "--quiet", "--", ".tasks")
        await restored.wait(0, 15)
        assert on_disk(layout, 1) == claimed
        hands.may_end.set()
        report = await team.finished()
    assert (report.exit_code, hands.calls, on_disk(layout, 1)["attempt"]) == (0, 1, 1)
    assert [line.get("restored") for line in events(team.journal, "task.claimed")] == [None, True]


async def test_what_a_person_writes_into_a_task_in_progress_stays(layout: Layout) -> None:
    hands = Hands()
    async with running_team(
        layout, work=hands, members=["ann"], settings=QUICK, drain=True
    ) as team:
        await hands.begun.wait()
        path = layout.tasks / "task_1.json"
        path.write_text(path.read_text().replace("{", '{"labels": ["mine"],', 1))
        hands.may_end.set()
        report = await team.finished()
    done = on_disk(layout, 1)
    assert (report.exit_code, done["status"], done["labels"]) == (0, "completed", ["mine"])


async def test_a_claim_that_a_checkout_took_is_put_back_as_soon_as_that_is_told(
    layout: Layout,
) -> None:
    hands, clock = Hands(), FakeClock()
    async with running_team(layout, work=hands, members=["ann"], clock=clock, drain=True) as team:
        await hands.begun.wait()
        claimed, state = on_disk(layout, 1), team._state
        assert state is not None
        git(layout.root, "checkout", "--quiet", "--", ".tasks")
        state.on_files({"task_1.json"}, ())
        await clock.settle()
        assert on_disk(layout, 1) == claimed
        hands.may_end.set()
        report = await team.finished()
    assert (report.exit_code, hands.calls) == (0, 1)


async def test_a_file_that_is_told_to_be_gone_may_be_on_its_way_until_the_next_tick(
    layout: Layout,
) -> None:
    hands, clock, path = Hands(), FakeClock(), layout.tasks / "task_1.json"
    async with running_team(layout, work=hands, members=["ann"], clock=clock, drain=True) as team:
        await hands.begun.wait()
        state, kept = team._state, path.read_bytes()
        assert state is not None
        for gone in (True, False):
            path.unlink() if gone else path.write_bytes(kept)
            state.on_files({"task_1.json"}, ())
            await clock.settle()
        await clock.advance(20)
        assert not hands.was_cut
        path.unlink()
        await clock.advance(5)
        await team.finished()
    assert hands.was_cut


@pytest.mark.parametrize("by", ["a branch with another text", "a person", "a deletion"])
async def test_an_attempt_whose_task_is_taken_away_is_stopped_and_writes_nothing(
    layout: Layout, by: str
) -> None:
    hands, path = Hands(), layout.tasks / "task_1.json"
    git(layout.root, "checkout", "--quiet", "-b", "other")
    path.write_text('{"id": 1, "subject": "Another", "status": "done"}')
    git(layout.root, "commit", "--quiet", "--all", "--message", "another")
    git(layout.root, "checkout", "--quiet", "-")
    async with running_team(
        layout, work=hands, members=["ann"], settings=QUICK, drain=True
    ) as team:
        await hands.begun.wait()
        if by == "a branch with another text":
            git(layout.root, "checkout", "--quiet", "--force", "other")
        elif by == "a person":
            path.write_text('{"id": 1, "subject": "Task 1", "status": "completed", "by": "me"}')
        else:
            path.unlink()
        left = path.read_bytes() if path.exists() else None
        report = await team.finished()
    assert (report.exit_code, hands.was_cut) == (0, True)
    assert (path.read_bytes() if path.exists() else None) == left
    assert len(events(team.journal, "task.lost")) == 1
