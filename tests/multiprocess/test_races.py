"""Many processes on one board, in a short form; `score.py` has the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.testing import broken_promises, make_board, race
from tests.multiprocess.rounds import kill_round, race_round

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


def test_eight_processes_do_every_task_once_and_lose_none(tmp_path: Path) -> None:
    assert race_round(tmp_path, processes=8, tasks=160) == []


@pytest.mark.parametrize("seed", range(6))
def test_a_board_whose_processes_are_killed_ends_complete_or_explained(
    tmp_path: Path, seed: int
) -> None:
    assert kill_round(tmp_path, seed).faults == ()


def test_a_race_through_layers_keeps_the_order(tmp_path: Path) -> None:
    make_board(tmp_path, [{"blockedBy": [number] if number else []} for number in range(20)])
    raced = race(tmp_path, ["a", "b", "c"])
    assert sum(map(len, raced.done)) == 20
    assert raced.twice == []
    assert broken_promises(tmp_path, swept=True) == []
