"""Whole runs of a scripted team: claims that were lost, results that are never right, odd text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.board.task import Claimant, Task
from runner.core.settings import MemberSpec, Settings
from runner.testing import FakeClock, ScriptedModel, call, make_board, running_team, submit
from runner.work.run import run_team

SOLO = Settings(members=(MemberSpec(name="ann"),))


def on_disk(root: Path, number: int) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((root / f".tasks/task_{number}.json").read_bytes())
    return value


@pytest.mark.parametrize(
    "change",
    [
        {"status": "in_progress", "owner": "bob"},
        {"blockedBy": ["9"]},
        {"status": "completed"},
        None,
    ],
    ids=["claimed", "blocked", "completed", "deleted"],
)
async def test_a_claim_that_backs_off_asks_no_model(
    tmp_path: Path, change: dict[str, Any] | None
) -> None:
    layout, model, clock = make_board(tmp_path, [{}]), ScriptedModel(), FakeClock()
    path = layout.tasks / "task_1.json"

    def refuses_for(claimant: Claimant) -> Callable[[Task], str | None]:
        # first asked by the claim, between its scan and its lock
        path.unlink(missing_ok=True)
        if change is not None:
            make_board(tmp_path, [change])
        return lambda task: None

    async with running_team(
        layout,
        model=model,
        settings=SOLO,
        refuses_for=refuses_for,
        clock=clock,
        drain=True,
        home=tmp_path,
    ) as team:
        await clock.advance(60)
        await team.finished()

    assert model.requests == []
    assert not path.exists() if change is None else "attempt" not in on_disk(tmp_path, 1)


async def test_an_agent_whose_name_looks_like_a_number_is_found_by_a_task(tmp_path: Path) -> None:
    agents = tmp_path / ".claude" / "agents"
    agents.mkdir(parents=True)
    for number, name in enumerate(('"007"', "12:30", "on")):
        text = f"---\nname: {name}\ndescription: d\n---\nYou are {name}.\n"
        (agents / f"{number}.md").write_text(text, encoding="utf-8")
    make_board(tmp_path, [{"agent": "007"}, {"agent": "12:30"}, {"agent": "on"}])
    model = ScriptedModel([submit(1)] * 3)

    report = await run_team(tmp_path, settings=SOLO, model=model, home=tmp_path)

    assert report.exit_code == 0
    assert [request.asker.agent for request in model.requests] == ["007", "12:30", "on"]


async def test_a_result_that_is_never_right_fails_its_task_at_once_and_says_why(
    tmp_path: Path,
) -> None:
    schema = {"properties": {"summary": {"type": "string"}}}
    make_board(tmp_path, [{"schema": schema}, {"blockedBy": [1]}])
    model = ScriptedModel([call("submit_result")] * 6)

    report = await run_team(tmp_path, settings=SOLO, model=model, home=tmp_path)

    task = on_disk(tmp_path, 1)
    assert (report.exit_code, task["status"], len(model.requests)) == (1, "failed", 3)
    assert "$.data: missing" in task["error"]
    assert "blocked by 1 (failed)" in [row.reason for row in report.tasks]


async def test_a_good_result_with_half_a_character_is_kept_and_all_files_stay_utf_8(
    tmp_path: Path,
) -> None:
    make_board(tmp_path, [{}])
    odd = "half \ud83d"
    turns = [
        call("bash", command=r"printf 'caf\351'; : > \"$(printf 'b\351d')\""),
        call("ls"),
        call("send_message", to="lead", text=odd),
        call("create_task", subject="later", description=odd, owner="nobody"),
        submit({"text": odd}),
    ]

    report = await run_team(tmp_path, settings=SOLO, model=ScriptedModel(turns), home=tmp_path)

    assert (report.tasks[0].status, on_disk(tmp_path, 1)["result"]) == (
        "completed",
        {"text": "half \ufffd"},
    )
    for folder in (".tasks", ".team"):
        for path in (tmp_path / folder).rglob("*.json*"):
            path.read_bytes().decode("utf-8")


async def test_ids_and_agents_that_are_paths_make_nothing_outside(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "root"
    agents = root / ".claude" / "agents"
    agents.mkdir(parents=True)
    odd = ["../../outside", "..", "a/b", "C:x", "x" * 300, "con", "x\0y"]
    for number, name in enumerate(odd, 1):
        make_board(root, [{"id": number, "agent": name}])
        path = root / f".tasks/task_{number + 20}.json"
        path.write_text(json.dumps({"id": name, "status": "pending"}), encoding="utf-8")
        text = f"---\nname: {json.dumps(name)}\ndescription: d\n---\nWork.\n"
        (agents / f"{number}.md").write_text(text, encoding="utf-8")
    before = {path.name: path.read_bytes() for path in (root / ".tasks").glob("task_2?.json")}

    report = await run_team(root, settings=SOLO, model=ScriptedModel([submit(1)] * 8), home=root)

    assert report.exit_code == 3
    names = [sorted(path.name for path in folder.iterdir()) for folder in (tmp_path, root.parent)]
    assert names == [["deep"], ["root"]]
    assert sorted(path.name for path in root.iterdir()) == [".claude", ".tasks", ".team"]
    left = {path.name: path.read_bytes() for path in (root / ".tasks").glob("task_2?.json")}
    assert left == before
