"""The longest line of open tasks that wait for one another."""

from __future__ import annotations

from typing import Any

from runner.board.graph import critical_path
from runner.board.reading import parse_task
from runner.board.saving import encode_task
from runner.board.task import Task


def board(*tasks: dict[str, Any]) -> dict[str, Task]:
    found: dict[str, Task] = {}
    for fields in tasks:
        raw = {"subject": "x", **fields}
        file = f"task_{raw['id']}.json"
        task, _ = parse_task(file, encode_task(file, raw))
        assert task is not None
        found[task.key] = task
    return found


def test_an_empty_board_has_no_critical_path() -> None:
    assert critical_path({}) == ()


def test_the_longest_line_counts_not_the_widest_task() -> None:
    tasks = board(
        {"id": 1},
        {"id": 2, "blockedBy": [1]},
        {"id": 3},
        {"id": 4},
        {"id": 5, "blockedBy": [3, 4, 2]},
    )
    assert critical_path(tasks) == ("1", "2", "5")


def test_of_lines_of_one_length_the_first_by_ids_is_taken() -> None:
    tasks = board({"id": 10}, {"id": 9}, {"id": 2, "blockedBy": [10, 9]}, {"id": 1})
    assert critical_path(tasks) == ("9", "2")


def test_what_is_done_is_not_on_the_line_and_what_failed_is() -> None:
    tasks = board(
        {"id": 1, "status": "completed"},
        {"id": 2, "status": "failed", "blockedBy": [1]},
        {"id": 3, "blockedBy": [2]},
    )
    assert critical_path(tasks) == ("2", "3")


def test_rings_and_missing_blockers_do_not_disturb() -> None:
    tasks = board(
        {"id": 1, "blockedBy": [2]},
        {"id": 2, "blockedBy": [1]},
        {"id": 3, "blockedBy": [99]},
        {"id": 4, "blockedBy": [3]},
        {"id": 5, "blockedBy": [4, 1]},
    )
    assert critical_path(tasks) == ("3", "4")
    assert critical_path(board({"id": 1, "blockedBy": [1]})) == ()
