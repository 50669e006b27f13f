"""What a further attempt is told about the one before it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.board.task import Task
from runner.testing import call, give_up, make_board, submit
from runner.testing.model import Step
from runner.work.records.earlier import earlier_end
from runner.work.records.transcript import task_transcript
from tests.work.conftest import told

if TYPE_CHECKING:
    from tests.work.conftest import Stage

OPENED_AGAIN = "Attempt 1 handed in a result that was accepted; then the task was opened again."


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ([submit(1)], OPENED_AGAIN),
        ([give_up("no <compiler>\nhere")], "Attempt 1 failed: no <compiler> here"),
        ([call("ls")] * 5, "Attempt 1 failed: the same calls (ls)"),
    ],
)
async def test_a_further_attempt_is_told_how_the_one_before_ended(
    stage: Stage, first: list[Step], said: str
) -> None:
    task = await stage.claim()
    await stage.work(task, *first)
    await stage.mate.board.release(task.fence, reason="to be done again")

    await stage.work(await stage.mate.board.claim(1, stage.mate.claimant), submit(1))

    assert f"This is attempt 2. {said}" in told(stage.scripted, 0)


async def test_the_first_attempt_is_told_of_no_other(stage: Stage) -> None:
    await stage.do(submit(1))

    assert "This is attempt" not in told(stage.scripted, 0)


@pytest.mark.parametrize("lines", [b"", b'{"kind": "start"}\n', b'{"outcome": "Do', b"[1]\n"])
def test_one_that_died_is_told_with_what_the_board_says(tmp_path: Path, lines: bytes) -> None:
    layout = make_board(tmp_path)
    task = Task(id=1, key="1", file="task_1.json", attempt=2, error="attempt 1: run r1 died")
    path = task_transcript(layout, replace(task, attempt=1))
    path.parent.mkdir(parents=True)
    path.write_bytes(lines)

    assert earlier_end(layout, task) == "Attempt 1 did not come to its end: run r1 died"


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("Faulted", "was broken off by a fault: no network"),
        ("Done", "did not come to its end: run r1 died"),
    ],
)
def test_an_end_that_the_board_was_not_told_of_is_none(
    tmp_path: Path, outcome: str, said: str
) -> None:
    layout = make_board(tmp_path)
    error = "attempt 1: run r0 died; attempt 2: run r1 died"
    task = Task(id=1, key="1", file="task_1.json", attempt=3, error=error)
    path = task_transcript(layout, replace(task, attempt=2))
    path.parent.mkdir(parents=True)
    path.write_text(f'{{"outcome": "{outcome}", "why": "no network"}}\n')

    assert earlier_end(layout, task) == f"Attempt 2 {said}"


def test_the_budget_of_a_run_is_no_failure_of_the_work(tmp_path: Path) -> None:
    layout = make_board(tmp_path)
    task = Task(id=1, key="1", file="task_1.json", attempt=2)
    path = task_transcript(layout, replace(task, attempt=1))
    path.parent.mkdir(parents=True)
    path.write_text('{"outcome": "LimitReached", "limit": "budget", "why": "1 usd is spent"}\n')

    assert earlier_end(layout, task) == "Attempt 1 was given back unfinished: 1 usd is spent"


def test_one_by_hand_left_no_transcript(tmp_path: Path) -> None:
    task = Task(id=1, key="1", file="task_1.json", attempt=3)

    assert earlier_end(make_board(tmp_path), task) == "Attempt 2 did not come to its end."
