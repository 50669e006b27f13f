"""What `tasks check` says of agents that a board or its team name and nobody here has."""

from __future__ import annotations

from typing import Any

from tests.cli.conftest import Cli

NAMES = "explore, plan, designer, task, quick_task"


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
