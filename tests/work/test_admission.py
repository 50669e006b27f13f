"""Who may begin what, and which boards are refused as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from runner.board.snapshot import Snapshot
from runner.board.task import Claimant
from runner.core.layout import find_layout
from runner.core.model_settings import Price, ProviderSettings
from runner.core.settings import Budget, CatalogEntry, MemberSpec, Settings
from runner.errors import NoModel
from runner.testing import ScriptedModel, make_board
from runner.work.admission import Admission
from runner.work.models import Models

if TYPE_CHECKING:
    from tests.work.conftest import Stage

ANN = Claimant(name="ann", role="coder")


def admission(stage: Stage, **settings: Any) -> Admission:
    chosen = replace(Settings(), **settings)
    given = None if "model" in settings else ScriptedModel()
    models = Models(chosen, base_dir=stage.root, given=given, environ={})
    return Admission(stage.layout, chosen, models, home=stage.root / "home")


async def board(stage: Stage, *tasks: dict[str, Any]) -> Snapshot:
    make_board(stage.root, tasks)
    return await stage.mate.board.scan()


@pytest.fixture
async def reason(stage: Stage) -> Callable[..., Any]:
    async def ask(claimant: Claimant = ANN, settings: Any = (), **fields: Any) -> str | None:
        snapshot = await board(stage, {"id": 1, **fields})
        return admission(stage, **dict(settings)).refuses_for(claimant)(snapshot.tasks["1"])

    return ask


@pytest.mark.parametrize("fields", [{}, {"run": "true", "agent": "no-such-agent"}])
async def test_a_plain_task_and_a_command_are_not_refused(
    reason: Callable[..., Any], fields: dict[str, Any]
) -> None:
    assert await reason(**fields) is None


async def test_agents_are_looked_for_from_where_the_run_was_started(stage: Stage) -> None:
    inner = stage.root / "inner"
    (inner / ".claude" / "agents").mkdir(parents=True)
    (inner / ".claude" / "agents" / "c.md").write_text("---\nname: c\ndescription: d\n---\nC.\n")
    snapshot = await board(stage, {"id": 1, "agent": "c"})
    refusals = [
        Admission(
            find_layout(start),
            Settings(),
            Models(Settings(), base_dir=stage.root, given=ScriptedModel()),
            home=stage.root / "home",
        ).refuses_for(ANN)(snapshot.tasks["1"])
        for start in (inner, stage.root)
    ]
    assert refusals[0] is None
    assert str(refusals[1]).startswith('Unknown agent "c"')


@pytest.mark.parametrize(
    ("agent", "near"), [("Coder", ""), ("Reviewer", "; near: reviewer"), ("PLAN", "; near: plan")]
)
async def test_an_unknown_agent_is_refused_with_the_names_there_are_and_those_that_are_near(
    reason: Callable[..., Any], agent: str, near: str
) -> None:
    assert await reason(agent=agent) == (
        f'Unknown agent "{agent}". '
        f"Available: explore, plan, designer, reviewer, task, quick_task{near}"
    )


async def test_an_agent_that_is_switched_off_is_refused_also_as_anybodys_default(
    reason: Callable[..., Any],
) -> None:
    settings = {"disabled_agents": frozenset({"task", "plan"})}
    names = "explore, designer, reviewer, quick_task"

    assert await reason(settings=settings, agent="plan") == (
        f'Agent "plan" is switched off by disabled_agents. Available: {names}'
    )
    assert await reason(settings=settings) == (
        f'Agent "task" is switched off by disabled_agents. Available: {names}'
    )


async def test_plan_mode_is_no_reason_to_refuse(stage: Stage, reason: Callable[..., Any]) -> None:
    stage.agent("planner", permissionMode="plan")

    assert await reason(agent="planner") is None


async def test_within_a_look_an_agent_is_worked_out_once_and_the_next_sees_what_changed(
    stage: Stage,
) -> None:
    stage.agent("odd", tools="teleport")
    snapshot = await board(stage, {"id": 1, "agent": "odd"}, {"id": 2, "agent": "odd"})
    rules = admission(stage)
    look = rules.refuses_for(ANN)
    first = look(snapshot.tasks["1"])
    stage.agent("odd")

    assert first is not None
    assert look(snapshot.tasks["2"]) == first
    assert rules.refuses_for(ANN)(snapshot.tasks["2"]) is None


async def test_a_choice_is_remembered_within_a_look(stage: Stage) -> None:
    (stage.root / "s.yaml").write_text("default: []", encoding="utf-8")
    snapshot = await board(stage, {"id": 1}, {"id": 2})
    selection = admission(stage, model="script/s.yaml").select()
    one = selection.for_claimant(snapshot.tasks["1"], ANN)
    (stage.root / "s.yaml").unlink()

    assert selection.for_claimant(snapshot.tasks["2"], ANN).choice is one.choice


@pytest.mark.parametrize(
    ("fields", "settings", "why"),
    [
        ({}, {"isolation": True}, "own worktrees are not part of this version"),
        ({"run": "true"}, {"isolation": True}, "isolation in the settings"),
        ({"schema": {"type": "flot"}}, {}, "the schema of the task cannot be used"),
        ({}, {"schema": {"elements": 1}}, "the schema in team.yaml cannot be used"),
        ({}, {"model": "openai/x"}, "no key: set OPENAI_API_KEY"),
    ],
)
async def test_what_cannot_be_done_here_is_refused_with_the_reason(
    reason: Callable[..., Any], fields: dict[str, Any], settings: dict[str, Any], why: str
) -> None:
    assert why in await reason(settings=settings.items(), **fields)


@pytest.mark.parametrize(
    ("front", "why"),
    [
        ({"isolation": "worktree"}, "isolation of agent 'odd' (worktree)"),
        ({"isolation": "remote"}, "isolation of agent 'odd' (remote)"),
        ({"tools": "teleport"}, "can use none of its tools"),
        ({"output": {"type": "flot"}}, "output of agent 'odd'"),
    ],
)
async def test_an_agent_that_cannot_work_here_is_refused_with_the_reason(
    stage: Stage, reason: Callable[..., Any], front: dict[str, Any], why: str
) -> None:
    stage.agent("odd", **front)

    assert why in await reason(agent="odd")


@pytest.mark.parametrize(
    ("claimant", "name"),
    [
        (Claimant(name="a", role="coder", agent="writer"), "writer"),
        (Claimant(name="a", role="coder"), "coder"),
        (Claimant(name="a", role="nobody"), "task"),
        (Claimant(name="a"), "task"),
    ],
)
def test_the_default_agent_is_ones_own_then_the_one_named_like_the_role_then_task(
    stage: Stage, claimant: Claimant, name: str
) -> None:
    stage.agent("writer")
    stage.agent("coder")

    assert admission(stage).equip(None, claimant).agent.name == name


async def test_the_agents_own_schema_goes_before_the_tasks_before_the_teams(
    stage: Stage,
) -> None:
    number, text = {"type": "float64"}, {"type": "string"}
    stage.agent("own", output={"type": "boolean"})
    snapshot = await board(
        stage, {"id": 1, "agent": "own", "schema": number}, {"id": 2, "schema": number}, {"id": 3}
    )
    rules = admission(stage, schema=text)

    for task_id, value in (("1", True), ("2", 1.5), ("3", "x")):
        schema = rules.equip(snapshot.tasks[task_id], ANN).schema
        assert schema is not None
        assert schema.problems(value) == []


async def test_a_board_whose_open_tasks_need_no_model_passes(stage: Stage) -> None:
    snapshot = await board(
        stage,
        {"id": 1, "run": "true"},
        {"id": 2, "status": "completed"},
        {"id": 3, "agent": "nobody"},
        {"id": 4},
    )

    admission(stage, model=None).preflight(snapshot, frozenset({"1", "2", "3"}))


async def test_no_usable_model_for_one_open_task_refuses_the_whole_run(stage: Stage) -> None:
    snapshot = await board(stage, {"id": 1, "run": "true"}, {"id": 2}, {"id": 3, "owner": "bob"})

    with pytest.raises(NoModel, match="no usable model for task 2, 3") as raised:
        admission(stage, model="script/gone.yaml").preflight(snapshot)
    assert "gone.yaml is missing" in str(raised.value)


async def test_a_model_of_unknown_price_refuses_the_whole_run_under_a_ceiling_of_money(
    stage: Stage,
) -> None:
    snapshot = await board(stage, {"id": 1})
    local = {"openai": ProviderSettings(base_url="http://127.0.0.1:1/v1")}
    asked = {"model": "openai/mine", "providers": local, "budget": Budget(usd=1)}
    price = CatalogEntry(usd_per_million=Price(input=0, output=0))

    with pytest.raises(NoModel, match=r"task 1(.|\n)*the price of openai/mine is unknown"):
        admission(stage, **asked).preflight(snapshot)
    admission(stage, **asked, catalog={"openai/mine": price}).preflight(snapshot)
    admission(stage, **{**asked, "budget": Budget(tokens=1)}).preflight(snapshot)


async def test_what_nobody_of_the_team_may_take_needs_no_model(stage: Stage) -> None:
    snapshot = await board(stage, {"id": 1, "owner": "lead"}, {"id": 2, "required_role": "x"})

    admission(stage, model=None).preflight(snapshot)


async def test_a_task_that_a_dead_run_left_behind_is_judged_as_it_will_be_given_back(
    stage: Stage,
) -> None:
    await stage.claim()
    claim = {**json.loads((stage.layout.tasks / "task_1.json").read_text())["claim"], "run": "gone"}
    snapshot = await board(
        stage, {"id": 1, "status": "in_progress", "owner": "zoe", "claim": claim}
    )

    with pytest.raises(NoModel, match="no usable model for task 1"):
        admission(stage, model=None).preflight(snapshot)


async def test_one_member_whose_agent_has_a_model_is_enough(stage: Stage) -> None:
    (stage.root / "s.yaml").write_text("default: []", encoding="utf-8")
    stage.agent("scripted", model="script/s.yaml")
    snapshot = await board(stage, {"id": 1})
    members = (MemberSpec(name="ann"), MemberSpec(name="bob", agent="scripted"))

    admission(stage, model=None, members=members).preflight(snapshot)
