from __future__ import annotations

import re
from pathlib import Path

import pytest

from runner.agents.bundled import clear_bundled_agents_cache, load_bundled_agents, read_bundled
from runner.agents.definition import AgentDefinition, parse_agent
from runner.core.data import data_dir
from runner.errors import BundledAgentBroken

NAMES = ("explore", "plan", "designer", "reviewer", "task", "quick_task")
BUILT = {
    "read",
    "write",
    "edit",
    "ls",
    "find",
    "grep",
    "bash",
    "create_task",
    "list_tasks",
    "claim_task",
    "send_message",
    "report_finding",
    "submit_result",
    "idle",
}
READ_ONLY = {"read", "grep", "find", "ls", "submit_result"}


def bundled(name: str) -> AgentDefinition:
    return next(agent for agent in load_bundled_agents() if agent.name == name)


def test_the_bundled_agents_are_these_in_this_order() -> None:
    assert tuple(agent.name for agent in load_bundled_agents()) == NAMES


def test_they_are_parsed_once_until_the_cache_is_cleared() -> None:
    first = load_bundled_agents()
    assert load_bundled_agents() is first
    clear_bundled_agents_cache()
    assert load_bundled_agents() is not first
    assert load_bundled_agents() == first


@pytest.mark.parametrize(
    ("name", "more"), [("explore", set()), ("plan", set()), ("reviewer", {"report_finding"})]
)
def test_those_that_look_can_only_read(name: str, more: set[str]) -> None:
    assert set(bundled(name).tools or ()) == READ_ONLY | more
    assert bundled(name).spawns is None


@pytest.mark.parametrize("name", NAMES)
def test_explicit_tools_exist_and_the_prompt_says_how_to_hand_in(name: str) -> None:
    agent = bundled(name)
    assert set(agent.tools or ()) <= BUILT
    assert "`submit_result`" in agent.system_prompt
    assert 25 <= len(agent.system_prompt.splitlines()) <= 60
    assert not re.search(r"`(task|plan_approval)`", agent.system_prompt)


def test_only_the_structured_ones_have_an_output_schema() -> None:
    assert [agent.name for agent in load_bundled_agents() if agent.has_output] == [
        "explore",
        "reviewer",
    ]


def test_the_two_task_agents_share_one_body() -> None:
    task, quick = bundled("task"), bundled("quick_task")
    assert task.system_prompt == quick.system_prompt
    assert task.tools is None
    assert quick.thinking_level == "low"


def test_no_bundled_file_is_left_over() -> None:
    files = {path.name for path in data_dir("bundled_agents").glob("*.md")}
    assert files == {"explore.md", "plan.md", "designer.md", "reviewer.md", "task.md"}


@pytest.mark.parametrize("data", [b"---\nname: a\ndescription: b: c\n---\nx", b"words", b"---\n"])
def test_a_bundled_file_that_cannot_be_parsed_is_fatal(data: bytes) -> None:
    with pytest.raises(BundledAgentBroken, match=r"plan\.md"):
        parse_agent(data, "plan.md", "bundled")


def test_a_bundled_file_that_is_missing_is_fatal(tmp_path: Path) -> None:
    with pytest.raises(BundledAgentBroken, match="cannot be read: No such file"):
        read_bundled(tmp_path, "plan")


def test_a_bundled_file_with_another_agent_in_it_is_fatal(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("---\nname: other\ndescription: d\n---\nx")
    with pytest.raises(BundledAgentBroken, match="does not define 'plan'"):
        read_bundled(tmp_path, "plan")
