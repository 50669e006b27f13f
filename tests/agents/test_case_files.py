"""Every file of tests/data/cases/agents, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.agents.definition import parse_agent

CASES = Path(__file__).parent.parent / "data" / "cases" / "agents"
EXPECTED: dict[str, dict[str, Any]] = json.loads((CASES / "expected.json").read_bytes())["cases"]
REMARKS = ("why", "differs_from_reference", "reference_quirk", "design_note")
FIELDS = ("name", "description", "tools", "spawns", "model", "thinkingLevel", "blocking")


def read(name: str) -> dict[str, Any]:
    """What we make of a file, in the words of expected.json."""
    parsed = parse_agent((CASES / name).read_bytes(), name, "project")
    agent = parsed.definition
    if agent is None:
        return {"valid": False, "line_parser": parsed.fallback}
    value = agent.to_json()
    return {
        "valid": True,
        "line_parser": parsed.fallback,
        **{key: value[key] for key in FIELDS},
        "output": {"present": True, "value": agent.output}
        if agent.has_output
        else {"present": False},
        "body_first_40": agent.system_prompt[:40],
        "body_length": len(agent.system_prompt),
    }


@pytest.mark.parametrize("name", EXPECTED)
def test_a_case_file_is_read_as_expected(name: str) -> None:
    expected = {key: value for key, value in EXPECTED[name].items() if key not in REMARKS}
    assert read(name) == expected


def test_no_case_file_is_left_out() -> None:
    assert {path.name for path in CASES.glob("*.md")} == set(EXPECTED)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("06-example-block-column-zero.md", "`model` is there more than once"),
        ("09-number-as-name.md", "put it in quotes"),
        ("14-unclosed.md", "not closed"),
        ("18-duplicate-keys.md", "`name`, `thinkingLevel`"),
        ("22-multi-document.md", "more than one YAML document"),
        ("23-empty-description.md", "`description` is missing or empty"),
        ("31-unreadable-list-is-not-everything.md", "lose its limits"),
    ],
)
def test_the_reason_says_why_a_file_is_no_agent(name: str, part: str) -> None:
    assert part in (parse_agent((CASES / name).read_bytes(), name, "project").reason or "")
