"""Which agent may be used and started, and the exact words where it may not."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.agents.availability import (
    absence,
    blocked_agents,
    explained_absence,
    spawn_refusal,
    startable,
)
from runner.agents.definition import AgentDefinition
from runner.agents.effective import EffectiveAgent, effective_agent

NAMES = ("explore", "reviewer", "task")
NAME = st.sampled_from(("explore", "reviewer", "task", "boss", "gone"))


def definition(name: str, **fields: Any) -> AgentDefinition:
    about = {"description": "", "system_prompt": "", "source": "project", "file": f"{name}.md"}
    return AgentDefinition(name=name, **(about | fields))


def boss(*, max_depth: int = 2, **fields: Any) -> EffectiveAgent:
    return effective_agent(definition("boss", **fields), max_depth=max_depth)


ANY = boss(spawns="*", has_spawns=True)


def refusal(
    name: str,
    parent: EffectiveAgent = ANY,
    names: tuple[str, ...] = NAMES,
    disabled: Collection[str] = (),
    blocked: Collection[str] = (),
) -> str | None:
    return spawn_refusal(name, parent=parent, names=names, disabled=disabled, blocked=blocked)


def test_whoever_is_there_allowed_and_not_blocked_may_be_started() -> None:
    assert refusal("explore") is None


@pytest.mark.parametrize(
    ("name", "names", "text"),
    [
        ("x", NAMES, 'Unknown agent "x". Available: explore, reviewer, task'),
        ("Reviewer", NAMES, 'Unknown agent "Reviewer". Available: explore, reviewer, task'),
        ("x", (), 'Unknown agent "x". Available: none'),
        ("", ("a",), 'Unknown agent "". Available: a'),
    ],
)
def test_an_unknown_agent_is_told_with_those_there_are(
    name: str, names: tuple[str, ...], text: str
) -> None:
    assert refusal(name, names=names) == text


def test_one_that_is_switched_off_is_said_to_be_and_is_not_among_the_available() -> None:
    assert refusal("task", disabled={"task"}) == (
        'Agent "task" is switched off by disabled_agents. Available: explore, reviewer'
    )
    assert refusal("task", names=("task",), disabled={"task"}) == (
        'Agent "task" is switched off by disabled_agents. Available: none'
    )
    assert refusal("x", disabled={"x", "task"}) == 'Unknown agent "x". Available: explore, reviewer'


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        ({"spawns": ("task", "explore"), "has_spawns": True}, "task, explore"),
        ({"spawns": None, "has_spawns": True}, "none (spawns disabled for this agent)"),
        ({"tools": ("read", "submit_result")}, "none (spawns disabled for this agent)"),
        ({"written_tools": ("Agent(task, explore)",)}, "task, explore"),
    ],
)
def test_the_spawn_policy_is_told_as_it_is(fields: dict[str, Any], allowed: str) -> None:
    assert refusal("reviewer", boss(**fields)) == f"Cannot spawn 'reviewer'. Allowed: {allowed}"


@pytest.mark.parametrize("name", ["explore", "reviewer", "task"])
def test_a_star_allows_everybody(name: str) -> None:
    assert refusal(name, boss(spawns="*", has_spawns=True)) is None
    assert refusal(name, boss(spawns=(name,), has_spawns=True)) is None


def test_at_the_limit_of_depth_nobody_may_be_started() -> None:
    deepest = boss(spawns="*", has_spawns=True, max_depth=0)

    assert refusal("task", deepest) == (
        "Cannot spawn 'task'. Allowed: none (spawns disabled for this agent)"
    )


@pytest.mark.parametrize(
    ("name", "names", "blocked"),
    [("task", NAMES, {"task"}), ("boss", (*NAMES, "boss"), ()), ("boss", ("boss",), {"boss"})],
)
def test_a_blocked_agent_and_the_running_one_itself_are_not_started_again(
    name: str, names: tuple[str, ...], blocked: Collection[str]
) -> None:
    assert refusal(name, names=names, blocked=blocked) == (
        f"Cannot spawn {name} agent from within itself (recursion prevention). "
        "Use a different agent type."
    )


def test_unknown_goes_before_not_allowed_before_blocked() -> None:
    nobody = boss()

    assert str(refusal("x", nobody, blocked={"x"})).startswith("Unknown agent")
    assert str(refusal("task", nobody, blocked={"task"})).startswith("Cannot spawn 'task'.")
    assert str(refusal("task", blocked={"task"})).startswith("Cannot spawn task agent")


@pytest.mark.parametrize(
    ("environ", "blocked"),
    [
        ({}, set()),
        ({"PI_BLOCKED_AGENT": "task", "RUNNER_BLOCKED_AGENT": " plan "}, {"task", "plan"}),
        ({"PI_BLOCKED_AGENT": "", "RUNNER_BLOCKED_AGENT": "plan"}, {"plan"}),
    ],
)
def test_the_environment_may_block_agents(environ: dict[str, str], blocked: set[str]) -> None:
    assert blocked_agents(environ) == blocked


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Reviewer", "; near: reviewer"),
        ("REVIEWER", "; near: reviewer"),
        ("reviwer", "; near: reviewer"),
        ("tsak", "; near: task"),
        ("zzz", ""),
    ],
)
def test_people_are_told_names_that_are_near_whatever_their_case(name: str, near: str) -> None:
    assert explained_absence(name, NAMES, ()) == f"{absence(name, NAMES, ())}{near}"


def test_names_that_differ_in_case_only_are_all_told_and_those_switched_off_are_not() -> None:
    names = ("Coder", "coder", "CODER", "coder2")

    assert str(explained_absence("cODER", names, {"CODER"})).endswith(
        "; near: Coder, coder, coder2"
    )
    assert explained_absence("coder", names, ()) is None


@given(
    policy=st.one_of(st.just("*"), st.lists(NAME).map(tuple)),
    names=st.lists(NAME, unique=True),
    disabled=st.frozensets(NAME),
    blocked=st.frozensets(NAME),
)
def test_what_is_offered_is_exactly_what_is_not_refused(
    policy: Any, names: list[str], disabled: frozenset[str], blocked: frozenset[str]
) -> None:
    parent = boss(spawns=policy, has_spawns=True)
    offered = startable(map(definition, names), parent=parent, disabled=disabled, blocked=blocked)

    free = set(names) - disabled - blocked - {"boss"}
    assert {agent.name for agent in offered} == {
        name for name in free if policy == "*" or name in policy
    }


def test_an_agent_whose_file_needs_mending_is_not_offered() -> None:
    agents = [definition("a", unusable="line 4: `Tools` limits nothing here"), definition("b")]
    offered = startable(agents, parent=ANY, disabled=(), blocked=())
    assert [agent.name for agent in offered] == ["b"]
