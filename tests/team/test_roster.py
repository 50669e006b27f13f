"""Who is in the team, on disk."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from runner.board.runs import RunLock
from runner.core.layout import Layout
from runner.core.settings import MemberSpec, Settings
from runner.errors import UnsafeName
from runner.team.outcome import Done, Outcome
from runner.team.roster import Roster
from runner.team.roster_files import RosterFiles, known_names, live_members, names
from runner.team.types import Assignment, Teammate
from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.team import running_team
from tests.team.helpers import events, finish


def loaded(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_bytes())
    assert isinstance(value, dict)
    return value


def enlist(layout: Layout, run: str, *names: str) -> list[str]:
    roster = Roster(layout, run=run, team="t", clock=FakeClock())
    return [one.name for one in roster.enlist([MemberSpec(name=name) for name in names])]


async def test_the_files_follow_the_teammates(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{"owner": "ann"}]), FakeClock()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await mate.clock.sleep(30)
        return Done()

    settings = Settings(team="crew", members=(MemberSpec(name="ann", role="coder"),))
    async with running_team(layout, work=work, settings=settings, clock=clock, run_id="r1") as team:
        await clock.advance(1)
        own = loaded(layout.runs / "r1.json")
        assert (own["run"], own["team"], own["ended"]) == ("r1", "crew", None)
        assert own["members"] == [
            {"name": "ann", "role": "coder", "agent": None, "status": "working", "task": 1}
        ]
        assert loaded(layout.config) == {
            "version": 1,
            "team_name": "crew",
            "members": [
                {"name": "ann", "role": "coder", "agent": None, "status": "working", "run": "r1"}
            ],
        }
        await clock.advance(90)
        await team.finished()
    assert loaded(layout.runs / "r1.json")["ended"]
    assert loaded(layout.config)["members"][0]["status"] == "shutdown"


async def test_the_first_change_waits_a_second_too(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        await mate.clock.sleep(30)
        return Done()

    async with running_team(layout, work=work, members=["ann"], clock=clock):
        await clock.advance(0.9)
        assert loaded(layout.config)["members"][0]["status"] == "idle"
        await clock.advance(0.1)
        assert loaded(layout.config)["members"][0]["status"] == "working"


async def test_changes_are_written_at_most_once_a_second(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock):
        await clock.advance(0.5)
        before = layout.config.stat().st_ino
        make_board(tmp_path, [{"id": 1}])
        await clock.advance(0.4)
        assert layout.config.stat().st_ino == before


async def test_a_name_of_another_live_run_gets_a_number_and_is_told(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock, run_id="one"):
        await clock.settle()
        async with running_team(
            layout, work=finish, members=["ann", "bob"], clock=clock, drain=True
        ) as second:
            report = await second.finished()
    assert [row.name for row in report.teammates] == ["ann-2", "bob"]
    assert report.notes == ("ann is taken by run one: called ann-2 here",)


def test_names_within_a_run_are_made_unique_too(layout: Layout) -> None:
    long = "a" * 64
    assert enlist(layout, "r1", "ann", "ann", "ann", long, long) == [
        "ann",
        "ann-2",
        "ann-3",
        long,
        "a" * 62 + "-2",
    ]


def test_a_number_takes_no_name_that_somebody_else_asked_for(layout: Layout) -> None:
    lock = RunLock.start(layout, "live")
    enlist(layout, "live", "ann")
    assert enlist(layout, "r2", "ann", "ann-2", "ann-2-2") == ["ann-3", "ann-2", "ann-2-2"]
    lock.release()


async def test_why_a_teammate_has_another_name_is_told_when_it_comes(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(
        layout, work=finish, members=["ann", "ann"], clock=clock, drain=True
    ) as team:
        report = await team.finished()
    told = [line["reason"] for line in events(team.journal, "teammate.spawned")]
    assert told == [None, "ann is taken by another of this team"]
    assert report.notes == (f"{told[1]}: called ann-2 here",)


def test_members_of_dead_and_ended_runs_are_nobody(layout: Layout) -> None:
    lock = RunLock.start(layout, "live")
    enlist(layout, "live", "ann")
    enlist(layout, "dead", "bob")
    (layout.runs / "junk.json").write_text("[1]", encoding="utf-8")
    (layout.runs / "torn.json").write_text("{", encoding="utf-8")
    assert live_members(layout) == ("lead", "ann")
    assert enlist(layout, "third", "ann", "bob") == ["ann-2", "bob"]
    members = loaded(layout.config)["members"]
    assert [(one["name"], one["run"]) for one in members] == [
        ("ann", "live"),
        ("ann-2", "third"),
        ("bob", "third"),
    ]
    lock.release()
    assert live_members(layout) == ("lead",)


def test_the_next_run_writes_the_end_of_one_that_died(layout: Layout) -> None:
    clock = FakeClock()
    dead = Roster(layout, run="dead", team="t", clock=clock)
    [bob] = dead.enlist([MemberSpec(name="bob", role="coder")])
    dead.update(bob, "working", task=4)
    dead.save()
    enlist(layout, "next", "ann")
    file = loaded(dead.path)
    assert (file["ended"], file["died"]) == ("2026-01-01T00:00:00.000Z", True)
    assert file["members"] == [
        {"name": "bob", "role": "coder", "agent": None, "status": "shutdown", "task": None}
    ]
    before = dead.path.stat()
    enlist(layout, "third", "cy")
    assert dead.path.stat() == before


def test_a_dead_roster_that_cannot_be_written_stops_no_run(layout: Layout) -> None:
    enlist(layout, "dead", "bob")
    (layout.runs / "dead.json").chmod(0o444)
    assert enlist(layout, "next", "bob") == ["bob"]
    assert loaded(layout.runs / "dead.json")["ended"] is None


async def test_who_died_beside_a_live_run_leaves_the_merged_view(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock, run_id="r1"):
        await clock.advance(2)
        lock = RunLock.start(layout, "other")
        other = Roster(layout, run="other", team="t", clock=FakeClock())
        other.enlist([MemberSpec(name="bob")])
        await clock.advance(10)
        assert known_names(layout) == {"ann", "bob"}
        lock.release()
        await clock.advance(5)
        assert known_names(layout) == {"ann"}
        assert loaded(other.path)["died"]


def test_what_has_ended_is_read_once_and_again_when_it_is_written_anew(layout: Layout) -> None:
    lock = RunLock.start(layout, "r1")
    roster = Roster(layout, run="r1", team="t", clock=FakeClock())
    roster.enlist([MemberSpec(name="ann")])
    files = RosterFiles(layout)
    assert [names(file) for file in files.live()] == [["ann"]]
    roster.save(ended=True)
    assert files.live() == []
    at = roster.path.stat().st_mtime_ns
    roster.path.write_text(json.dumps(loaded(roster.path) | {"ended": None}))
    os.utime(roster.path, ns=(at, at))
    assert files.live() == [], "the same file as before, as far as its times tell"
    roster.save()
    assert [names(file) for file in files.live()] == [["ann"]]
    lock.release()


@pytest.mark.parametrize("members", ["null", "[3]", "[{}]", '[{"name": 3}]'])
def test_a_file_that_is_no_roster_counts_as_none(layout: Layout, members: str) -> None:
    lock = RunLock.start(layout, "odd")
    text = f'{{"run": "odd", "ended": null, "members": {members}}}'
    (layout.runs / "odd.json").write_text(text, encoding="utf-8")
    (layout.runs / "link.json").symlink_to("nowhere")
    assert live_members(layout) == ("lead",)
    lock.release()


@pytest.mark.parametrize("content", ['{"theirs": true}', '["x"]', "not json", '{"members": 3}'])
def test_somebody_elses_config_is_never_touched(layout: Layout, content: str) -> None:
    layout.config.write_text(content, encoding="utf-8")
    enlist(layout, "r1", "ann")
    assert layout.config.read_text(encoding="utf-8") == content


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ('{"members": [{"name": "zoe"}, {"role": "coder"}, "ann"]}', {"zoe"}),
        ('{"members": {}}', set()),
        ("[]", set()),
        ("torn {", set()),
    ],
)
def test_the_names_of_a_config_are_read_as_far_as_they_go(
    layout: Layout, content: str, names: set[str]
) -> None:
    layout.config.write_text(content)
    assert known_names(layout) == names


def test_a_name_that_is_no_file_name_is_refused(layout: Layout) -> None:
    with pytest.raises(UnsafeName, match="member name"):
        enlist(layout, "r1", "../x")
    assert not (layout.runs / "r1.json").exists()


def test_a_roster_that_cannot_be_saved_is_logged_and_no_error(
    layout: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    roster = Roster(layout, run="r1", team="t", clock=FakeClock())
    roster.enlist([MemberSpec(name="ann")])
    roster.path.chmod(0o444)
    roster.save(ended=True)
    assert "roster_not_saved" in capsys.readouterr().err
    assert loaded(roster.path)["ended"] is None
