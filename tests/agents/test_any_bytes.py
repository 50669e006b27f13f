"""Whatever lies in an agent file: no crash, one answer, and never more tools than it allows."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.agents.definition import parse_agent

KEYS = (
    "name description tools disallowed-tools spawns model output thinkingLevel permissionMode x-y"
).split()
VALUES = [
    "a",
    "a: b",
    "[a, b]",
    "*",
    "",
    "{a: b}",
    "{{X}}",
    "|",
    ">-",
    "&a [*a]",
    "- a",
    "'a",
    '"a"',
    "!!str 5",
    "5",
    "~",
    "# x",
    "<!-- x",
    "-->",
    "[",
    "a, b",
    "\t",
    "a\n  b",
    "\n  - a\n  - b",
    "\n- a",
    "\n  a: b",
    "...",
    "\u2028",
    "\x85",
    "\x00",
    "[a,\n b]",
    "*a",
    "@a",
    "%a",
]
lines = st.builds(
    "{}{}:{}{}".format,
    st.sampled_from(["", " ", "'"]),
    st.sampled_from(KEYS),
    st.sampled_from(["", " ", "  "]),
    st.sampled_from(VALUES),
)
documents = st.builds(
    lambda parts, body: ("---\n" + "\n".join(parts) + "\n---\n" + body).encode(),
    st.lists(lines, max_size=8),
    st.text(max_size=20),
)


@given(st.binary(max_size=300) | st.binary(max_size=300).map(b"---\n".__add__) | documents)
@settings(max_examples=400, deadline=None)
def test_any_bytes_have_one_answer_that_json_can_hold(data: bytes) -> None:
    parsed = parse_agent(data, "f.md", "project")
    assert parsed == parse_agent(data, "f.md", "project")
    assert (parsed.definition is None) != (parsed.reason is None)
    if parsed.line is not None:
        assert 1 <= parsed.line <= data.count(b"\n") + data.count(b"\r") + 1
        assert (parsed.reason or "").startswith(f"line {parsed.line}: ")
    if parsed.definition is not None:
        json.dumps(parsed.definition.to_json(), allow_nan=False)
        assert parsed.definition.name.strip()


REAL = {"read", "write", "edit", "ls", "find", "grep", "bash", "task", "*"}
tool_names = st.lists(st.sampled_from(["Read", "Grep", "Bash(git:*)", "mcp__a__b"]), min_size=1)
forms = st.sampled_from(
    [
        lambda names: "tools: " + ", ".join(names),
        lambda names: 'tools: "' + ", ".join(names) + '"',
        lambda names: "tools: [" + ", ".join(names) + "]",
        lambda names: "tools:" + "".join(f"\n  - {name}" for name in names),
        lambda names: "tools:" + "".join(f"\n- '{name}' # why" for name in names),
        lambda names: "tools: [\n  " + ",\n  ".join(names) + " ]",
        lambda names: "tools: >\n  " + ", ".join(names),
        lambda names: "'tools' : " + ", ".join(names),
    ]
)


# A list inside a comment is left out on purpose, so no neighbour opens one.
neighbours = st.lists(lines.filter(lambda line: "<!--" not in line), max_size=4)


@given(tool_names, forms, neighbours, neighbours)
@settings(max_examples=600, deadline=None)
def test_no_neighbouring_line_gives_an_agent_more_tools_than_its_list(
    names: list[str], form: object, before: list[str], after: list[str]
) -> None:
    assert callable(form)
    head = ["name: n", "description: d", *before, form(names), *after]
    parsed = parse_agent(("---\n" + "\n".join(head) + "\n---\nx").encode(), "f", "user")
    if parsed.definition is not None:
        assert parsed.definition.tools is not None
        assert not (REAL - {name.lower() for name in names}) & set(parsed.definition.tools)
