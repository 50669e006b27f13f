"""A whole run from Python."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import runner
from runner.core.settings import Budget, MemberSpec, Settings
from runner.errors import BoardNotFound, NoModel
from runner.testing import (
    FakeClock,
    ScriptedModel,
    call,
    calls,
    give_up,
    make_board,
    running_team,
    submit,
)
from runner.work.messages import UserTurn
from runner.work.run import run_team

SOLO = Settings(members=(MemberSpec(name="ann"),))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_a_team_does_the_whole_board_and_reports_it(tmp_path: Path) -> None:
    make_board(tmp_path, [{"id": 1}, {"id": 2, "blockedBy": [1]}, {"id": 3, "run": "true"}])
    model = ScriptedModel(
        tasks={"1": [call("write", path="a.txt", content="A"), submit("one")], "2": [submit("two")]}
    )

    report = await run_team(tmp_path, model=model, home=tmp_path)

    assert report.exit_code == 0
    assert (tmp_path / "a.txt").read_text() == "A"
    model.assert_exhausted()


async def test_folders_may_be_given_as_text(tmp_path: Path) -> None:
    here = str(tmp_path)
    make_board(tmp_path)
    (tmp_path / ".claude" / "agents").mkdir(parents=True)
    file = tmp_path / ".claude" / "agents" / "ann.md"
    file.write_text("---\nname: ann\ndescription: d\n---\nWork.\n")

    found = runner.discover_agents(here, here).get("ann")
    added = await runner.Board(here).add({"subject": "s", "run": "true"})
    report = await runner.run_team(here, settings=SOLO, home=here)

    assert found is not None
    assert found.file == str(file)
    assert [task.id for task in report.tasks if task.status == "completed"] == [added.id]


async def test_without_a_model_nothing_is_claimed(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{"id": 1}, {"id": 2, "run": "touch done"}])
    before = (layout.tasks / "task_2.json").read_bytes()

    with pytest.raises(NoModel, match="no usable model for task 1"):
        await run_team(tmp_path, settings=Settings(), home=tmp_path, only=[1])

    assert (layout.tasks / "task_2.json").read_bytes() == before
    assert not (tmp_path / "done").exists()


async def test_a_null_result_that_was_handed_in_is_in_the_task_file(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{"id": 1}])

    await run_team(tmp_path, settings=SOLO, model=ScriptedModel([submit(None)]), home=tmp_path)

    written = json.loads((layout.tasks / "task_1.json").read_bytes())
    assert (written["status"], written.get("result", "missing")) == ("completed", None)


async def test_a_message_to_oneself_is_refused_and_the_task_goes_on(tmp_path: Path) -> None:
    make_board(tmp_path, [{"id": 1}])
    model = ScriptedModel([call("send_message", to="ann", text="hello"), submit("ok")])

    report = await run_team(tmp_path, settings=SOLO, model=model, home=tmp_path)

    assert report.exit_code == 0
    turn = model.requests[1].turns[-1]
    assert isinstance(turn, UserTurn)
    (answer,) = turn.results
    assert answer.is_error
    assert "is you" in answer.text
    assert not (tmp_path / ".team/inbox/ann.jsonl").exists()


async def test_a_task_whose_agent_is_not_there_is_not_burnt_and_one_that_cannot_do_it_fails(
    tmp_path: Path,
) -> None:
    agents = tmp_path / ".claude" / "agents"
    agents.mkdir(parents=True)
    for name in ("reader", "other"):
        text = f"---\nname: {name}\ndescription: d\ntools: Read\n---\nLook.\n"
        (agents / f"{name}.md").write_text(text, encoding="utf-8")
    wanted = ("no-such-agent", "Reader", "reader")
    layout = make_board(tmp_path, [{"id": n, "agent": name} for n, name in enumerate(wanted, 1)])
    before = [(layout.tasks / f"task_{n}.json").read_bytes() for n in (1, 2)]
    model = ScriptedModel([call("write", path="a.txt", content="A"), give_up("I can only read")])

    report = await run_team(tmp_path, settings=SOLO, model=model, home=tmp_path)

    assert [(layout.tasks / f"task_{n}.json").read_bytes() for n in (1, 2)] == before
    reasons = {task.id: task.reason or task.error for task in report.tasks}
    assert (reasons[1] or "").startswith('Unknown agent "no-such-agent". Available: other, reader')
    assert (reasons[2] or "").startswith('Unknown agent "Reader". Available: other, reader')
    assert reasons[3] == "I can only read"
    assert not (tmp_path / "a.txt").exists()


async def test_no_name_that_a_model_gives_becomes_a_path(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "root"
    make_board(root, [{"id": 1}])
    odd = ["../../outside", "..", "a/b", "C:x", "x" * 300, "con", "x\0y", ""]
    doors = [
        *(call("send_message", to=name, text="hello") for name in odd),
        *(call("claim_task", id=name) for name in odd),
        *(call("list_tasks", id=name) for name in odd),
        *(call("create_task", subject="x", owner=name) for name in odd if name),
        *(call("create_task", subject="x", agent=name) for name in odd if name),
        *(call("create_task", subject="x", blockedBy=[name]) for name in odd),
        *(call("write", path=name, content="x") for name in odd[:2]),
    ]
    model = ScriptedModel([calls(*doors), submit(1)])

    await run_team(root, settings=SOLO, model=model, home=root)

    turn = model.requests[1].turns[-1]
    assert isinstance(turn, UserTurn)
    assert all(result.is_error and "unexpectedly" not in result.text for result in turn.results)
    assert names_in(tmp_path) + names_in(root.parent) == ["deep", "root"]
    assert names_in(root) == [".tasks", ".team"]
    assert names_in(root / ".tasks") == ["task_1.json"]


async def test_settings_come_from_team_yaml_and_the_environment(tmp_path: Path) -> None:
    make_board(tmp_path, [{"id": 1}])
    (tmp_path / "s.yaml").write_text("default: [{calls: [{submit_result: {data: 1}}]}]")
    (tmp_path / "team.yaml").write_text("model: script/gone.yaml\nmembers: 1\n")

    report = await run_team(tmp_path, home=tmp_path, environ={"RUNNER_MODEL": "script/s.yaml"})

    assert report.exit_code == 0


async def test_a_budget_that_is_used_up_hands_the_task_back_and_ends_with_four(
    tmp_path: Path,
) -> None:
    make_board(tmp_path, [{"id": 1}])
    settings = replace(SOLO, budget=Budget(tokens=1))

    report = await run_team(tmp_path, settings=settings, model=ScriptedModel(), home=tmp_path)

    assert report.exit_code == 4
    assert [task.status for task in report.tasks] == ["pending"]


async def test_a_folder_without_a_board_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BoardNotFound):
        await run_team(tmp_path)


async def test_a_scripted_team_moves_only_with_the_clock_of_the_test(tmp_path: Path) -> None:
    clock = FakeClock()
    layout = make_board(tmp_path, [{"id": 1}])
    model = ScriptedModel(tasks={"1": [call("ls"), submit(1)], "2": [submit(2)]})
    async with running_team(layout, model=model, settings=SOLO, clock=clock, home=tmp_path) as team:
        await clock.sleepers(1)
        assert (await team.board.scan()).tasks["1"].status == "completed"

        make_board(tmp_path, [{"id": 2}])
        await clock.advance(SOLO.limits.poll_interval_s)
        assert (await team.board.scan()).tasks["2"].status == "completed"
