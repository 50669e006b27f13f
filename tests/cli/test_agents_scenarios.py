"""The scenarios of tests/data/cases/discovery.json through `runner agents list`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.agents_call import CASES, call_json, write

SCENARIOS: list[dict[str, Any]] = json.loads((CASES / "discovery.json").read_bytes())["scenarios"]
BUNDLED = ["explore", "plan", "designer", "reviewer", "task", "quick_task"]


def build(scenario: dict[str, Any], root: Path) -> Path:
    """The files of a scenario; the folder to start in."""
    for folder in ("project", "home", *scenario.get("dirs", ())):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for name, text in scenario["files"].items():
        filled = text.replace("{HOME}", f"{root}/home").replace("{PROJECT}", f"{root}/project")
        write(root, name, filled)
    for link, target in scenario.get("symlinks", {}).items():
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(target)
    return root / str(scenario["cwd"])


def expected(scenario: dict[str, Any]) -> list[dict[str, str]]:
    hidden = scenario.get("bundled_hidden", ())
    bundled = [{"name": name, "source": "bundled"} for name in BUNDLED if name not in hidden]
    return [*scenario["expected"], *bundled]


def told(listed: list[dict[str, Any]], root: Path) -> list[dict[str, str]]:
    """What `list` says, in the words of the scenario."""
    found = []
    for one in listed:
        entry = {"name": one["name"], "source": one["source"]}
        if one["source"] != "bundled":
            entry["file"] = Path(one["file"]).relative_to(root).as_posix()
        found.append(entry)
    return found


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario["id"]))
def test_list_has_exactly_these_agents_in_this_order(
    scenario: dict[str, Any], tmp_path: Path
) -> None:
    at = build(scenario, tmp_path)
    listed = call_json(tmp_path, "list", at=at)
    assert told(listed, tmp_path) == expected(scenario)
    shadowed = {file for one in listed for file in one["shadows"]}
    assert shadowed.isdisjoint(one["file"] for one in listed if one["source"] != "bundled")


def test_a_process_started_in_the_folder_lists_the_same(tmp_path: Path) -> None:
    (scenario,) = (one for one in SCENARIOS if one["id"] == "three-registries")
    at = build(scenario, tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "runner", "agents", "list", "--json"],
        cwd=at,
        env=os.environ | {"HOME": str(tmp_path / "home")},
        capture_output=True,
        check=True,
    )
    assert told(json.loads(done.stdout), tmp_path) == expected(scenario)
