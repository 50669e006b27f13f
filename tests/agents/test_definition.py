from __future__ import annotations

from typing import Any

import pytest

from runner.agents.definition import AgentDefinition, ParsedAgent, parse_agent


def parse(front_matter: str, body: str = "Work.") -> ParsedAgent:
    text = f"---\nname: a\ndescription: d\n{front_matter}\n---\n{body}\n"
    return parse_agent(text.encode(), "a.md", "project")


def agent(front_matter: str) -> AgentDefinition:
    parsed = parse(front_matter)
    assert parsed.definition is not None, parsed.reason
    return parsed.definition


BROKEN = "broken: x: y\n"  # not YAML: the line parser reads the file


@pytest.mark.parametrize("broken", ["", BROKEN], ids=["yaml", "lines"])
@pytest.mark.parametrize(
    "tools",
    [
        "tools: Read, Grep",
        'tools: "Read, Grep"',
        "tools: [Read, Grep]",
        "tools: [\n  Read,\n  Grep ]",
        "tools:\n  - Read\n  - Grep",
        "tools:\n- Read\n- 'Grep'",
        "tools: read,grep,",
        "tools: Read,\n  Grep",
        "tools: >-\n  Read,\n  Grep",
        "tools: Read, Grep # no more",
    ],
)
def test_every_form_of_a_tool_list_gives_the_same_tools(tools: str, broken: str) -> None:
    assert agent(broken + tools).tools == ("read", "grep", "submit_result")


@pytest.mark.parametrize(
    "tools",
    [
        "tools: *",
        'tools: "*"',
        "tools:\n  - *",
        'tools: ["*"]',
        "tools: [*]",
        "tools:",
        "color: red",
    ],
)
def test_a_star_an_empty_value_and_no_key_mean_every_tool(tools: str) -> None:
    assert agent(tools).tools is None


def test_an_empty_tools_value_is_warned_about_and_an_absent_one_is_not() -> None:
    assert "every tool" in parse("tools:").warnings[0]
    assert parse("color: red").warnings == ()


def test_a_list_of_forbidden_tools_that_forbids_nothing_is_warned_about() -> None:
    assert "forbids nothing" in parse("disallowedTools:").warnings[0]
    assert "cannot be taken away" in parse("disallowedTools: submit_result").warnings[0]
    assert parse("disallowedTools: Bash").warnings == ()


@pytest.mark.parametrize(
    "tools", ["tools: []", "tools: ','", "tools: [5, null]", BROKEN + "tools: []"]
)
def test_a_list_of_nothing_means_no_tools(tools: str) -> None:
    assert agent(tools).tools == ("submit_result",)


def test_names_without_a_comma_between_them_are_one_tool_and_never_all() -> None:
    assert agent("tools: Read Grep").tools == ("read grep", "submit_result")


@pytest.mark.parametrize("key", ["tools", "disallowedTools", "spawns"])
@pytest.mark.parametrize(
    "value",
    [
        "5",
        "true",
        "{read: yes}",
        "[[read], write]",
        "\n  - read: x",
        "[read: x]",
    ],
)
def test_a_limit_that_cannot_be_read_skips_the_file(key: str, value: str) -> None:
    parsed = parse(f"{key}: {value}")
    assert parsed.definition is None
    assert f"`{key}`" in (parsed.reason or "")


@pytest.mark.parametrize("key", ["tools", "disallowed-tools", "spawns"])
@pytest.mark.parametrize(
    "value",
    [
        "{read: yes}",
        "[read, *",
        '["read", *]',
        "\nsome prose",
        "\n  read\n  grep: x: y",
        "read, # the first\n  grep",
        "&anchor read: x: y",
        "@read",
        "[read, [grep], *]",
    ],
)
def test_a_limit_that_the_line_parser_cannot_read_skips_the_file(key: str, value: str) -> None:
    parsed = parse(f"{BROKEN}{key}: {value}")
    assert parsed.fallback
    assert parsed.definition is None


def test_an_indented_limit_in_a_broken_file_is_not_overlooked() -> None:
    parsed = parse("note: one: two\n tools: Read")
    assert parsed.definition is None
    assert "`tools`" in (parsed.reason or "")


def test_a_limit_swallowed_by_an_open_quote_skips_the_file() -> None:
    parsed = parse('note: "open\ntools: Read\nend"')
    assert not parsed.fallback
    assert "`tools` is not readable" in (parsed.reason or "")


@pytest.mark.parametrize("broken", ["", BROKEN])
@pytest.mark.parametrize("key", ["\u00a0tools", "tools\u00a0", "\u200btools", '"tools "'])
def test_a_limit_with_characters_that_do_not_show_skips_the_file(key: str, broken: str) -> None:
    parsed = parse(f"{broken}{key}: Read")
    assert parsed.definition is None
    assert "`tools` is not readable" in (parsed.reason or "")


def test_a_limit_with_a_wide_colon_skips_the_file() -> None:
    assert "`tools` is not readable" in (parse("tools\uff1a Read").reason or "")


def test_an_indented_limit_below_the_real_one_is_an_example() -> None:
    assert agent("note: one: two\n  tools: Bash\ntools: Read").tools == ("read", "submit_result")


@pytest.mark.parametrize(
    ("front_matter", "spawns"),
    [
        ("tools: read, task", "*"),
        ("tools: read, task\nspawns: []", None),
        ('tools: read, task\nspawns: ""', None),
        ("tools: read, task\nspawns:", None),
        ("spawns: {}", None),
        ("spawns: helper, other ,", ("helper", "other")),
        ("spawns: ['*']", "*"),
        ("spawns: *", "*"),
        ("color: red", None),
    ],
)
def test_who_may_be_spawned(front_matter: str, spawns: object) -> None:
    assert agent(front_matter).spawns == spawns


@pytest.mark.parametrize("broken", ["", BROKEN], ids=["yaml", "lines"])
@pytest.mark.parametrize(
    "double",
    ["tools: Read\ntools: Bash", 'tools: Read\n"tools": Bash', "max-turns: 1\nmaxTurns: 2"],
)
def test_a_known_key_twice_skips_the_file_and_is_named(broken: str, double: str) -> None:
    parsed = parse(broken + double)
    assert parsed.definition is None
    assert ("`tools`" if "tools" in double else "`maxTurns`") in (parsed.reason or "")


def test_an_unknown_key_twice_does_no_harm() -> None:
    parsed = parse("note: one\nnote: two")
    assert parsed.definition is not None
    assert parsed.unknown_keys == ("note",)


@pytest.mark.parametrize("broken", ["", BROKEN], ids=["yaml", "lines"])
def test_keys_of_claude_are_understood_where_they_mean_something(broken: str) -> None:
    found = agent(
        broken
        + "disallowedTools: Write, Bash # too strong\nmaxTurns: 7\nisolation: worktree\n"
        + "permissionMode: plan # first\ncolor: red"
    )
    assert found.disallowed_tools == ("Write", "Bash")
    assert (found.max_turns, found.isolation, found.plan_mode) == (7, "worktree", True)


@pytest.mark.parametrize("broken", ["", BROKEN], ids=["yaml", "lines"])
@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("isolation: Worktree", "worktree"),
        ("isolation: remote", "remote"),
        ("isolation: true", "true"),
        ("isolation: 5", "5"),
        ("isolation: none", None),
        ("isolation: false", None),
        ("isolation: ''", None),
        ("isolation:", None),
    ],
)
def test_isolation_in_any_words_but_a_no_is_asked_for(
    broken: str, line: str, asked: str | None
) -> None:
    parsed = parse(broken + line)
    assert parsed.definition is not None
    assert parsed.definition.isolation == asked
    warned = any("`isolation`" in warning for warning in parsed.warnings)
    assert warned is (asked not in (None, "worktree"))


def test_disallowing_everything_leaves_only_the_result() -> None:
    assert agent('disallowedTools: "*"').tools == ("submit_result",)


def test_foreign_keys_make_no_noise_and_a_misspelt_one_is_pointed_out() -> None:
    parsed = parse("color: red\nhooks: {}\nModel: small")
    assert parsed.unknown_keys == ("Model",)
    assert parsed.foreign_keys == ("color", "hooks")
    assert parsed.warnings == ("line 6: unknown key 'Model' was ignored; did you mean 'model'?",)


@pytest.mark.parametrize("value", ["{a: b}", "[plan]", "5", "true"])
def test_a_permission_mode_that_cannot_be_read_skips_the_file(value: str) -> None:
    assert "line 4: `permissionMode` is " in (parse(f"permissionMode: {value}").reason or "")


@pytest.mark.parametrize("value", ["Plan", "' plan '", "plan # first"])
def test_plan_mode_is_not_lost_by_its_spelling(value: str) -> None:
    assert agent(f"permissionMode: {value}").plan_mode
    assert not agent("permissionMode: default").plan_mode
    assert not agent("permissionMode:").plan_mode


def test_a_permission_mode_that_is_nearly_plan_is_no_guess() -> None:
    assert "write plan if that is meant" in (parse("permissionMode: plann").reason or "")
    assert not agent("permissionMode: acceptEdits").plan_mode
    assert "line 4: `permissionMode` is 'strict'" in str(agent("permissionMode: strict").unusable)


def test_a_permission_mode_swallowed_by_a_quote_or_indented_in_a_broken_file_skips_it() -> None:
    swallowed = parse('note: "open\npermissionMode: plan\nend"')
    indented = parse(f"{BROKEN}  permissionMode: plan")
    for parsed in (swallowed, indented):
        assert parsed.definition is None
        assert parsed.line == 5
        assert "`permissionMode` is not readable" in (parsed.reason or "")


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("thinkingLevel: High", "thinkingLevel"),
        ("thinking: 3", "thinking"),
        ("model: 5", "model"),
        ("blocking: perhaps", "blocking"),
        ("blocking: 1", "blocking"),
        ("maxTurns: 0", "maxTurns"),
        ("maxTurns: true", "maxTurns"),
        ("maxTurns: many", "maxTurns"),
        (BROKEN + "output: {a: b", "output"),
    ],
)
def test_another_value_that_cannot_be_used_is_dropped_with_a_warning(line: str, key: str) -> None:
    parsed = parse(line)
    assert parsed.definition is not None
    value = parsed.definition.to_json()
    assert (value["thinkingLevel"], value["model"], value["blocking"]) == (None, None, None)
    assert parsed.definition.max_turns is None
    number = 5 if line.startswith(BROKEN) else 4
    assert any(
        warning.startswith(f"line {number}: `{key}` was ignored") for warning in parsed.warnings
    )


def test_a_null_thinking_level_does_not_hide_the_older_key() -> None:
    assert agent("thinkingLevel:\nthinking: low").thinking_level == "low"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("7", "a number, not text; put it in quotes"),
        ("true", "a boolean"),
        ("~", "put it in quotes"),
        ("null", "put it in quotes"),
        ("", "missing"),
        ("[a]", "a list"),
        ("' '", "empty"),
    ],
)
def test_a_name_that_is_no_text_says_what_it_is(name: str, says: str) -> None:
    text = f"---\nname: {name}\ndescription: d\n---\nx\n"
    parsed = parse_agent(text.encode(), "a.md", "project")
    assert parsed.definition is None
    assert says in (parsed.reason or "")


@pytest.mark.parametrize("name", ["on", "no", "12:30", "2026-01-02", "1_000", "'007'", "off"])
def test_a_name_is_the_text_that_was_typed(name: str) -> None:
    text = f"---\nname: {name}\ndescription: d\n---\nx\n"
    found = parse_agent(text.encode(), "a.md", "project").definition
    assert found is not None
    assert found.name == name.strip("'")


def test_a_comment_behind_a_name_is_no_part_of_it() -> None:
    text = b"---\nname: lint #fast\ndescription: d\n---\nx\n"
    found = parse_agent(text, "a.md", "project").definition
    assert found is not None
    assert found.name == "lint"


def test_an_output_schema_is_kept_although_another_line_is_broken() -> None:
    found = agent(BROKEN + "output:\n  type: object\n  required: [a-b]")
    assert found.output == {"type": "object", "required": ["a-b"]}


def test_the_json_object_has_every_key_and_null_for_what_is_absent() -> None:
    value: dict[str, Any] = agent("spawns: b").to_json()
    assert value == {
        "name": "a",
        "description": "d",
        "source": "project",
        "file": "a.md",
        "tools": None,
        "spawns": ["b"],
        "model": None,
        "thinkingLevel": None,
        "output": None,
        "blocking": None,
    }


def test_keys_of_gemini_are_understood_where_they_mean_something() -> None:
    parsed = parse("kind: local\nmax_turns: 12\ntimeout_mins: 5\ntemperature: 0.2")
    assert parsed.definition is not None
    assert parsed.definition.max_turns == 12
    assert (parsed.unknown_keys, parsed.warnings) == ((), ())
    assert parsed.foreign_keys == ("timeout_mins", "temperature")


def test_a_limit_of_turns_in_two_spellings_is_no_guess() -> None:
    parsed = parse("max_turns: 1\nmaxTurns: 2")
    assert parsed.reason == (
        "line 5: `maxTurns` and `max_turns` mean the same: it cannot be told which counts"
    )


@pytest.mark.parametrize("broken", ["", BROKEN], ids=["yaml", "lines"])
def test_an_agent_that_works_on_another_machine_is_skipped(broken: str) -> None:
    parsed = parse(f"{broken}kind: Remote")
    assert parsed.definition is None
    assert "`kind` is remote" in (parsed.reason or "")


def test_every_tool_and_some_of_mcp_servers_is_every_tool() -> None:
    found = agent('tools: ["*", "mcp_foo_*"]')
    assert found.tools == ("*", "mcp_foo_*", "submit_result")
    assert found.tool_rules is None
    assert agent("tools: '*, Read'").tool_rules is not None
    assert agent("tools: [mcp_foo_*]").tool_rules is not None


@pytest.mark.parametrize("key", ["tools", "disallowedTools", "permissionMode"])
@pytest.mark.parametrize("head", [">-", "|", "|2", ">-  # c", "&x", "!!str", "!x", "&x >-", "''"])
def test_a_limit_that_goes_on_at_column_zero_is_not_lost_in_a_broken_file(
    key: str, head: str
) -> None:
    for below in ("[read]", "plan", "- read"):
        parsed = parse(f"{BROKEN}{key}: {head}\n{below}")
        assert parsed.definition is None
        assert key in (parsed.reason or "")


@pytest.mark.parametrize("line", ["tools:# [read]", "tools:#[read]", "disallowedTools:# bash"])
def test_a_sign_right_behind_the_colon_begins_no_comment(line: str) -> None:
    assert parse(BROKEN + line).definition is None
    assert parse(BROKEN + "permissionMode:# plan").definition is None


def test_what_may_be_forbidden_on_the_next_line_is_not_lost() -> None:
    assert parse(BROKEN + "disallowedTools: bash,\nwrite").definition is None
    assert agent(BROKEN + "disallowedTools: bash\n# and no more").disallowed_tools == ("bash",)
    assert parse(BROKEN + "tools: *\n  read").definition is None
