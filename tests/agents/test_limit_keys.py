from __future__ import annotations

from pathlib import Path

import pytest

from runner.agents.definition import AgentDefinition, parse_agent
from runner.agents.discovery import discover_agents
from runner.agents.effective import effective_agent
from runner.agents.limit_keys import meant_limit


def agent(front_matter: str) -> AgentDefinition:
    text = f"---\nname: a\ndescription: d\n{front_matter}\n---\nWork.\n"
    found = parse_agent(text.encode(), "a.md", "project").definition
    assert found is not None
    return found


@pytest.mark.parametrize(
    "key",
    [
        *"Tools TOOLS tool tols toolss toosl to0ls tool_list available_tools enabledTools".split(),
        *"allowed-tools allowedTools allowed_tools allow deny permissions allowed_commands".split(),
        *"disallowed_tools disallowedTool Disallowed-Tools dissallowedTools disalowedTools".split(),
        *"excludeTools denied_tools blockedTools forbidden_tools tool_whitelist".split(),
        *"readonly read_only Read-Only plan_mode sandbox sandbox_mode sandboxMode".split(),
        *"permission_mode PermissionMode permisionMode permissionsMode".split(),
        *"Spawns spawn spwans can_spawn subagents Isolation isolaton worktree disabled".split(),
        "t\u043eols",  # a Cyrillic letter
        "\uff54ools",  # a wide one
        "to\u200bols",  # one that does not show
        "t\u00f6ols",
        "allowed tools",
        "[tools]",
    ],
)
def test_a_key_that_plainly_means_a_limit_makes_the_agent_unusable(key: str) -> None:
    found = agent(f"'{key}': x")
    assert found.tools is None
    assert f"line 4: `{key}" in str(found.unusable)
    assert "limits nothing here; did you mean `" in str(found.unusable)


@pytest.mark.parametrize(
    "key",
    [
        *"color version tags category temperature title role domain skills".split(),
        *"topics scope kind license keywords expertise goals capabilities maxTokens mode".split(),
        *"toolchain tooltip mission permissive location totals tokens isolation_note2".split(),
        *"MaxTurns Name display_name when_to_use user-invocable handoffs".split(),
        *"c\u043elor \u00fcber \u5de5\u5177".split(),
    ],
)
def test_a_key_that_limits_nothing_is_no_obstacle(key: str) -> None:
    assert agent(f"{key}: x").unusable is None


@pytest.mark.parametrize(
    ("line", "is_limit"),
    [
        ("readonly: true", True),
        ("readonly: yes", True),
        ("readonly: false", False),
        ("readonly:", True),
        ("plan: 'off'", False),
        ("mode: plan", True),
        ("mode: read-only", True),
        ("mode: subagent", False),
        ("access: readonly", True),
        ("enabled: false", True),
        ("enabled: true", False),
        ("disabled: no", False),
        ("agents: [helper]", True),
        ("agents: {max_threads: 4}", False),
    ],
)
def test_a_switch_is_a_limit_by_its_value(line: str, is_limit: bool) -> None:
    assert (agent(line).unusable is not None) is is_limit


def test_a_limit_in_both_spellings_is_no_guess() -> None:
    found = agent("tools: Read, Bash\nallowed-tools: Bash(git:*)")
    assert found.tools == ("read", "bash", "submit_result")
    assert found.unusable == ("line 5: `allowed-tools` limits nothing here; did you mean `tools`?")


@pytest.mark.parametrize(
    "lines",
    ["claude:\n  tools: Read", "x:\n  - y:\n      disallowedTools: Bash", "model:\n  tools: Read"],
)
def test_a_limit_below_another_key_is_not_lost(lines: str) -> None:
    assert "line 4: `" in str(agent(lines).unusable)
    assert "write it at the start of a line of its own" in str(agent(lines).unusable)


def test_a_limit_below_a_key_with_its_own_rules_is_no_limit_of_the_agent() -> None:
    assert agent("mcpServers: {x: {tools: ['*']}}").unusable is None
    assert agent("output: {properties: {tools: {type: string}}}").unusable is None
    assert agent("tools: Read\ncopilot: {tools: [read]}").unusable is None


def test_nobody_can_use_an_agent_with_a_limit_that_is_not_read() -> None:
    found = effective_agent(agent("Tools: Read"), max_depth=2)
    assert found.unusable == (
        "agent 'a' cannot be used until its file is mended: a.md: line 4: `Tools` limits nothing "
        "here; did you mean `tools`?"
    )


def test_every_advice_is_a_key_that_is_read() -> None:
    assert meant_limit("Spawns", None) == "`spawns`"
    assert meant_limit("readOnly") == "`permissionMode: plan`"
    assert meant_limit("isolated") == "`isolation`"
    assert meant_limit("disable") == "`disabled_agents` in team.yaml"


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("x.md", "---\nname: critic\ndescription: d\ntools: {a: b}\n---\nx", 4),
        ("x.md", "---\nname: 'critic'\ndescription: never closed", 1),
        ("critic.md", "no front matter", None),
        ("critic.md", "---\nname: 7\ndescription: d\n---\nx", 2),
    ],
)
def test_a_skipped_file_is_found_by_the_name_that_it_was_for(
    tmp_path: Path, file: str, text: str, line: int | None
) -> None:
    folder = tmp_path / "p" / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / file).write_text(text)

    found = discover_agents(tmp_path / "p", tmp_path)

    skipped = found.skipped_as("critic")
    assert skipped is not None
    assert (skipped.parsed.file, skipped.parsed.line) == (str(folder / file), line)
    assert found.skipped_as("explore") is None
    assert found.skipped_as("nobody") is None
