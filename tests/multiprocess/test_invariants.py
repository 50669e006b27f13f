"""The check of a board at rest sees what is wrong, and nothing where all is well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.core.files import encode_line
from runner.core.layout import Layout
from runner.testing import broken_promises, make_board, race


def journal(layout: Layout, *events: dict[str, Any]) -> None:
    layout.ensure_team()
    lines = [
        encode_line({"ts": f"2026-01-01T00:00:{second:02}.000Z", "run": "r", **event})
        for second, event in enumerate(events)
    ]
    (layout.runs / "r.jsonl").write_bytes(b"".join(lines))


def event(name: str, task: int = 1, attempt: int = 1, **more: Any) -> dict[str, Any]:
    return {"event": f"task.{name}", "task": task, "attempt": attempt, **more}


def test_a_board_that_was_worked_through_is_in_order(tmp_path: Path) -> None:
    make_board(tmp_path, [{}, {"blockedBy": [1]}])
    race(tmp_path, ["a"])
    assert broken_promises(tmp_path, swept=True) == []


@pytest.mark.parametrize(
    ("events", "fault"),
    [
        ([event("claimed"), event("claimed")], "task 1: attempt 1 was claimed 2 times"),
        (
            [event("claimed"), event("completed"), event("released")],
            "task 1: attempt 1 ended as task.completed and as task.released",
        ),
        ([event("claimed", attempt=5)], "the file counts 2 attempts, the journal 5"),
        (
            [event("claimed", 2), event("claimed"), event("completed")],
            "task 2: claimed before its blocker 1 was completed",
        ),
    ],
)
def test_what_a_journal_contradicts_is_told(
    tmp_path: Path, events: list[dict[str, Any]], fault: str
) -> None:
    done = {"status": "completed", "attempt": 2}
    layout = make_board(tmp_path, [done, {**done, "unblockedBy": [1]}])
    journal(layout, *events)
    assert any(fault in found for found in broken_promises(tmp_path))


def test_a_restored_claim_and_a_stale_one_that_is_failed_are_in_order(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{"status": "failed", "attempt": 1}])
    journal(
        layout, event("claimed"), event("claimed", restored=True), event("stale"), event("failed")
    )
    assert broken_promises(tmp_path) == []


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"status": "in_progress", "owner": "a"}, "in progress and held by nobody"),
        ({"unblockedBy": [2]}, "2 left its blockers and is pending"),
        (
            {
                "status": "completed",
                "claim": {"id": "c", "run": "r", "by": "a", "at": "x", "place": "h", "was": ""},
            },
            "completed without an end",
        ),
    ],
)
def test_what_a_file_contradicts_is_told(
    tmp_path: Path, fields: dict[str, Any], fault: str
) -> None:
    make_board(tmp_path, [fields, {}])
    assert any(fault in found for found in broken_promises(tmp_path))


def test_torn_files_and_temporaries_are_told(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])
    (layout.tasks / "task_2.json").write_text('{"id": 2, "sta')
    (layout.tasks / ".task_1.json.abc.tmp").write_text("half")
    faults = broken_promises(tmp_path, swept=True)
    assert any(fault.startswith("task_2.json: ") for fault in faults)
    assert ".task_1.json.abc.tmp: a temporary file was left" in faults
    assert len(broken_promises(tmp_path)) == len(faults) - 1


def test_an_end_that_a_later_run_noted_says_nothing_of_when_it_was(tmp_path: Path) -> None:
    done = {"status": "completed", "attempt": 1}
    layout = make_board(tmp_path, [done, {**done, "unblockedBy": [1]}])
    ends = [event("completed", noted_later=True), event("completed", 2)]
    journal(layout, event("claimed"), event("claimed", 2), *ends)
    assert broken_promises(tmp_path) == []
