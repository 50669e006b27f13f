"""Runs: what they refuse at the start, and how their errors come out."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from runner.core.settings import Budget, MemberSpec, Settings
from runner.errors import ConfigError, UsageError
from runner.team.team import Team
from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.team import running_team
from tests.team.helpers import finish


async def test_a_state_folder_that_is_a_file_is_refused_at_the_start(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])
    layout.team.touch()
    with pytest.raises(UsageError, match=r"\.team: File exists"):
        await Team(layout, Settings(), finish).run()


async def test_what_can_be_asked_before_a_run_has_begun(tmp_path: Path) -> None:
    team = Team(make_board(tmp_path), Settings(), finish)
    assert (team.teammates, team.looks_taken, team.stopping) == ((), 0, False)


async def test_an_error_of_the_run_itself_is_raised_as_it_is(tmp_path: Path) -> None:
    class Broken(FakeClock):
        async def sleep(self, seconds: float) -> None:
            if seconds == 77:
                raise ZeroDivisionError
            await super().sleep(seconds)

    settings = Settings(budget=Budget(time_s=77))
    with pytest.raises(ZeroDivisionError):
        await Team(make_board(tmp_path), settings, finish, clock=Broken()).run()


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
