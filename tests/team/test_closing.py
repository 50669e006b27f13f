"""What a work holds open is closed at the end of the run."""

from __future__ import annotations

from pathlib import Path

from runner.team.outcome import Done, Outcome
from runner.team.types import Assignment, Teammate
from runner.testing import make_board, running_team


class Holding:
    """A work with something open."""

    closed = 0

    async def __call__(self, assigned: Assignment, teammate: Teammate) -> Outcome:
        assert self.closed == 0
        return Done()

    async def aclose(self) -> None:
        self.closed += 1


async def test_a_work_is_closed_once_when_the_run_has_ended(tmp_path: Path) -> None:
    work = Holding()
    async with running_team(make_board(tmp_path, [{"id": 1}]), work=work, drain=True) as team:
        report = await team.finished()

    assert report.exit_code == 0
    assert work.closed == 1
