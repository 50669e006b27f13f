"""From the text of a file to what the agent may do: never more than the file says."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.agents.definition import parse_agent
from runner.agents.effective import EffectiveAgent, effective_agent, excess
from runner.core.tool_names import READ_ONLY, TOOLS

WHOLE = {
    "Read": "read",
    "grep": "grep",
    "Glob": "find",
    "write_file": "write",
    "Edit": "edit",
    "Bash": "bash",
    "shell": "bash",
    "Bash(*)": "bash",
    "Task": "task",
    "TaskCreate": "create_task",
    "submit_result": "",
}
PARTS = {
    "Bash(git:*)": "bash",
    "Bash(npm run test *)": "bash",
    "Agent(a, b)": "task",
    "Read(src/**)": "",
    "Bash()": "",
    "Bash(git": "bash",  # together with a later ")"
    "mcp__a__b": "",
    "WebFetch": "",
    "wrtie": "",
    "read)": "",
    "(bash": "",
}
MEANS = WHOLE | PARTS


@dataclass(frozen=True)
class Written:
    """A file and what it names; `listed` None is no list at all."""

    text: str
    listed: frozenset[str] | None
    forbidden: frozenset[str]
    spawns: tuple[str, ...]
    plan: bool


entries = st.lists(st.sampled_from(sorted(MEANS)), max_size=5)
cases: st.SearchStrategy[Callable[[str], str]] = st.sampled_from([str, str.upper, str.lower])
forms = st.sampled_from(["comma", "text", "flow", "block", "flush"])


def in_form(form: str, key: str, items: list[str]) -> list[str]:
    """The lines of one list."""
    if form == "comma":
        return [f"{key}: {', '.join(items)}"]
    if form == "text":
        return [f'{key}: "{", ".join(items)}"']
    if form == "flow":
        return [f"{key}: [{', '.join(map(repr, items))}]"]
    indent = "  " if form == "block" else ""
    return [f"{key}:"] + [f"{indent}- {item!r}" for item in items]


noise = st.lists(
    st.sampled_from(
        ["color: red", "note: a: b", "{{x}}", "description2: tools", "  stray", "# tools: bash", ""]
    ),
    max_size=3,
)


@st.composite
def files(draw: st.DrawFn) -> Written:
    listed = draw(st.none() | entries.filter(bool))
    # "read)" would close a parenthesis that another entry opened, and be what that one means
    forbidden = draw(st.none() | entries.filter(lambda items: items and "read)" not in items))
    spawns = draw(st.none() | st.lists(st.sampled_from("abc"), max_size=2, unique=True))
    plan = draw(st.booleans())
    blocks = [[line] for line in draw(noise)]
    if listed is not None:
        written = [draw(cases)(item) for item in listed]
        blocks.append(in_form(draw(forms), "tools", written))
    if forbidden is not None:
        blocks.append(in_form(draw(forms), "disallowedTools", forbidden))
    if spawns is not None:
        blocks.append([f"spawns: [{', '.join(spawns)}]"])
    if plan:
        blocks.append(["permissionMode: plan"])
    lines = [line for block in draw(st.permutations(blocks)) for line in block]
    front = "\n".join(["---", "name: x", "description: y", *lines, "---", "Body"])
    return Written(
        text=front,
        listed=None if listed is None else frozenset(listed),
        forbidden=frozenset(forbidden or ()),
        spawns=tuple(spawns or ()),
        plan="permissionMode: plan\n" in front and not re.search("plan\n+  stray", front),
    )


def effective(
    written: Written, max_depth: int, parent: EffectiveAgent | None = None
) -> EffectiveAgent | None:
    parsed = parse_agent(written.text.encode(), "x.md", "project")
    if parsed.definition is None:
        return None
    return effective_agent(parsed.definition, max_depth=max_depth, parent=parent)


def most(written: Written) -> set[str]:
    """The tools that the file can mean at the most."""
    if written.listed is None:
        tools = set(TOOLS)
    else:
        tools = {MEANS[item] for item in written.listed}
        tools |= {"task"} if written.spawns else set()
    for item in written.forbidden & WHOLE.keys():
        tools.discard(WHOLE[item])
    return tools & set(READ_ONLY) if written.plan else tools


@settings(max_examples=300, deadline=None)
@given(files(), st.integers(-1, 2))
def test_no_agent_has_more_than_its_file_allows(written: Written, max_depth: int) -> None:
    found = effective(written, max_depth)
    if found is None:
        return

    assert set(found.tools) <= most(written)
    if "bash" in found.tools and written.listed is not None:
        whole = any(WHOLE.get(item) == "bash" for item in written.listed)
        assert whole or found.commands
    if "task" not in found.tools or max_depth == 0:
        assert found.spawns.is_empty
    elif written.spawns:
        assert not found.spawns.allows("nobody")


@settings(max_examples=300, deadline=None)
@given(st.lists(files(), min_size=2, max_size=4), st.integers(-1, 3))
def test_no_child_may_do_more_than_its_parent(chain: list[Written], max_depth: int) -> None:
    parent: EffectiveAgent | None = None
    for written in chain:
        child = effective(written, max_depth, parent)
        if child is None:
            continue
        if parent is not None:
            assert excess(child, parent) == ""
            assert set(child.tools) <= set(parent.tools)
            assert not parent.commands or "bash" not in child.tools or child.commands
            assert child.depth == parent.depth + 1
        parent = child
