from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.agents.codex_toml import parse_codex_agent
from runner.agents.definition import ParsedAgent, parse_agent
from runner.agents.effective import effective_agent

BROKEN = "broken: x: y\n"  # not YAML: the line parser reads the file


def parse(front_matter: str, body: str = "Work.") -> ParsedAgent:
    text = f"---\nname: a\ndescription: d\n{front_matter}\n---\n{body}\n"
    return parse_agent(text.encode(), "a.md", "project")


def unusable(parsed: ParsedAgent) -> str:
    assert parsed.definition is not None, parsed.reason
    return parsed.definition.unusable or ""


@pytest.mark.parametrize(
    "line",
    [
        "tools = Read",
        "tools Read, Grep",
        "tools -> Read",
        "Tools (Read)",
        "tools\n  - Read",
        "disallowed-tools Bash",
        "- tools: Read",
        "* tools: Read",
        "**tools**: Read",
        "> tools: Read",
        "1. tools: Read",
        '"tools: Read"',
        "<tools>Read</tools>",
        "!tools: Read",
        "tools[]: Read",
        "  Tools: Read",
        "  readonly: true",
        "allowed tools: Read",
        "the available tools: Read",
        "to\u200bols: Read",
        "t\u043eols: Read",
        "tools\u2236 Read",
        "note: a\u2028tools: Read",
    ],
)
def test_a_line_that_looks_like_a_limit_in_a_broken_file_is_not_overlooked(line: str) -> None:
    first = line.split("\n")[0].strip()
    assert unusable(parse(BROKEN + line)).startswith(f"line 5: `{first}` looks like a limit")


@pytest.mark.parametrize(
    "key", ["? tools\n", '"to\\u006fls"', '"\\x74ools"', "&a tools", "!!s tools"]
)
def test_a_limit_in_a_form_that_only_yaml_reads_skips_a_broken_file(key: str) -> None:
    limit = f"{key}: Read"
    broken, good = parse(BROKEN + limit), parse(limit)
    assert "line 5: `tools` is not readable" in (broken.reason or "")
    assert good.definition is not None
    assert good.definition.tools == ("read", "submit_result")


@pytest.mark.parametrize(
    "lines",
    [
        'note: "open\nTools: Read\nend"',
        'note: "open\n  tools: Read\nend"',
        "note: |\n  text\n  tools: Read, Grep",
        "{tools: Read}",
    ],
)
def test_a_limit_swallowed_by_a_text_is_not_overlooked(lines: str) -> None:
    assert "looks like a limit" in unusable(parse(lines))


def test_limits_below_a_fence_that_came_too_early_are_not_overlooked() -> None:
    found = unusable(parse("color: red", body="\nmodel: small\n  x\ntools: Read\n---\nWork."))
    assert found.startswith("line 9: `tools: Read` looks like a limit")


def test_a_limit_in_a_comment_that_swallows_the_fence_is_not_overlooked() -> None:
    found = parse("note: a <!-- b\ntools: Read", body="A mark: -->\n---\nReal body.")
    assert unusable(found).startswith("line 5: `tools: Read` looks like a limit")
    assert found.body == "Real body."


def test_a_limit_in_a_comment_of_its_own_is_left_out_on_purpose() -> None:
    assert unusable(parse("<!--\ntools: Read\n-->")) == ""
    body = "See <!--\n---\ntools: Read\n---\n-->"
    assert unusable(parse("color: red", body=body)) == ""


def test_of_many_reasons_only_some_are_told() -> None:
    found = unusable(parse("\n".join(f"tool{number}: x" for number in range(9))))
    assert found.count("limits nothing here") == 5
    assert found.endswith("; and 4 more like these")


@pytest.mark.parametrize(
    "lines",
    [
        "color: red",
        BROKEN + "# tools: Read",
        BROKEN + "  Tools: Bash\ntools: Read",
        BROKEN + "Use the tools that are there",
        BROKEN + "Context: a user: asks",
        "hooks:\n- matcher: Bash\n  tools: x",
        "hooks:\n- tools: Read",
        "note: |\n  tools: pencil, paper",
        "tools: Read\nnote: |\n  tools: Bash",
    ],
)
def test_other_lines_are_no_obstacle(lines: str) -> None:
    assert unusable(parse(lines)) == ""
    assert unusable(parse("color: red", body=f"Some text.\n{lines}")) == ""


slips = st.sampled_from("drop double swap other hidden alike accent upper dash".split())
LIMITS = st.sampled_from(
    "tools disallowedTools allowedTools permissionMode disallowed_tools readOnly".split()
)


def slipped(key: str, slip: str, at: int, letter: str) -> str:
    """`key` with one slip of the pen."""
    at %= len(key)
    return {
        "drop": key[:at] + key[at + 1 :],
        "double": key[:at] + key[at] + key[at:],
        "swap": key[: at - 1] + key[at] + key[at - 1] + key[at + 1 :] if at else key,
        "other": key[:at] + letter + key[at + 1 :],
        "hidden": key[:at] + "\u200b" + key[at:],
        "alike": key.replace("o", "\u043e"),
        "accent": key[:at] + key[at] + "\u0301" + key[at + 1 :],
        "upper": key[:at] + key[at:].upper(),
        "dash": key[:at] + "-_. "[len(letter) % 4] + key[at:] if at else key,
    }[slip]


@given(
    LIMITS,
    slips,
    st.integers(0, 20),
    st.sampled_from(string.ascii_lowercase),
    st.sampled_from(["", BROKEN]),
    st.sampled_from(["{}: Read", "{} : [Read]", "'{}': Read", "{}:\n  - Read", " {}: Read"]),
)
@settings(max_examples=500, deadline=None)
def test_no_slip_in_the_name_of_a_limit_gives_every_tool(
    key: str, slip: str, at: int, letter: str, broken: str, form: str
) -> None:
    value = {"permissionMode": "plan", "readOnly": "true"}.get(key, "Read")
    line = form.format(slipped(key, slip, at, letter)).replace("Read", value)
    agent = parse(broken + line).definition
    if agent is not None:
        found = effective_agent(agent, max_depth=2)
        assert found.unusable or found.tools != effective_agent(PLAIN, max_depth=2).tools


@given(LIMITS, slips, st.integers(0, 20), st.sampled_from(string.ascii_lowercase))
@settings(max_examples=200, deadline=None)
def test_no_slip_in_the_name_of_a_limit_gives_every_tool_in_toml(
    key: str, slip: str, at: int, letter: str
) -> None:
    value = {"permissionMode": "'plan'", "readOnly": "true"}.get(key, "['read']")
    text = f"name = 'a'\ndescription = 'd'\n\"{slipped(key, slip, at, letter)}\" = {value}"
    agent = parse_codex_agent(text.encode(), "a.toml", "project").definition
    if agent is not None:
        found = effective_agent(agent, max_depth=2)
        assert found.unusable or found.tools != effective_agent(PLAIN, max_depth=2).tools


_plain = parse("color: red").definition
assert _plain is not None
PLAIN = _plain
