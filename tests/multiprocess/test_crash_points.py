"""A process that dies at a step of a save: what is on disk, and what the next one makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.testing import STEPS, Racer, broken_promises, make_board, race
from runner.testing.crash import CRASHED

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

LATER_S = 3600.0


def crash(root: Path, die: str) -> None:
    with Racer(root, "dying", die=die) as racer:
        racer.tell("drain")
        assert racer.process.wait() == CRASHED


def task(root: Path, number: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / f".tasks/task_{number}.json").read_bytes())
    return found


# the saves of task 1, then of task 2, which it blocks: claim, completion, the list of blockers
@pytest.mark.parametrize("nth", [1, 2], ids=["claim", "completion"])
@pytest.mark.parametrize("step", STEPS)
def test_a_death_at_a_step_loses_nothing_and_the_next_run_goes_on(
    tmp_path: Path, step: str, nth: int
) -> None:
    make_board(tmp_path, [{"id": 1}, {"id": 2, "blockedBy": [1]}])
    crash(tmp_path, f"{step}:{nth}:task_1.json")

    was_written = step == "replaced"
    expected = {1: ("pending", "in_progress"), 2: ("in_progress", "completed")}[nth][was_written]
    assert task(tmp_path, 1)["status"] == expected
    assert task(tmp_path, 2)["status"] == "pending"

    race(tmp_path, ["next"], ahead_s=LATER_S)
    assert [task(tmp_path, number)["status"] for number in (1, 2)] == ["completed"] * 2
    assert broken_promises(tmp_path) == []


def test_a_death_between_the_two_files_of_a_completion_needs_no_repair(tmp_path: Path) -> None:
    make_board(tmp_path, [{"id": 1}, {"id": 2, "blockedBy": [1]}])
    crash(tmp_path, "replacing:1:task_2.json")

    assert task(tmp_path, 1)["status"] == "completed"
    assert task(tmp_path, 2)["blockedBy"] == [1]

    race(tmp_path, ["next"], ahead_s=LATER_S)
    assert task(tmp_path, 2)["status"] == "completed"
    assert task(tmp_path, 2)["attempt"] == 1
    assert broken_promises(tmp_path) == []
