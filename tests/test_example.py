"""The example board has what its page promises, and the package ships what it should."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

import runner
from runner.core.data import data_dir

EXAMPLE = data_dir("tasks_example")


def tasks() -> dict[int, dict[str, Any]]:
    files = sorted((EXAMPLE / ".tasks").glob("task_*.json"))
    return {task["id"]: task for task in map(json.loads, (path.read_bytes() for path in files))}


def test_the_example_has_layers_a_role_gate_a_schema_a_command_and_checks() -> None:
    board = tasks()
    assert 7 <= len(board) <= 9
    first_layer = [task for task in board.values() if not task["blockedBy"]]
    assert len(first_layer) >= 2
    assert len([task for task in board.values() if "run" in task]) == 1
    assert [task["required_role"] for task in board.values() if "schema" in task] == ["reviewer"]
    assert len([task for task in board.values() if "verify" in task]) >= 3
    assert {task["status"] for task in board.values()} == {"pending"}


def test_the_team_of_the_example_is_two_coders_and_a_reviewer_with_a_script() -> None:
    team = yaml.safe_load((EXAMPLE / "team.yaml").read_text(encoding="utf-8"))
    assert sorted(one["role"] for one in team["members"]) == ["coder", "coder", "reviewer"]
    kind, _, path = team["model"].partition("/")
    assert (kind, (EXAMPLE / path).is_file()) == ("script", True)


def test_the_page_of_the_example_explains_each_file() -> None:
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    files = [path.relative_to(EXAMPLE) for path in EXAMPLE.rglob("*") if path.is_file()]
    shipped = {str(path) for path in files if path.parts[0] not in {".team", "README.md"}}
    assert {name for name in shipped if f"| `{name}` | " not in page} == set()


def test_the_package_says_that_it_is_typed() -> None:
    assert Path(str(runner.__file__)).with_name("py.typed").is_file()


def test_every_word_of_the_project_is_in_the_glossary() -> None:
    words = (
        "board task blocker teammate roster lead agent discovery model engine claim run attempt "
        "outcome turn history compaction identity transcript journal ledger workspace"
    ).split()
    page = (Path(__file__).parent.parent / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert [word for word in words if f"| **{word}** |" not in page] == []
