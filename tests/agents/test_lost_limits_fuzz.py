"""A limit that is written in an odd way: read as what it says, or the file is skipped."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.agents.definition import AgentDefinition, parse_agent

# every one names the only tool that is meant, or nothing
VALUES = (
    "", "read", "[read]", "- read", "- ", "-", "read,", "[read,", "read]", "[read", "'read",
    '"read',
    "{read}", "{a: read}", "(read)", "? read", "@read", "`read`", "%read", "~", "null", "[", "[ ]x",
    ">-", ">", "|", "|2", "|+", ">-  # c", "&x", "&x >-", "&a [read]", "!x", "!!str", "!!str |",
    "!!seq", "!!seq [read]", "''", '""', "# c", "read # c", "<<: x", "\t", "\\",
)  # fmt: skip
BELOW = (
    "", "read", "[read]", "- read", "  read", "  - read", " [read]", "\tread", "- read\n- grep",
    "  - read\nfoo", "read, grep", "]", "  ]", "# c\nread", "\n  read", "\nread", "...",
    "  # c\n  - read", "'", '"',
)  # fmt: skip
BREAKING = (
    "", "broken: x: y\n", "description: Look: only\n", "x: [\n", "y: 'a\n", "- a\n", "%x\n",
)  # fmt: skip
BEHIND = ("", "\nbroken: x: y", "\nmodel: m", "\nz: 'q")
COLONS = (":", ": ", " :", ":  ", ":\t", ":#")


@st.composite
def front_matters(draw: st.DrawFn, key: str, tool: str) -> str:
    """Front matter with one limit, in which `tool` stands at least once."""
    name = draw(st.sampled_from((key, key, f'"{key}"', f"'{key}'")))
    value = f"{draw(st.sampled_from(VALUES))}\n{draw(st.sampled_from(BELOW))}"
    limit = f"{name}{draw(st.sampled_from(COLONS))}{value}".replace("read", tool)
    breaking, behind = draw(st.sampled_from(BREAKING)), draw(st.sampled_from(BEHIND))
    return f"name: a\ndescription: d\n{breaking}{limit}{behind}"


def usable(front_matter: str) -> AgentDefinition | None:
    text = f"---\n{front_matter}\n---\nWork.\n"
    definition = parse_agent(text.encode(), "a.md", "project").definition
    return None if definition is None or definition.unusable else definition


@settings(max_examples=300, deadline=None)
@given(front_matters("tools", "read").filter(lambda text: "read" in text))
def test_a_list_of_tools_is_never_every_tool(front_matter: str) -> None:
    agent = usable(front_matter)
    assert agent is None or agent.tools is not None


@settings(max_examples=300, deadline=None)
@given(front_matters("disallowedTools", "bash").filter(lambda text: "bash" in text))
def test_a_tool_that_is_forbidden_somehow_is_forbidden(front_matter: str) -> None:
    agent = usable(front_matter)
    assert agent is None or "bash" in {rule.name for rule in agent.disallowed_rules}
