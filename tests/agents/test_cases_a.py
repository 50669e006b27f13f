"""Agent files as people really save them (field cases A1, A3 to A7): nobody hides, nobody gains."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.agents.definition import AgentDefinition
from runner.agents.discovery import Discovery, discover_agents

GOOD = "---\nname: good\ndescription: d\n---\nWork.\n"


def discovered(root: Path, **files: str | bytes) -> Discovery:
    """What is found in a project with these agent files."""
    folder = root / ".claude" / "agents"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    return discover_agents(root, root / "home")


def own(discovery: Discovery) -> dict[str, AgentDefinition]:
    return {agent.name: agent for agent in discovery.agents if agent.source == "project"}


def test_a_colon_in_a_sentence_costs_neither_agent_and_one_warning_names_the_file(
    tmp_path: Path,
) -> None:
    said = 'Use after a page is edited. Examples: <example>user: "is this page ok?"</example>'
    text = f"---\nname: page-checker\ndescription: {said}\ntools: Read, Grep\n---\nYou check.\n"
    discovery = discovered(tmp_path, a=text, b=GOOD)
    found = own(discovery)
    assert list(found) == ["page-checker", "good"]
    assert found["page-checker"].description == said
    assert found["page-checker"].tools == ("read", "grep", "submit_result")
    (warning,) = discovery.warnings
    assert warning.startswith(str(tmp_path / ".claude" / "agents" / "a.md"))


def test_block_lists_in_a_broken_file_keep_their_limits_and_stay_out_of_the_prompt(
    tmp_path: Path,
) -> None:
    text = (
        "---\nname: log-reader\ndescription: Reads logs. Use when: something broke\n"
        "tools:\n  - Read\n  - Grep\nspawns:\n  - none-such\n---\nYou read.\n"
    )
    agent = own(discovered(tmp_path, a=text))["log-reader"]
    assert agent.tools is not None
    assert set(agent.tools) - {"task"} == {"read", "grep", "submit_result"}
    assert agent.spawns == ("none-such",)
    assert agent.system_prompt == "You read."


def test_a_latin_1_file_is_warned_about_and_an_empty_one_is_told_apart(tmp_path: Path) -> None:
    discovery = discovered(tmp_path, a=GOOD.replace("Work", "Änder").encode("latin-1"), b=b"")
    assert own(discovery)["good"].system_prompt == "\ufffdnder."
    (warning,) = discovery.warnings
    assert "a.md" in warning
    states = {
        Path(one.parsed.file).name: one.state for one in discovery.files if one.source != "bundled"
    }
    assert states["b.md"] != "used"
    assert set(states) == {"a.md", "b.md"}


@pytest.mark.parametrize("name", ["007", "~"])
def test_a_name_that_yaml_takes_for_no_text_is_skipped_and_says_to_quote_it(
    tmp_path: Path, name: str
) -> None:
    discovery = discovered(tmp_path, a=GOOD.replace("good", name), b=GOOD)
    assert list(own(discovery)) == ["good"]
    (warning,) = discovery.warnings
    assert "a.md" in warning
    assert "quotes" in warning


def test_notes_among_agents_say_nothing_however_often_they_are_looked_at(tmp_path: Path) -> None:
    discovery = discovered(tmp_path, a=GOOD, README="# Agents\n", notes="Prose\n```\n---\n```\n")
    again = [discover_agents(tmp_path, tmp_path / "home").warnings for _ in range(3)]
    assert [discovery.warnings, *again] == [()] * 4


@pytest.mark.parametrize(
    "line", ["tools: read", 'tools: "Read"', "tools: [Read]", "tools:\n- Read"]
)
def test_one_tool_is_one_tool_however_it_is_written(tmp_path: Path, line: str) -> None:
    agent = own(discovered(tmp_path, a=GOOD.replace("description", f"{line}\ndescription")))["good"]
    assert agent.tools == ("read", "submit_result")


def test_a_star_that_is_no_yaml_breaks_no_other_line_of_the_file(tmp_path: Path) -> None:
    text = "---\nname: all\ntools: *\ndescription: d\nmodel: main\nspawns: helper\n---\nWork.\n"
    agent = own(discovered(tmp_path, a=text))["all"]
    assert (agent.tools, agent.model, agent.spawns) == (None, ("main",), ("helper",))
