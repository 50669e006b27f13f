"""Entries of tool lists: whole tools, and parts of them in parentheses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.agents.rules import ToolRule, read_rules, rules_of_limit


def rule(written: str, name: str, parts: tuple[str, ...] | None = None) -> ToolRule:
    return ToolRule(name=name, parts=parts, written=written)


def cut(text: str) -> list[str]:
    """As the reader of front matter cuts a comma list."""
    return [item.strip() for item in text.split(",")]


def test_names_are_ours_and_the_entry_is_kept_as_written() -> None:
    assert read_rules(["Read", " run_shell_command ", "NoSuch"]) == (
        rule("Read", "read"),
        rule("run_shell_command", "bash"),
        rule("NoSuch", "nosuch"),
    )


@pytest.mark.parametrize(
    "written", ["functions.bash", "tools.Bash", "default_api:run_shell_command", "tool/shell"]
)
def test_a_namespace_before_a_name_is_no_part_of_it(written: str) -> None:
    assert [rule.name for rule in read_rules([written])] == ["bash"]
    assert "bash" in [rule.name for rule in rules_of_limit([written])]
    assert [(rule.name, rule.parts) for rule in read_rules([f"{written}(git:*)"])] == [
        ("bash", ("git:*",))
    ]


def test_what_stands_in_parentheses_keeps_its_case() -> None:
    assert read_rules(["Bash(Git:*)", "Agent(Scout, critic)"]) == (
        rule("Bash(Git:*)", "bash", ("Git:*",)),
        rule("Agent(Scout, critic)", "task", ("Scout", "critic")),
    )


def test_an_entry_that_a_comma_list_has_cut_is_put_together() -> None:
    assert read_rules(cut("Read, Agent(a, b), Bash(git add, bash), Grep")) == (
        rule("Read", "read"),
        rule("Agent(a, b)", "task", ("a", "b")),
        rule("Bash(git add, bash)", "bash", ("git add", "bash")),
        rule("Grep", "grep"),
    )


@pytest.mark.parametrize("written", ["Bash(*)", "Bash( * )", "Bash(:*)"])
def test_a_star_in_parentheses_is_the_whole_tool(written: str) -> None:
    assert read_rules([written]) == (rule(written, "bash"),)


def test_a_star_beside_something_else_is_not() -> None:
    assert read_rules(["Bash(git:*, *)"])[0].parts == ("git:*", "*")


@pytest.mark.parametrize("written", ["Bash()", "Bash( , )", "Bash(a", "Bash(x)y", "Bash(a (b)"])
def test_parentheses_that_are_empty_or_not_closed_have_no_parts(written: str) -> None:
    assert read_rules([written]) == (rule(written, "bash", ()),)


def test_a_parenthesis_that_is_never_closed_takes_the_rest_of_the_list() -> None:
    assert read_rules(cut("Read, Bash(git add, bash, write")) == (
        rule("Read", "read"),
        rule("Bash(git add, bash, write", "bash", ()),
    )


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("Read", ["read"]),
        ("Bash(rm:*, Edit)", ["bash"]),
        ("Bash(rm -rf:*)", ["bash"]),
        ("Bash(rm, Write", ["bash", "write"]),
        ("Bash(rm, Write, Agent(a)", ["bash", "write", "task"]),
        ("Bash Write", ["bash", "write"]),
        ("Bash(ls) Write", ["bash", "write"]),
        ("Write Bash(ls)", ["write", "bash"]),
        ("Bash(ls)Write", ["bash", "write"]),
        ("Write, 'Bash'", ["write", "bash"]),
        ("Write|Bash;Edit", ["write", "bash", "edit"]),
        ("(Bash)", ["bash"]),
        ("Bash:", ["bash"]),
        ("- Bash\u200b", ["bash"]),
        ("", []),
    ],
)
def test_a_list_that_forbids_loses_nothing_to_a_slip(written: str, names: list[str]) -> None:
    assert [one.name for one in rules_of_limit(cut(written))] == names


@given(st.lists(st.text("Bash(git:*), \t", max_size=12), max_size=6))
def test_an_entry_with_a_parenthesis_is_never_a_whole_tool_unless_it_says_star(
    items: list[str],
) -> None:
    for found in read_rules(items):
        inside = found.written.partition("(")[2].strip(") \t,")
        assert found.parts is not None or "(" not in found.written or inside in ("*", ":*")
