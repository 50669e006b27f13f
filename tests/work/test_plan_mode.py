"""An agent in plan mode, as it arrives at the engine's door in a real run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from runner.agents.effective import PLAN_MODE_PROMPT
from runner.core.events import read_journal
from runner.core.settings import MemberSpec, Settings
from runner.core.tool_names import READ_ONLY
from runner.team.report import Report
from runner.testing import ScriptedModel, call, make_board, submit
from runner.testing.model import Step
from runner.work.messages import ModelRequest, ToolResult, UserTurn
from runner.work.run import run_team

if TYPE_CHECKING:
    from tests.work.conftest import Stage

PLAN = {"steps": ["look", "leap"]}
STEPS = {"properties": {"steps": {"elements": {"type": "string"}}}}


@pytest.fixture
def planner(stage: Stage) -> Stage:
    """A project with an agent in plan mode that would otherwise have every right."""
    stage.agent(
        "planner",
        "Build the bridge.",
        permissionMode="plan",
        spawns="*",
        model="opus, smol",
        thinkingLevel="high",
        output=STEPS,
    )
    stage.agent("critic")
    return stage


async def run(stage: Stage, thinks: ScriptedModel | None = None, **settings: Any) -> Report:
    make_board(stage.root, [{"id": 1, "subject": "Bridge", "agent": "planner"}])
    chosen = Settings(members=(MemberSpec(name="ann"),), **settings)
    return await run_team(
        stage.root, settings=chosen, model=thinks, home=stage.root / "home", run_id="r1"
    )


async def first_request(stage: Stage, *steps: Step) -> tuple[ModelRequest, ScriptedModel]:
    model = ScriptedModel(tasks={"1": [*steps, submit(PLAN)]})
    report = await run(stage, model)
    assert report.exit_code == 0
    model.assert_exhausted()
    return model.requests[0], model


async def test_the_prompt_of_plan_mode_stands_before_the_agents_own(planner: Stage) -> None:
    request, _ = await first_request(planner)

    assert f"{PLAN_MODE_PROMPT}\n\nBuild the bridge." in request.system


async def test_only_tools_that_change_nothing_and_no_start_of_agents_are_offered(
    planner: Stage,
) -> None:
    request, _ = await first_request(planner)

    assert {tool.name for tool in request.tools} == {*READ_ONLY, "submit_result", "idle"}


async def test_the_thinking_level_is_the_agents(planner: Stage) -> None:
    request, _ = await first_request(planner)

    assert request.thinking_level == "high"


async def test_the_schema_of_the_agent_is_asked_for_and_checked(planner: Stage) -> None:
    request, model = await first_request(planner, submit("no plan"))

    [contract] = [tool for tool in request.tools if tool.name == "submit_result"]
    assert "steps" in json.dumps(contract.parameters)
    assert [result.is_error for result in answers(model)] == [True]
    assert json.loads((planner.layout.tasks / "task_1.json").read_text())["result"] == PLAN


@pytest.mark.parametrize(
    "forbidden",
    [
        call("write", path="bridge.txt", content="built"),
        call("bash", command="touch bridge.txt"),
        call("create_task", subject="build it"),
        call("send_message", to="lead", text="done"),
        call("task", agent="critic", tasks=[{"assignment": "look"}]),
    ],
    ids=lambda step: step.calls[0].name,
)
async def test_what_is_not_offered_is_not_done_when_it_is_called(
    planner: Stage, forbidden: Step
) -> None:
    _, model = await first_request(planner, forbidden)

    assert [result.is_error for result in answers(model)] == [True]
    assert not (planner.root / "bridge.txt").exists()
    assert [path.name for path in planner.layout.tasks.iterdir()] == ["task_1.json"]


async def test_the_model_is_the_first_usable_of_the_agents_list_and_the_reason_is_told(
    planner: Stage,
) -> None:
    text = json.dumps({"tasks": {"1": [{"calls": [{"submit_result": {"data": PLAN}}]}]}})
    (planner.root / "small.yaml").write_text(text, encoding="utf-8")

    report = await run(planner, model="script/gone.yaml", models={"smol": ("script/small.yaml",)})

    assert report.exit_code == 0
    [chosen] = [
        line
        for line in read_journal(planner.layout.runs / "r1.jsonl")
        if line["event"] == "model.chosen"
    ]
    assert chosen["model"] == "script/small.yaml"
    assert chosen["reason"].startswith("smol -> script/small.yaml (the agent's list); not usable")
    start = planner.transcript()[0]
    assert (start["agent"], start["model"]) == ("planner", "script/small.yaml")
    assert PLAN_MODE_PROMPT in start["system"]


async def test_a_task_that_asks_for_a_plan_first_is_left_with_the_reason(planner: Stage) -> None:
    make_board(planner.root, [{"id": 1, "plan": True}])

    report = await run_team(planner.root, model=ScriptedModel(), home=planner.root / "home")

    [row] = report.tasks
    assert (row.state, row.attempts, report.exit_code) == ("unclaimable", 0, 3)
    assert row.reason == "plan: plan mode is not part of this version"


def answers(model: ScriptedModel) -> list[ToolResult]:
    """The results that the last request ends with."""
    turn = model.requests[-1].turns[-1]
    assert isinstance(turn, UserTurn)
    return list(turn.results)
