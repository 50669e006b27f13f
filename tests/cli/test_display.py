from __future__ import annotations

import io
from pathlib import Path

import anyio
import pytest
from rich.console import Console

from runner.cli.display import LineDisplay, LiveDisplay
from runner.core.settings import Limits, Settings
from runner.testing.board import make_board
from runner.work.run import build_team


async def test_a_live_view_counts_the_grace_period_down_from_when_the_stop_was_noticed(
    tmp_path: Path,
) -> None:
    team = build_team(make_board(tmp_path, [{"id": 1}]), Settings(limits=Limits(grace_s=10)))
    display = LiveDisplay(team, Console(file=io.StringIO()))
    snapshot = await display.look()
    assert display.picture(snapshot, 100.0).ends_in is None
    team.stop()
    assert [display.picture(snapshot, now).ends_in for now in (100.0, 104.0, 120.0)] == [10, 6, 0]


async def test_what_happened_stays_above_the_live_view_one_line_each_and_only_what_matters(
    tmp_path: Path,
) -> None:
    team = build_team(make_board(tmp_path, [{"id": 1, "subject": "Go " * 50}]), Settings())
    told = io.StringIO()
    display = LiveDisplay(team, Console(file=told, width=60))
    team.journal.emit("task.claimed", teammate="ann", task=1)
    team.journal.emit("tool.ended", teammate="ann", task=1, tool="ls")
    team.journal.emit("message.sent", teammate="ann", type="shutdown_response", to="lead")
    await display.end()
    [line] = told.getvalue().splitlines()
    assert len(line) <= 60
    assert " claimed           1    Go Go" in line
    assert line.endswith("…")


@pytest.mark.parametrize("task", [1, None])
async def test_what_happens_right_before_the_end_of_a_run_is_told(
    tmp_path: Path, task: int | None
) -> None:
    team = build_team(make_board(tmp_path, [{"id": 1, "subject": "Go"}]), Settings())
    told: list[str] = []
    display = LineDisplay(team, told.append)
    team.journal.emit("task.claimed", teammate="ann", task=task)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await display.drain()
    await display.end()
    [line] = told
    assert " claimed" in line
