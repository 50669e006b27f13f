"""Codex agents in TOML: what their keys mean here, and that a file never loses its limits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.agents.codex_toml import parse_codex_agent
from runner.agents.definition import AgentDefinition, ParsedAgent
from runner.agents.discovery import discover_agents, read_agent_file
from runner.agents.effective import effective_agent
from runner.core.tool_names import READ_ONLY, TOOLS

GOOD = 'name = "scout"\ndescription = "Looks around"\n'


def parse(text: str) -> ParsedAgent:
    return parse_codex_agent((GOOD + text).encode(), "f.toml", "project")


def agent(text: str = "") -> AgentDefinition:
    parsed = parse(text)
    assert parsed.definition is not None, parsed.reason
    return parsed.definition


def tools(text: str) -> tuple[str, ...]:
    return effective_agent(agent(text), max_depth=2).tools


def test_name_description_instructions_model_and_effort_are_taken_over() -> None:
    found = agent(
        'model = "gpt-large"\nmodel_reasoning_effort = "xhigh"\n'
        'developer_instructions = """\nLook at all of it.\n"""\n'
    )
    assert (found.name, found.description) == ("scout", "Looks around")
    assert found.system_prompt == "Look at all of it."
    assert (found.model, found.thinking_level) == (("gpt-large",), "xhigh")
    assert found.tools is None


def test_no_effort_is_no_thinking_and_an_unknown_one_is_dropped_by_its_own_name() -> None:
    assert agent('model_reasoning_effort = "none"').thinking_level == "off"
    parsed = parse('developer_instructions = "x"\nmodel_reasoning_effort = "huge"')
    assert parsed.definition is not None
    assert parsed.definition.thinking_level is None
    (warning,) = parsed.warnings
    assert warning.startswith("`model_reasoning_effort` was ignored, found 'huge'")


@pytest.mark.parametrize("line", ['sandbox_mode = "read-only"', 'default_permissions=":read-only"'])
def test_read_only_is_an_explicit_list_of_our_tools_that_change_nothing(line: str) -> None:
    assert agent(line).tools == (*READ_ONLY, "submit_result")
    assert tools(line) == READ_ONLY
    assert agent(line).spawns is None


@pytest.mark.parametrize("mode", ["workspace-write", "danger-full-access"])
def test_modes_that_may_write_are_every_tool(mode: str) -> None:
    assert tools(f'sandbox_mode = "{mode}"') == TOOLS
    assert tools(f'default_permissions = ":{mode.removesuffix("-write")}"') == TOOLS


@pytest.mark.parametrize(
    "line",
    [
        'sandbox_mode = "readonly"',
        "sandbox_mode = true",
        "sandbox_mode = {}",
        'default_permissions = "mine"',
        'sandbox_mode = "workspace-write"\ndefault_permissions = ["x"]',
    ],
)
def test_a_mode_that_is_not_understood_skips_the_file_with_the_reason(line: str) -> None:
    parsed = parse(line)
    assert parsed.definition is None
    assert "does not lose its limits" in (parsed.reason or "")
    assert line.rpartition("\n")[2].split(" ")[0] in (parsed.reason or "")


def test_the_stricter_of_two_modes_counts() -> None:
    assert tools('sandbox_mode="danger-full-access"\ndefault_permissions=":read-only"') == READ_ONLY


def test_keys_of_our_own_files_are_limits_here_too() -> None:
    assert tools('tools = ["read", "bash"]') == ("read", "bash")
    assert tools('sandbox_mode = "read-only"\ntools = ["Read", "bash", "task"]') == ("read",)
    assert "bash" not in tools('disallowed_tools = "Bash"')
    assert agent('spawns = ["a"]').spawns == ("a",)
    assert agent('sandbox_mode = "read-only"\nspawns = ["a"]').spawns == ("a",)
    assert agent("max_turns = 3").max_turns == 3
    assert agent('permission_mode = "plan"').plan_mode


def test_a_key_in_both_spellings_cannot_be_told() -> None:
    assert "`maxTurns` is there more than once" in (parse("max_turns=1\nmaxTurns=2").reason or "")


def test_settings_of_codex_make_no_noise_and_others_are_listed() -> None:
    parsed = parse(
        'developer_instructions = "x"\nnickname_candidates = ["A"]\nsurprise = 1\n'
        "[tools]\nweb_search = true\n[mcp_servers.docs]\nurl = 'u'\n"
    )
    assert parsed.unknown_keys == ("surprise",)
    assert parsed.warnings == ()
    assert tools("[tools]\nweb_search = true") == TOOLS


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("name = 5\n", 1, "`name` is a number, not text; put it in quotes"),
        ('description = "d"\n', None, "`name` is missing or empty"),
        ('name = "a"\ndescription = ""\n', 2, "`description` is missing or empty"),
        ('name = "a"\ndescription = "d"\nname = "b"\n', 3, "not TOML"),
        ('name = "a"\n\nx = [1\n', None, "not TOML"),
        ("x = " + "[" * 5000, None, "not TOML"),
        ("x = " + "1" * 5000, None, "not TOML"),
        ('name = "a"\ndeveloper_instructions = 1\n', None, "`developer_instructions` is not text"),
        ('name = """\nname = x"""\ndescription = 1\n', 3, "`description`"),
    ],
)
def test_the_reason_names_the_key_or_the_line(text: str, line: int | None, part: str) -> None:
    parsed = parse_codex_agent(text.encode(), "f.toml", "user")
    assert parsed.definition is None
    assert part in (parsed.reason or "")
    if line is not None:
        assert parsed.line == line
        assert f"line {line}: " in (parsed.reason or "")


def test_bytes_are_treated_as_in_every_agent_file() -> None:
    data = b"\xef\xbb\xbf" + (GOOD + 'developer_instructions = "\xe9"\r\n').encode("latin-1")
    parsed = parse_codex_agent(data, "f.toml", "user")
    assert parsed.definition is not None
    assert parsed.definition.system_prompt == "\ufffd"
    assert "UTF-8" in parsed.warnings[0]
    assert "UTF-16" in (parse_codex_agent(GOOD.encode("utf-16"), "f", "user").reason or "")


def test_a_schema_holds_what_json_can_hold() -> None:
    found = agent("[output]\na = 2026-01-02\nb = [nan, 1.5, {c = inf}]\n")
    assert json.dumps(found.output, allow_nan=False)
    assert found.output == {"a": "2026-01-02", "b": ["nan", 1.5, {"c": "inf"}]}


def test_markdown_and_toml_lie_together_in_the_order_of_whole_file_names(tmp_path: Path) -> None:
    folder = tmp_path / ".codex" / "agents"
    folder.mkdir(parents=True)
    (folder / "a.toml").write_text(GOOD)
    (folder / "a.md").write_text("---\nname: first\ndescription: d\n---\nx")
    (folder / "b.md").write_text("---\nname: scout\ndescription: d\n---\nx")
    discovery = discover_agents(tmp_path, tmp_path / "home")
    assert discovery.names[:2] == ("first", "scout")
    assert [Path(one.parsed.file).name for one in discovery.shadowed] == ["b.md"]


def test_toml_is_read_in_folders_of_codex_only_or_by_name(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "a.toml").write_text(GOOD)
    assert "scout" not in discover_agents(tmp_path, tmp_path / "home").names
    assert read_agent_file(folder / "a.toml", "user").definition is not None


values = st.sampled_from(
    [
        '"a"',
        "1",
        "true",
        "[]",
        '["read"]',
        "{}",
        "1979-01-01",
        '"read-only"',
        "nan",
        '"""\nx"""',
        "'",
    ]
)
keys = st.sampled_from(
    ["name", "tools", "spawns", "output", "sandbox_mode", "developer_instructions", "x", "[tools]"]
)
texts = st.lists(st.builds("{} = {}".format, keys, values), max_size=5).map("\n".join)


@given(st.binary(max_size=100) | texts.map(lambda text: (GOOD + text).encode()))
@settings(max_examples=300, deadline=None)
def test_any_bytes_have_one_answer_and_keep_their_limits(data: bytes) -> None:
    parsed = parse_codex_agent(data, "f.toml", "user")
    assert parsed == parse_codex_agent(data, "f.toml", "user")
    assert (parsed.definition is None) != (parsed.reason is None)
    if parsed.definition is not None:
        json.dumps(parsed.definition.to_json(), allow_nan=False)
        if b'sandbox_mode = "read-only"' in data:
            allowed = effective_agent(parsed.definition, max_depth=2).tools
            assert set(allowed) <= {*READ_ONLY, "task"}


@pytest.mark.parametrize("key", ["disallowedTools", "disallowed_tools", "disallowed-tools"])
def test_a_limit_counts_in_every_spelling(key: str) -> None:
    assert "bash" not in tools(f'{key} = ["Bash"]')


def test_settings_of_codex_are_listed_as_known_and_without_meaning() -> None:
    parsed = parse(
        'developer_instructions = "x"\nnickname_candidates = ["A"]\n'
        "[mcp_servers.x]\ntools = 1\n[features]\nmemories = true\n[tools]\nview_image = false\n"
    )
    assert parsed.foreign_keys == ("nickname_candidates", "mcp_servers", "features", "tools")
    assert (parsed.unknown_keys, parsed.warnings) == ((), ())
    assert parsed.definition is not None
    assert parsed.definition.unusable is None


@pytest.mark.parametrize(
    "text",
    [
        "Tools = ['read']",
        "allowed_tools = ['read']",
        "disallowed-tool = ['bash']",
        "sandboxMode = 'read-only'",
        "'sandbox-mode' = 'read-only'",
        "sandbox = 'read-only'",
        "read_only = true",
        "permissions = 'read-only'",
        "agents = ['scout']",
        "features.shell_tool = false",
        "tools.bash = false",
        "[agent]\ntools = ['read']",
        "['agent']\nsandbox_mode = 'read-only'",
    ],
)
def test_a_limit_that_is_not_read_makes_the_agent_unusable(text: str) -> None:
    assert "limits nothing here" in str(agent(text).unusable)


def test_a_skipped_file_keeps_the_name_that_it_was_for() -> None:
    assert parse("tools = [").names == ("scout",)
    assert parse("sandbox_mode = 'none'").names == ("scout",)
