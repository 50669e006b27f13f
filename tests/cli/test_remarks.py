"""What a run says of agent files: only of those that its tasks and members name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli

SCRIPT = "default: [{calls: [{submit_result: {data: done}}]}]\n"


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def there(cli: Cli) -> Cli:
    """A board with a model, and three agents that can be odd."""
    (cli.layout.root / "turns.yaml").write_text(SCRIPT)
    cli.layout.team_yaml.write_text("model: script/turns.yaml\nmembers: 2\n")
    agent(cli, "lost", "tools: 5")
    agent(cli, "loose", "hue: a: b")
    agent(cli, "partly", "tools: Read, WebFetch")
    return cli


def agent(cli: Cli, name: str, line: str) -> None:
    file = cli.layout.root / ".claude" / "agents" / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: d\n{line}\n---\nWork.\n")


def told(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("warning: ")]


@pytest.mark.parametrize("how", ["--drain", "--dry-run"])
def test_files_that_no_task_names_are_one_line_together(there: Cli, how: str) -> None:
    there.board({"id": 1}, {"id": 2, "agent": "lost", "run": "true"})
    answer = there("run", how, "--json")
    assert told(answer.err) == ["warning: 2 agent files have remarks: `runner agents check`"]
    assert "{" not in answer.err
    assert answer.json["exit"] == 0


def test_a_file_that_an_open_task_names_is_told_once(there: Cli) -> None:
    there.board({"id": 1, "agent": "lost"}, {"id": 2, "agent": "lost"}, {"id": 3, "run": "true"})
    skipped, rest = told(there("run", "--drain").err)
    assert f"{there.layout.root}/.claude/agents/lost.md was skipped: line 4: `tools`" in skipped
    assert rest == "warning: 1 agent file has remarks: `runner agents check`"


def test_only_counts_and_so_does_a_member(there: Cli) -> None:
    there.layout.team_yaml.write_text("members: [{name: ann, agent: loose}]\n")
    there.board({"id": 1, "agent": "lost"}, {"id": 2, "run": "true"})
    loose, rest = told(there("run", "--drain", "--only", "2").err)
    assert "loose.md: line 4: not YAML" in loose
    assert rest.startswith("warning: 1 agent file has")


def test_a_tool_that_is_left_out_is_told_once_when_its_agent_begins(there: Cli) -> None:
    there.board({"id": 1, "agent": "partly"}, {"id": 2, "agent": "partly"})
    answer = there("run", "--drain")
    assert answer.code == 0
    assert told(answer.out) == [
        "warning: agent 'partly': tool WebFetch: not part of this version; left out"
    ]
