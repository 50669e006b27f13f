"""The scenarios of tests/data/cases/discovery.json on real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.agents.discovery import Discovery, discover_agents

FILE = Path(__file__).parent.parent / "data" / "cases" / "discovery.json"
SCENARIOS: list[dict[str, Any]] = json.loads(FILE.read_bytes())["scenarios"]


def build(scenario: dict[str, Any], root: Path) -> Discovery:
    for folder in ("project", "home", *scenario.get("dirs", ())):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for name, text in scenario["files"].items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        filled = text.replace("{HOME}", str(root / "home")).replace(
            "{PROJECT}", str(root / "project")
        )
        path.write_text(filled, encoding="utf-8")
    for link, target in scenario.get("symlinks", {}).items():
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(target)
    return discover_agents(root / scenario["cwd"], root / "home")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario["id"]))
def test_a_scenario_finds_exactly_these_agents(scenario: dict[str, Any], tmp_path: Path) -> None:
    discovery = build(scenario, tmp_path)
    found = [
        {
            "name": agent.name,
            "file": Path(agent.file).relative_to(tmp_path).as_posix(),
            "source": agent.source,
        }
        for agent in discovery.agents
        if agent.source != "bundled"
    ]
    assert found == scenario["expected"]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario["id"]))
def test_bundled_agents_come_last_unless_a_file_hides_them(
    scenario: dict[str, Any], tmp_path: Path
) -> None:
    discovery = build(scenario, tmp_path)
    hidden = scenario.get("bundled_hidden", ())
    ours = ("explore", "plan", "designer", "reviewer", "task", "quick_task")
    expected = [name for name in ours if name not in hidden]
    assert list(discovery.names)[-len(expected) :] == expected
    assert {
        found.parsed.definition.name
        for found in discovery.shadowed
        if found.source == "bundled" and found.parsed.definition
    } == set(hidden)
