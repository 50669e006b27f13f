"""The report: what is said of every task, and the exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.board.board import Board
from runner.board.outlook import RefusesFor, outlook
from runner.board.task import Claimant
from runner.core.layout import Layout
from runner.team.outcome import Done, Outcome, Usage
from runner.team.report import Report, TaskRow, judge
from runner.team.types import Assignment, Teammate
from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.team import running_team
from tests.team.helpers import half_write


async def finish(assignment: Assignment, mate: Teammate) -> Outcome:
    mate.journal.emit("agent.resolved", teammate=mate.name, task=1, agent="coder")
    return Done(usage=Usage(turns=2, tool_calls=3, input_tokens=10, output_tokens=5, usd=0.5))


async def rows(
    layout: Layout, only: frozenset[str] | None = None, refuses_for: RefusesFor | None = None
) -> dict[str, TaskRow]:
    board = Board(layout, clock=FakeClock())
    snapshot = await board.scan(settle=True)
    view = outlook(snapshot, [Claimant(name="ann", role="worker")], refuses_for, only)
    found = judge(snapshot, view, only=only, agents={}, left="not done: because")
    return {str(row.id): row for row in found}


def report(*verdicts: str, **more: Any) -> Report:
    tasks = tuple(
        TaskRow(id=n, status=None, state="ready", verdict=verdict)  # type: ignore[arg-type]
        for n, verdict in enumerate(verdicts)
    )
    now = FakeClock().now()
    base = Report(run="r", team="t", started=now, finished=now, tasks=tasks, teammates=())
    return replace(base, **more)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (report(), 0),
        (report("completed"), 0),
        (report("completed", "undone"), 3),
        (report("completed", "undone", "failed"), 1),
        (report("failed", limit="time"), 4),
        (report("failed", limit="time", signal=2), 130),
        (report("completed", signal=15), 143),
        (report("completed", signal=1), 129),
    ],
)
def test_the_exit_code_tells_the_gravest(found: Report, code: int) -> None:
    assert found.exit_code == code


async def test_the_document_has_exactly_the_agreed_keys(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()
    async with running_team(
        layout, work=finish, members=["ann"], clock=clock, drain=True, run_id="r1"
    ) as team:
        document = json.loads(json.dumps((await team.finished()).to_json()))
    (task,) = document.pop("tasks")
    assert task.pop("usage")["turns"] == 2
    assert task == {
        "id": 1,
        "status": "completed",
        "state": "completed",
        "owner": "ann",
        "agent": "coder",
        "attempts": 1,
        "seconds": task["seconds"],
        "toolCalls": 3,
        "error": None,
        "reason": None,
    }
    totals = document.pop("totals")
    assert (totals["completed"], totals["inputTokens"], totals["usd"]) == (1, 10, 0.5)
    assert document == {
        "run": "r1",
        "team": "team",
        "started": "2026-01-01T00:00:00.000Z",
        "finished": "2026-01-01T00:00:00.000Z",
        "exit": 0,
        "teammates": [
            {"name": "ann", "role": "worker", "agent": None, "status": "shutdown", "tasks": [1]}
        ],
        "notes": [],
    }


async def test_each_undone_task_has_its_reason(tmp_path: Path) -> None:
    layout = make_board(
        tmp_path,
        [
            {"id": 1, "blockedBy": [99]},
            {"id": 2, "blockedBy": [2]},
            {"id": 3, "required_role": "coder"},
            {"id": 4},
            {"id": 5, "owner": "bob"},
            {"id": 6, "status": "in_progress", "owner": "a-person"},
            {"id": 7, "status": "what"},
            {"id": 8, "retryAt": "2026-01-01T01:00:00Z", "attempt": 2},
            {"id": 9, "status": "deleted"},
            {"id": 10, "status": "failed", "error": "bad"},
        ],
    )
    found = await rows(layout)
    assert {key: row.reason for key, row in found.items() if key != "7"} == {
        "1": "blocked by 99 (missing or unreadable)",
        "2": "waits for the cycle 2 -> 2",
        "3": "needs role coder",
        "4": "not done: because",
        "5": "assigned to bob",
        "6": "in progress by a-person, outside any run",
        "8": "retried from 01:00:00 UTC on, after attempt 2",
        "10": None,
    }
    assert "what" in str(found["7"].reason)
    assert found["10"].verdict == "failed"
    assert {row.verdict for key, row in found.items() if key != "10"} == {"undone"}


async def test_what_only_role_or_admission_keep_back_is_unclaimable(tmp_path: Path) -> None:
    layout = make_board(
        tmp_path,
        [
            {"id": 1, "agent": "gone"},
            {"id": 2, "required_role": "coder"},
            {"id": 3, "owner": "ann", "agent": "gone"},
            {"id": 4, "owner": "bob", "agent": "gone"},
            {"id": 5, "blockedBy": [1], "agent": "gone"},
            {"id": 6, "retryAt": "2026-01-01T01:00:00Z", "agent": "gone"},
            {"id": 7},
        ],
    )

    found = await rows(layout, None, lambda claimant: lambda task: task.agent and "no such agent")

    assert {key: (row.state, row.reason) for key, row in found.items()} == {
        "1": ("unclaimable", "no such agent"),
        "2": ("unclaimable", "needs role coder"),
        "3": ("unclaimable", "no such agent"),
        "4": ("assigned", "assigned to bob"),
        "5": ("blocked", "blocked by 1 (pending)"),
        "6": ("waiting", "retried from 01:00:00 UTC on, after attempt 0"),
        "7": ("ready", "not done: because"),
    }
    assert {row.verdict for row in found.values()} == {"undone"}


async def test_a_file_that_is_no_task_counts_as_undone(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])
    (layout.tasks / "task_4.json").write_text("{", encoding="utf-8")
    (layout.tasks / "task_x y.json").symlink_to("task_1.json")
    found = await rows(layout)
    assert (found["4"].verdict, found["4"].state) == ("undone", "unclaimable")
    assert "task_4.json" in str(found["4"].reason)
    assert found["x y"].verdict == "undone"


async def test_a_half_written_file_counts_as_undone(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    half_write(layout, 4, clock)
    snapshot = await Board(layout, clock=clock).scan()
    (row,) = judge(snapshot, outlook(snapshot, []), only=None, agents={}, left="")
    assert (row.verdict, row.reason) == ("undone", "task_4.json: half-written")


async def test_further_files_of_an_id_count_unless_they_are_done(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{"status": "completed"}])
    for name, status in (("a", "pending"), ("b", "completed")):
        text = json.dumps({"id": 1, "status": status})
        (layout.tasks / f"task_{name}.json").write_text(text, encoding="utf-8")
    board = Board(layout, clock=FakeClock())
    snapshot = await board.scan(settle=True)
    found = judge(snapshot, outlook(snapshot, []), only=None, agents={}, left="")
    assert sorted(row.verdict for row in found) == ["completed", "undone"]


async def test_with_only_the_rest_of_the_board_does_not_count(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{"status": "completed"}, {"status": "failed"}])
    found = await rows(layout, frozenset({"1", "77"}))
    assert {key: row.verdict for key, row in found.items()} == {"1": "completed", "77": "undone"}
    assert found["77"].reason == "there is no task 77 on this board"


async def test_the_time_of_a_task_done_by_hand_is_taken_from_its_stamps(tmp_path: Path) -> None:
    stamps = {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:01:30Z"}
    layout = make_board(tmp_path, [{"status": "completed", **stamps}, {"status": "completed"}])
    found = await rows(layout)
    assert (found["1"].seconds, found["2"].seconds) == (90.0, None)


def test_an_unknown_price_makes_the_sum_unknown() -> None:
    assert report(usages=(Usage(usd=1.0), Usage(usd=None))).totals["usd"] is None
    assert report(usages=(Usage(usd=1.0), Usage(usd=0.5))).totals["usd"] == 1.5


async def test_the_agent_of_a_task_is_not_that_of_a_message_turn_or_of_a_subagent(
    tmp_path: Path,
) -> None:
    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        mate.journal.emit("agent.resolved", teammate=mate.name, agent="talker")
        mate.journal.emit("agent.resolved", teammate=mate.name, task=1, agent="coder")
        mate.journal.emit("agent.resolved", task=1, agent="helper", subagent="1-1")
        return Done()

    layout = make_board(tmp_path, [{}])
    async with running_team(
        layout, work=work, members=["ann"], clock=FakeClock(), drain=True
    ) as team:
        [row] = (await team.finished()).tasks
    assert row.agent == "coder"
