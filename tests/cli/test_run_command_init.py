"""The command `init`: what its text promises holds, and a team can begin with what it proposes."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from runner.agents.commands import discover_commands, get_command
from runner.agents.definition import parse_agent
from runner.agents.effective import effective_agent
from runner.core.settings import MemberSpec, load_settings
from tests.cli.conftest import Cli

TEAM = """\
team: shop
members:
  - {name: ada, role: coder, agent: coder}
  - {name: cleo, role: reviewer, agent: reviewer}
"""
CODER = """\
---
name: coder
description: "Changes shop.py: with a test for each change"
tools: read, write, edit, ls, find, grep, bash
---
Prices are cents. `python3 -m unittest` proves a change.
"""
CHECK = "python3 -m unittest -q"
VERDICT = {"verdict": "approve", "summary": "It holds.", "findings": []}
GATE = "Agree to the proposed team and tasks"


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def shop(cli: Cli) -> Cli:
    """A small repository with a board as `runner init` makes it, and a model from a file."""
    root = cli.layout.root
    (root / "README.md").write_text("# Shop\n\n`total` adds up; a discount is still missing.\n")
    (root / "shop.py").write_text("def total(prices):\n    return sum(prices)\n")
    (root / "test_shop.py").write_text(
        "import unittest\nfrom shop import total\n\n\nclass Total(unittest.TestCase):\n"
        "    def test_it(self):\n        self.assertEqual(total([1, 2]), 3)\n"
    )
    assert cli("init").code == 0
    script = {
        "tasks": {"1": turns(), "4": submit(VERDICT)},
        "default": submit("ok"),
    }
    (root / "turns.yaml").write_text(json.dumps(script))
    return cli


def submit(data: object) -> list[dict[str, Any]]:
    return [{"calls": [{"submit_result": {"data": data}}]}]


def turns() -> list[dict[str, Any]]:
    """What a model does that follows the text of the command."""
    first = {"subject": GATE, "owner": "lead", "description": "team.yaml, coder, tasks 3 and 4"}
    discount = {
        "subject": "total takes a discount in percent",
        "description": "In shop.py ...",
        "blockedBy": [2],
        "required_role": "coder",
        "verify": [CHECK],
    }
    review = {"subject": "The discount is reviewed", "blockedBy": [2, 3], "agent": "reviewer"}
    return [
        {"calls": [{"ls": {"path": "."}}, {"read": {"path": "README.md"}}, {"list_tasks": {}}]},
        {"calls": [{"bash": {"command": CHECK}}, {"read": {"path": "team.yaml"}}]},
        {"calls": [{"write": {"path": "team.yaml", "content": TEAM}}]},
        {"calls": [{"write": {"path": ".xcsh/agents/coder.md", "content": CODER}}]},
        {"calls": [{"create_task": first}]},
        {"calls": [{"create_task": discount}, {"create_task": review}]},
        {"calls": [{"list_tasks": {}}]},
        *submit({"files": ["team.yaml", ".xcsh/agents/coder.md"], "tasks": [2, 3, 4]}),
    ]


def run(cli: Cli, *argv: str) -> Any:
    return cli("run", "--drain", "--json", "--model", "script/turns.yaml", *argv).json


def states(report: Any) -> dict[int, str]:
    return {task["id"]: task["state"] for task in report["tasks"]}


def init_text() -> str:
    return get_command(discover_commands("/", "/nowhere"), "init").instructions


def example(marker: str) -> str:
    """The indented block of the text that `marker` is the first line of."""
    (block,) = re.findall(rf"\n\n((?:    {marker}.*\n)(?:(?:    .*)?\n)*)", init_text())
    return textwrap.dedent(block).strip() + "\n"


def test_init_proposes_and_nobody_begins_before_the_person_agrees(shop: Cli) -> None:
    report = run(shop, "--command", "init", "prices", "are", "cents")
    assert report["command"] == {"name": "init", "task": 1}
    assert states(report) == {1: "completed", 2: "assigned", 3: "blocked", 4: "blocked"}
    assert report["exit"] == 3
    assert "are none; choose by what you find):\nprices are cents\n" in shop.raw(1)["description"]
    assert shop.raw(1)["agent"] == "task"
    assert shop("tasks", "check").code == 0
    checked = shop("agents", "check", "--json")
    assert checked.code == 0
    assert [one["state"] for one in checked.json["files"] if one["name"] == "coder"] == ["used"]


def test_once_the_gate_is_done_the_proposed_team_does_the_proposed_tasks(shop: Cli) -> None:
    run(shop, "--command", "init")
    assert shop("tasks", "claim", "2", "--owner", "lead").code == 0
    assert shop("tasks", "done", "2", "--owner", "lead").code == 0
    report = run(shop)
    assert report["exit"] == 0, report
    assert set(states(report).values()) == {"completed"}
    assert {(one["name"], one["agent"]) for one in report["teammates"]} == {
        ("ada", "coder"),
        ("cleo", "reviewer"),
    }


def test_an_agent_without_bash_cannot_write_what_decides_about_agents(shop: Cli) -> None:
    directory = shop.layout.root / ".xcsh" / "agents"
    limited = "---\nname: task\ndescription: d\ntools: read, write, ls, create_task\n---\nWork."
    (directory / "task.md").write_text(limited)
    before = shop.layout.team_yaml.read_bytes()
    run(shop, "--command", "init")
    assert shop.layout.team_yaml.read_bytes() == before
    assert not (directory / "coder.md").exists()


def test_the_settings_in_the_text_are_valid(tmp_path: Path, cli: Cli) -> None:
    cli.layout.team_yaml.write_text(example("team:").replace("NAME", "shop"))
    settings = load_settings(cli.layout, {}, {})
    assert settings.members == (
        MemberSpec(name="ada", role="coder", agent="coder"),
        MemberSpec(name="cleo", role="reviewer", agent="reviewer"),
    )
    assert settings.limits.timeout_s == 1800


def test_the_agent_in_the_text_is_valid_and_has_only_tools_that_there_are() -> None:
    parsed = parse_agent(example("---").encode(), "coder.md", "project")
    assert parsed.definition is not None
    assert parsed.warnings == ()
    effective = effective_agent(parsed.definition, max_depth=2)
    assert effective.warnings == ()
    assert effective.runs_anything


def test_the_text_reads_well_with_and_without_wishes() -> None:
    text = init_text()
    assert text.count("$@") == 1
    assert "(where nothing follows, there are none; choose by what you find):\n$@\n" in text
    assert max(map(len, text.splitlines())) <= 110
