"""Agent files as people really save them (field cases A1 to A7): nobody hides, nobody gains."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.agents.definition import AgentDefinition
from runner.agents.discovery import Discovery, discover_agents
from runner.agents.effective import effective_agent
from runner.core.tool_names import TOOLS

GOOD = "---\nname: good\ndescription: d\n---\nWork.\n"


def discovered(root: Path, **files: str | bytes) -> Discovery:
    """What is found in a project with these agent files."""
    folder = root / ".claude" / "agents"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    return discover_agents(root, root / "home")


def with_line(line: str) -> str:
    """The good file with a further line, or lines, in its front matter."""
    return GOOD.replace("description", f"{line}\ndescription")


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


def test_example_lines_that_look_like_keys_give_no_agent_rather_than_a_guess(
    tmp_path: Path,
) -> None:
    text = (
        "---\nname: doc-tester\ndescription: Checks guides. Examples:\n<example>\n"
        'Context: a new guide\nuser: "test it"\nname: Robin\nmodel: the-cheap-one\ntools: Bash\n'
        "</example>\ntools: Read\nmodel: main-model\n---\nx\n"
    )
    discovery = discovered(tmp_path, a=text, b=GOOD)
    assert list(own(discovery)) == ["good"]
    assert "`name`, `tools`, `model` is there more than once" in discovery.warnings[-1]


SAME = "---\nname: good\ndescription: |\n  d\n  ---\n  e\ntools: Read\n---\nOne.\n\n---\nTwo.\n"


@pytest.mark.parametrize(
    "text",
    [
        SAME,
        "\ufeff" + SAME,
        SAME.replace("\n", "\r\n"),
        "\n" + SAME,
        SAME.replace("Read\n---\n", "Read\n--- \n"),
    ],
    ids=["plain", "mark", "crlf", "blank line", "space behind the fence"],
)
def test_bytes_around_the_fence_change_nothing(tmp_path: Path, text: str) -> None:
    discovery = discovered(tmp_path, a=text)
    agent = own(discovery)["good"]
    assert agent.description == "d\n---\ne\n"
    assert agent.system_prompt == "One.\n\n---\nTwo."
    assert agent.tools == ("read", "submit_result")
    assert discovery.warnings == ()


def test_nothing_behind_the_closing_fence_is_an_agent_without_a_prompt(tmp_path: Path) -> None:
    discovery = discovered(tmp_path, a=GOOD.removesuffix("\nWork.\n"))
    assert own(discovery)["good"].system_prompt == ""
    assert "prompt is empty" in discovery.warnings[0]


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


@pytest.mark.parametrize("name", ["on", "no", "12:30", "2026-01-02", "1_000", '"007"'])
def test_a_name_is_the_text_that_its_author_typed(tmp_path: Path, name: str) -> None:
    discovery = discovered(tmp_path, a=GOOD.replace("good", name))
    assert list(own(discovery)) == [name.strip('"')]
    json.dumps([agent.to_json() for agent in discovery.agents])


def test_a_name_that_ends_at_a_comment_is_warned_about(tmp_path: Path) -> None:
    discovery = discovered(tmp_path, a=GOOD.replace("good", "lint #fast"))
    assert list(own(discovery)) == ["lint"]
    assert "line 2: `name` ends before the #" in discovery.warnings[0]


def test_backups_and_directories_among_agents_hide_none(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "agents"
    discovered(tmp_path, c=GOOD.replace("good", "c"), a=GOOD.replace("good", "a"), b=GOOD)
    (folder / "b.md~").write_text(GOOD.replace("good", "backup"))
    (folder / "old.md").mkdir()
    discovery = discover_agents(tmp_path, tmp_path / "home")
    assert list(own(discovery)) == ["a", "good", "c"]
    assert discovery.warnings == ()


def test_notes_among_agents_say_nothing_however_often_they_are_looked_at(tmp_path: Path) -> None:
    discovery = discovered(tmp_path, a=GOOD, README="# Agents\n", notes="Prose\n```\n---\n```\n")
    again = [discover_agents(tmp_path, tmp_path / "home").warnings for _ in range(3)]
    assert [discovery.warnings, *again] == [()] * 4


@pytest.mark.parametrize(
    "line", ["tools: read", 'tools: "Read"', "tools: [Read]", "tools:\n- Read"]
)
def test_one_tool_is_one_tool_however_it_is_written(tmp_path: Path, line: str) -> None:
    agent = own(discovered(tmp_path, a=with_line(line)))["good"]
    assert agent.tools == ("read", "submit_result")


def test_a_star_that_is_no_yaml_breaks_no_other_line_of_the_file(tmp_path: Path) -> None:
    text = "---\nname: all\ntools: *\ndescription: d\nmodel: main\nspawns: helper\n---\nWork.\n"
    agent = own(discovered(tmp_path, a=text))["all"]
    assert (agent.tools, agent.model, agent.spawns) == (None, ("main",), ("helper",))


@pytest.mark.parametrize(
    "line", ["tools: Read, Grep", "tools: [Read, Grep]", "tools:\n  - Read\n  - Grep"]
)
def test_a_comma_and_a_list_give_the_same_tools(tmp_path: Path, line: str) -> None:
    agent = own(discovered(tmp_path, a=with_line(line)))["good"]
    assert effective_agent(agent, max_depth=2).tools == ("read", "grep")


@pytest.mark.parametrize("line", ["tools: *", "tools:\n- *", "tools:"])
def test_a_star_and_an_empty_value_are_every_tool(tmp_path: Path, line: str) -> None:
    agent = own(discovered(tmp_path, a=with_line(line)))["good"]
    assert effective_agent(agent, max_depth=2).tools == TOOLS


@pytest.mark.parametrize("line", ["tools: []", "tools: NoSuchTool, Other", "tools: Read Grep"])
def test_an_empty_list_and_unknown_names_are_never_every_tool(tmp_path: Path, line: str) -> None:
    effective = effective_agent(own(discovered(tmp_path, a=with_line(line)))["good"], max_depth=2)
    assert effective.tools == ()
    assert (effective.unusable is None) is (line == "tools: []")


def test_an_unknown_tool_is_dropped_with_a_warning_and_the_others_stay(tmp_path: Path) -> None:
    agent = own(discovered(tmp_path, a=with_line("tools: Read, NoSuchTool")))["good"]
    effective = effective_agent(agent, max_depth=2)
    assert effective.tools == ("read",)
    assert "NoSuchTool" in effective.warnings[0]
