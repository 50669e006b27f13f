"""A plan for what another tool has, on a board of nothing or of given tasks."""

from __future__ import annotations

from typing import Any

from runner.board.importing import Found, Plan
from runner.board.importing_plan import plan
from runner.board.reading import parse_task
from runner.board.saving import encode_task
from runner.board.task import Task


def planned(found: Found, *tasks: dict[str, Any], taken: set[str] | None = None) -> Plan:
    """With `alice` and the lead as members; the ids of `tasks` are taken."""
    there = [read(raw) for raw in tasks]
    keys = {task.key for task in there} | (taken or set())
    numbers = [int(key) for key in keys if key.isdecimal()]
    return plan(
        found,
        there,
        source="their/file",
        taken=keys,
        next_id=max(numbers, default=0) + 1,
        members={"alice", "lead"},
    )


def read(raw: dict[str, Any]) -> Task:
    file = f"task_{raw['id']}.json"
    task, _ = parse_task(file, encode_task(file, {"subject": "s", **raw}))
    assert task is not None
    return task


def blockers(made: Plan) -> dict[int | str, list[int | str]]:
    return {new.id: new.fields["blockedBy"] for new in made.new}


def about(made: Plan, task_id: int | str) -> dict[str, Any]:
    """What the metadata of a new task says of its origin."""
    [new] = [new for new in made.new if new.id == task_id]
    origin: dict[str, Any] = new.fields["metadata"]["imported"]
    return origin
