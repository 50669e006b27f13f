"""What a subagent is started with, or why it is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from runner.board.task import Claimant
from runner.core.settings import Limits, Settings
from runner.testing import ScriptedModel
from runner.work.admission import Admission, Equipment, Refusal
from runner.work.models import Models

if TYPE_CHECKING:
    from tests.work.conftest import Stage

ANN = Claimant(name="ann", agent="boss")


@pytest.fixture
def boss(stage: Stage) -> Stage:
    """A project whose agents are `boss`, who may start everybody, and `helper`."""
    stage.agent("boss", spawns="*")
    stage.agent("helper")
    for name in ("a", "b"):
        (stage.root / f"{name}.yaml").write_text("default: []", encoding="utf-8")
    return stage


def admission(stage: Stage, **settings: Any) -> Admission:
    chosen = replace(Settings(), **settings)
    given = None if "model" in settings else ScriptedModel()
    models = Models(chosen, base_dir=stage.root, given=given)
    return Admission(stage.layout, chosen, models, home=stage.root / "home")


def child(
    rules: Admission,
    name: str = "helper",
    *,
    parent: Equipment | None = None,
    schema: Mapping[str, Any] | None = None,
    blocked: frozenset[str] = frozenset(),
) -> Equipment:
    parent = parent or rules.equip(None, ANN)
    return rules.equip_subagent(name, parent=parent, schema=schema, blocked=blocked)


def refusal(rules: Admission, name: str = "helper", **more: Any) -> str:
    with pytest.raises(Refusal) as raised:
        child(rules, name, **more)
    return str(raised.value)


def test_a_subagent_is_equipped_one_level_deeper(boss: Stage) -> None:
    equipment = child(admission(boss))

    assert (equipment.agent.name, equipment.agent.depth) == ("helper", 1)
    assert "boss" in equipment.discovery.names
    assert "read" in equipment.toolbox.tools


def test_the_refusals_have_exactly_the_agreed_words(boss: Stage) -> None:
    names = "boss, helper, explore, plan, designer, reviewer, quick_task"
    rules = admission(boss, disabled_agents=frozenset({"task"}))

    assert refusal(rules, "Helper") == f'Unknown agent "Helper". Available: {names}'
    assert refusal(rules, "task") == (
        f'Agent "task" is switched off by disabled_agents. Available: {names}'
    )
    for name, blocked in (("boss", frozenset[str]()), ("helper", frozenset({"helper"}))):
        assert refusal(rules, name, blocked=blocked) == (
            f"Cannot spawn {name} agent from within itself (recursion prevention). "
            "Use a different agent type."
        )


def test_the_policy_of_the_parent_is_told(boss: Stage) -> None:
    boss.agent("boss", spawns="explore, plan")
    rules = admission(boss)
    assert refusal(rules) == "Cannot spawn 'helper'. Allowed: explore, plan"

    boss.agent("boss", tools="read, task(plan)")
    assert refusal(rules) == "Cannot spawn 'helper'. Allowed: plan"

    boss.agent("boss")
    assert refusal(rules) == "Cannot spawn 'helper'. Allowed: none (spawns disabled for this agent)"


def test_the_files_count_as_they_are_at_the_call(boss: Stage) -> None:
    rules = admission(boss)
    parent = rules.equip(None, ANN)
    boss.agent("late")
    (boss.root / ".xcsh" / "agents" / "helper.md").unlink()

    assert child(rules, "late", parent=parent).agent.name == "late"
    assert refusal(rules, "helper", parent=parent).startswith('Unknown agent "helper".')


@pytest.mark.parametrize(
    ("front", "why"),
    [
        ({"isolation": "worktree"}, "isolation of agent 'helper' (worktree)"),
        ({"tools": "teleport"}, "can use none of its tools"),
        ({"output": {"type": "flot"}}, "output of agent 'helper'"),
    ],
)
def test_an_agent_that_cannot_work_here_is_no_subagent_either(
    boss: Stage, front: dict[str, Any], why: str
) -> None:
    boss.agent("helper", **front)

    assert why in refusal(admission(boss))


def test_a_schema_of_the_call_that_cannot_be_used_is_refused(boss: Stage) -> None:
    told = refusal(admission(boss), schema={"type": "flot"})

    assert told.startswith("the schema of the call cannot be used: ")


def test_a_child_has_no_tool_and_no_spawn_right_that_its_parent_lacks(boss: Stage) -> None:
    boss.agent("boss", tools="read, bash(git:*)", spawns="helper")
    boss.agent("helper", spawns="*")

    agent = child(admission(boss)).agent

    assert agent.tools == ("read", "bash", "task")
    assert agent.commands == (("git:*",),)
    assert str(agent.spawns) == "helper"


def test_a_child_that_its_parents_rights_leave_nothing_is_refused(boss: Stage) -> None:
    boss.agent("boss", tools="read", spawns="helper")
    boss.agent("helper", tools="write, edit")

    assert "agent 'helper' can use none of its tools here (write, edit)" in refusal(admission(boss))


@pytest.mark.parametrize(("depth", "chain"), [(0, 0), (1, 1), (2, 2), (3, 3), (-1, 5)])
def test_depth_is_counted_along_the_real_chain(boss: Stage, depth: int, chain: int) -> None:
    names = ["one", "two"]
    for name in names:
        boss.agent(name, spawns="*")
    rules = admission(boss, limits=Limits(max_recursion_depth=depth))
    at = rules.equip(None, ANN)
    for level in range(chain):
        at = child(rules, names[level % 2], parent=at)

    assert at.agent.depth == chain
    if depth >= 0:
        assert "task" not in at.agent.tools
        assert refusal(rules, "helper", parent=at) == (
            "Cannot spawn 'helper'. Allowed: none (spawns disabled for this agent)"
        )


def accepts(equipment: Equipment, value: object) -> bool:
    assert equipment.schema is not None
    return not equipment.schema.problems(value)


async def test_the_agents_schema_goes_before_the_calls_before_the_parents(boss: Stage) -> None:
    boss.agent("boss", spawns="*", output={"type": "boolean"})
    boss.agent("helper", spawns="own")
    boss.agent("own", output={"type": "string"})
    rules = admission(boss, schema={"type": "timestamp"})
    parent = rules.equip(await boss.claim(), ANN)
    number = {"type": "float64"}

    assert accepts(child(rules, "own", schema=number, parent=parent), "x")
    assert accepts(child(rules, schema=number, parent=parent), 1.5)
    inherited = child(rules, parent=parent)
    assert accepts(inherited, True)
    assert accepts(child(rules, "own", parent=inherited), "x")


async def test_the_teams_schema_reaches_a_child_through_its_parent(boss: Stage) -> None:
    boss.agent("quiet", output=None)
    rules = admission(boss, schema={"type": "boolean"})
    parent = rules.equip(await boss.claim(), ANN)

    assert accepts(child(rules, parent=parent), True)
    assert accepts(child(rules, "quiet", parent=parent), True)
    assert child(rules, parent=rules.equip(None, ANN)).schema is None


@pytest.mark.parametrize(
    ("model", "default", "name", "reason"),
    [
        (
            "inherit",
            "script/b.yaml",
            "script/a.yaml",
            "inherit -> script/a.yaml (the agent's list)",
        ),
        ("gone/x, pi/inherit", None, "script/a.yaml", "pi/inherit -> script/a.yaml"),
        ("script/b.yaml", None, "script/b.yaml", "script/b.yaml (the agent's list)"),
        (None, "script/b.yaml", "script/b.yaml", "script/b.yaml (the team's default)"),
        (None, None, "script/a.yaml", "script/a.yaml (the parent's model)"),
        ("opus", None, "script/a.yaml", "(the parent's model); not usable: opus: no such alias"),
    ],
)
def test_inherit_is_the_parents_model_and_no_model_the_teams_then_the_parents(
    boss: Stage, model: str | None, default: str | None, name: str, reason: str
) -> None:
    boss.agent("boss", spawns="*", model="script/a.yaml")
    boss.agent("helper", model=model)
    choice = child(admission(boss, model=default)).choice

    assert choice.model.name == name
    assert reason in choice.reason


def test_the_thinking_level_is_inherited_where_the_agent_says_so(boss: Stage) -> None:
    boss.agent("boss", spawns="*", thinkingLevel="high")
    boss.agent("helper", thinkingLevel="inherit")
    boss.agent("other")
    rules = admission(boss)

    assert child(rules).agent.thinking_level == "high"
    assert child(rules, "other").agent.thinking_level is None
