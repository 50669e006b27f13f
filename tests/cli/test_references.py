"""What `tasks check` says of agents that a board or its team name and nobody here has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli

NAMES = "explore, plan, designer, task, quick_task"


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def problems(cli: Cli, kind: str) -> list[tuple[str, Any, str]]:
    answer = cli("tasks", "check", "--json")
    found = [one for one in answer.json["problems"] if one["kind"] == kind]
    assert answer.code == int(any(one["severity"] == "error" for one in found))
    return sorted((one["file"], one["id"], one["message"]) for one in found)


def test_the_text_is_the_one_of_a_refused_claim(cli: Cli) -> None:
    cli.layout.team_yaml.write_text(
        "disabled_agents: [reviewer]\nmembers: [{name: ann, agent: Task}]\n"
    )
    cli.board({"id": 1, "agent": "reviewer"}, {"id": 2, "agent": "explorer"}, {"id": 3})
    assert problems(cli, "unknown-agent") == [
        (
            "task_1.json",
            1,
            f'Agent "reviewer" is switched off by disabled_agents. Available: {NAMES}',
        ),
        ("task_2.json", 2, f'Unknown agent "explorer". Available: {NAMES}; near: explore'),
        ("team.yaml", None, f'member ann: Unknown agent "Task". Available: {NAMES}; near: task'),
    ]


def test_agents_of_commands_and_of_finished_tasks_do_not_matter(cli: Cli) -> None:
    cli.board(
        {"id": 1, "agent": "gone", "run": "true"},
        {"id": 2, "agent": "gone", "status": "completed"},
        {"id": 3, "agent": "explore"},
        {"id": 4, "agent": "explore"},
    )
    assert problems(cli, "unknown-agent") == []


def test_a_team_may_switch_off_only_what_is_there(cli: Cli) -> None:
    cli.layout.team_yaml.write_text(
        "disabled_agents: [Designer, plan]\nmembers: [{name: ann, agent: task}]\n"
    )
    assert problems(cli, "unknown-agent") == []
    [(file, _, message)] = problems(cli, "bad-field")
    assert file == "team.yaml"
    assert message.startswith('disabled_agents: Unknown agent "Designer". Available: explore, plan')
    assert message.endswith("; near: designer")


def agent(cli: Cli, name: str, line: str) -> str:
    file = cli.layout.root / ".claude" / "agents" / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: d\n{line}\n---\nWork.\n")
    return str(file)


def test_agents_that_cannot_work_are_problems_of_who_names_them(cli: Cli) -> None:
    agent(cli, "apart", "isolation: worktree")
    agent(cli, "tools", "tools: WebFetch")
    agent(cli, "task", "output: text")
    cli.layout.team_yaml.write_text("members: [{name: ann, agent: apart}, {name: bob}]\n")
    cli.board({"id": 1, "agent": "apart"}, {"id": 2, "agent": "tools"}, {"id": 3, "agent": "plan"})
    found = problems(cli, "bad-field")
    assert [one[0] for one in found] == ["task_1.json", "task_2.json", "team.yaml", "team.yaml"]
    reason = "agent 'apart': `isolation` is 'worktree': own worktrees are not part of this version"
    assert [one[2] for one in found if "apart" in one[2]] == [reason, f"member ann: {reason}"]
    assert found[1][2].startswith("agent 'tools' can use none of its tools here (WebFetch)")
    assert found[3][2].startswith("member bob: agent 'task': `output` cannot be used")


def test_a_default_agent_that_cannot_be_used_is_no_error_where_tasks_name_others(cli: Cli) -> None:
    cli.layout.team_yaml.write_text("disabled_agents: [task]\nmembers: 1\n")
    cli.board({"id": 1, "agent": "plan"})
    [problem] = cli("tasks", "check", "--json").json["problems"]
    assert (problem["severity"], problem["kind"]) == ("warning", "unknown-agent")


def test_the_file_that_was_skipped_is_named_with_the_reason(cli: Cli) -> None:
    file = agent(cli, "lost", "tools: 5")
    cli.board({"id": 1, "agent": "lost"})
    [(_, _, message)] = problems(cli, "unknown-agent")
    assert message.startswith('Unknown agent "lost". Available: explore')
    assert f"; {file} was skipped: line 4: `tools`" in message


def test_what_cannot_be_used_is_told_when_a_task_names_it(cli: Cli) -> None:
    agent(cli, "apart", "isolation: worktree")
    said = "warning: task 1: "
    added = cli("tasks", "add", "One", "--agent", "apart", "--json")
    assert (added.code, added.json["agent"]) == (0, "apart")
    assert added.err.startswith(f"{said}agent 'apart': `isolation` is")
    edited = cli("tasks", "edit", "1", "--set", "agent=Plan")
    assert edited.err.startswith(f'{said}Unknown agent "Plan". Available: ')
    assert edited.err.endswith("; near: plan\n")
    assert cli("tasks", "edit", "1", "--set", "agent=plan").err == ""
    edited = cli("tasks", "edit", "1", "--set", "owner=zed", "--set", "required_role=cook")
    owner, role = edited.err.splitlines()
    assert owner.startswith(f"{said}assigned to zed, who is no member of the team")
    assert role.startswith(f"{said}needs role cook, which nobody in the team has")
    assert cli("tasks", "edit", "1", "--set", "agent=null", "--set", "subject=Two").err == ""


def test_broken_settings_are_told_and_the_task_is_added(cli: Cli) -> None:
    cli.layout.team_yaml.write_text("nonsense: 1\n")
    answer = cli("tasks", "add", "One", "--role", "cook")
    assert answer.code == 0
    assert answer.err.startswith("warning: agent, owner and role of task 1 are not checked: ")
    assert cli.raw(1)["required_role"] == "cook"


def test_references_of_a_task_that_is_over_do_not_matter(cli: Cli) -> None:
    cli.board({"id": 1, "status": "completed"})
    assert cli("tasks", "edit", "1", "--set", "agent=gone").err == ""
