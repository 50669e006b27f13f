"""What nobody here may begin, in the dry run, the report and the summary."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Cli

DONE = {"run": "true"}
UNKNOWN = 'Unknown agent "Reviewer". Available: '
NEAR = "; near: reviewer"
REFUSED: dict[str, dict[str, Any]] = {
    "agent": {"id": 2, "agent": "Reviewer"},
    "role": {"id": 2, "required_role": "pilot", **DONE},
    "assigned": {"id": 2, "owner": "bob", "agent": "Reviewer"},
}


@pytest.mark.parametrize("task", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("argv", [["--dry-run"], ["--drain"]], ids=["dry run", "run"])
def test_a_task_that_only_role_or_agent_keep_back_is_unclaimable(
    cli: Cli, task: dict[str, Any], argv: list[str]
) -> None:
    cli.board(DONE, task)
    answer = cli("run", *argv, "--json")
    assert answer.code == 3
    [left] = [one for one in answer.json["tasks"] if one["id"] == 2]
    assert left["state"] == "unclaimable"
    assert left["reason"] == "needs role pilot" or (
        left["reason"].startswith(UNKNOWN) and left["reason"].endswith(NEAR)
    )
    assert cli.raw(2).items() >= task.items()


def test_the_others_keep_the_state_that_the_board_has_for_them(cli: Cli) -> None:
    cli.board(
        DONE,
        {"id": 2, "blockedBy": [1], **DONE},
        {"id": 3, "owner": "zoe", **DONE},
        {"id": 4, "blockedBy": [3], "agent": "Reviewer"},
        {"id": 5, "owner": "bob", **DONE},
    )
    told = cli("run", "--dry-run", "--json").json
    assert {one["id"]: (one["state"], one["outlook"]) for one in told["tasks"]} == {
        1: ("ready", "ready"),
        2: ("blocked", "coming"),
        3: ("assigned", "stuck"),
        4: ("blocked", "stuck"),
        5: ("assigned", "ready"),
    }


def test_the_table_of_a_dry_run_and_the_summary_name_the_state_and_the_reason(cli: Cli) -> None:
    cli.board(DONE, REFUSED["agent"])
    [planned] = [line for line in cli("run", "--dry-run").out.splitlines() if line[0] == "2"]
    assert planned.split()[:3] == ["2", "stuck", "unclaimable"]
    assert planned.endswith(NEAR)

    out = cli("run", "--drain").out
    assert f"2 Task 2 (unclaimable): {UNKNOWN}" in out
    assert out.endswith("something is left undone: 1 of 2 tasks completed (exit 3)\n")


def test_an_agent_that_is_switched_off_is_said_to_be(cli: Cli) -> None:
    cli.layout.team_yaml.write_text("disabled_agents: [reviewer, task]\n")
    cli.board({"id": 1, "agent": "reviewer"}, {"id": 2, "agent": "Reviewer"}, {"id": 3})
    reasons = [one["reason"] for one in cli("run", "--dry-run", "--json").json["tasks"]]
    names = "explore, plan, designer, quick_task"
    assert reasons == [
        f'Agent "reviewer" is switched off by disabled_agents. Available: {names}',
        f'Unknown agent "Reviewer". Available: {names}',
        f'Agent "task" is switched off by disabled_agents. Available: {names}',
    ]
