"""What an agent may do where it runs: never more than its file, its parent and the depth allow."""

from __future__ import annotations

from typing import Any

import pytest

from runner.agents.definition import AgentDefinition, parse_agent
from runner.agents.effective import (
    PLAN_MODE_PROMPT,
    EffectiveAgent,
    SpawnPolicy,
    effective_agent,
    excess,
)
from runner.core.tool_names import LOOP_TOOLS, NOT_BUILT, READ_ONLY, SYNONYMS, TOOLS

NO_SPAWNS = SpawnPolicy()
ALL = SpawnPolicy(allowed="*")


def define(*lines: str) -> AgentDefinition:
    """The agent of a file with these lines of front matter."""
    front = ("---", "name: helper", "description: helps", *lines, "---", "Help.")
    parsed = parse_agent("\n".join(front).encode(), "helper.md", "project")
    assert parsed.definition is not None, parsed.reason
    return parsed.definition


def agent(*lines: str, max_depth: int = 2, parent: EffectiveAgent | None = None) -> EffectiveAgent:
    return effective_agent(define(*lines), max_depth=max_depth, parent=parent)


# Tools


def test_an_agent_without_a_list_has_every_tool() -> None:
    found = agent()

    assert found.tools == TOOLS
    assert (found.commands, found.spawns) == ((), NO_SPAWNS)
    assert (found.warnings, found.unusable) == ((), None)
    assert found.runs_anything
    assert (found.name, found.depth, found.prompt) == ("helper", 0, "Help.")


def test_an_explicit_list_gives_exactly_those_in_our_order() -> None:
    found = agent("tools: grep, read, submit_result")

    assert found.tools == ("read", "grep")
    assert found.unusable is None
    assert not found.runs_anything


def test_an_empty_list_gives_none_and_is_usable() -> None:
    found = agent("tools: []")

    assert found.tools == ()
    assert found.unusable is None


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("Read", "read"),
        ("MultiEdit", "edit"),
        ("Glob", "find"),
        ("LS", "ls"),
        ("TaskCreate", "create_task"),
        ("TaskList", "list_tasks"),
        ("SendMessage", "send_message"),
        ("Agent", "task"),
        ("Task", "task"),
        ("read_many_files", "read"),
        ("search_file_content", "grep"),
        ("list_directory", "ls"),
        ("replace", "edit"),
        ("run_shell_command", "bash"),
        ("apply_patch", "edit"),
        ("exec_command", "bash"),
        ("shell_command", "bash"),
        ("spawn_agent", "task"),
        ("grep_files", "grep"),
        ("search", "grep"),
    ],
)
def test_names_of_other_families_are_mapped(theirs: str, ours: str) -> None:
    assert agent(f"tools: [{theirs}]").tools == (ours,)


def test_every_synonym_means_a_name_of_ours() -> None:
    assert set(SYNONYMS.values()) <= {*TOOLS, *LOOP_TOOLS, *NOT_BUILT}
    assert not set(SYNONYMS) & {*TOOLS, *LOOP_TOOLS, *NOT_BUILT}
    assert not NOT_BUILT & {*TOOLS, *LOOP_TOOLS}


@pytest.mark.parametrize(
    "theirs",
    [
        *("WebFetch", "WebSearch", "TodoWrite", "NotebookEdit", "BashOutput", "Skill", "LSP"),
        *("google_web_search", "web_fetch", "save_memory", "write_todos", "ask_user"),
        *("update_plan", "view_image", "write_stdin", "request_user_input"),
        *("ast_grep", "browser", "python", "todo_write", "fetch", "ask"),
        "ExitPlanMode",
    ],
)
def test_a_tool_that_exists_elsewhere_is_not_called_unknown(theirs: str) -> None:
    found = agent(f"tools: [read, {theirs}]")

    assert found.tools == ("read",)
    assert found.warnings == (f"agent 'helper': tool {theirs}: not part of this version; left out",)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("nosuchtool", "unknown"),
        ("Raed", "unknown; did you mean 'read'?"),
        ("run_shell_comand", "unknown; did you mean 'bash'?"),
        ("mcp__git__log", "tools of MCP servers are not part of this version"),
        ("mcp_*", "tools of MCP servers are not part of this version"),
        ("'*'", "* means every tool only where it stands alone"),
        ("Read(./src/**)", "a part of this tool cannot be granted"),
        ("Bash()", "its parentheses are empty or not closed"),
    ],
)
def test_what_is_left_out_is_told_with_its_reason(written: str, why: str) -> None:
    found = agent(f"tools: [ls, {written}]")

    assert found.tools == ("ls",)
    assert found.warnings == (f"agent 'helper': tool {written.strip(chr(39))}: {why}; left out",)


@pytest.mark.parametrize(
    "listed", ["nosuchtool", "Read Grep", "WebFetch", "Bash()", "Bash(git\\ x)", "Read(./src)"]
)
def test_an_agent_left_with_none_of_its_tools_must_not_run(listed: str) -> None:
    found = agent(f"tools: [submit_result, '{listed}']")

    assert found.tools == ()
    assert found.unusable is not None
    assert f"can use none of its tools here ({listed}); there are: read," in found.unusable


# Commands


def test_patterns_limit_bash() -> None:
    found = agent("tools: Bash(git:*), Read, Bash(npm run test:*)")

    assert found.tools == ("read", "bash")
    assert found.commands == (("git:*", "npm run test:*"),)
    assert not found.runs_anything


@pytest.mark.parametrize("tools", ["Bash(*)", "Bash(git:*), Bash", "Bash(git:*), Bash(*)"])
def test_bash_beside_its_patterns_is_bash_without_limits(tools: str) -> None:
    assert agent(f"tools: {tools}").runs_anything


def test_a_pattern_that_cannot_be_followed_is_left_out_and_the_others_count() -> None:
    found = agent('tools: ["Bash(git:*, *)", "Bash(it\'s)"]')

    assert found.commands == (("git:*",),)
    assert "tool Bash(git:*, *): '*' is no pattern of commands" in found.warnings[0]
    assert "tool Bash(it's): \"it's\" is no pattern of commands" in found.warnings[1]


# What is forbidden


def test_disallowed_tools_are_taken_away() -> None:
    found = agent("disallowedTools: Bash, Write, multiedit")

    assert set(TOOLS) - set(found.tools) == {"bash", "write", "edit"}
    assert found.warnings == ()


def test_forbidding_a_part_takes_the_whole_away() -> None:
    found = agent("disallowedTools: [Bash(rm:*)]")

    assert "bash" not in found.tools
    assert "a part cannot be forbidden; the whole of bash is left out" in found.warnings[0]


def test_forbidding_everything_leaves_nothing() -> None:
    assert agent("tools: read, bash", "disallowedTools: '*'").tools == ()
    assert agent("disallowedTools: [read, '*']").tools == ()


@pytest.mark.parametrize(
    "written", ["Bash(rm, Write, Agent", "Bash(rm, Write, Agent(a, b)", "(x, Write, Bash, Agent"]
)
def test_a_parenthesis_that_is_not_closed_hides_no_limit(written: str) -> None:
    assert {"bash", "write"}.isdisjoint(agent(f"disallowedTools: {written}").tools)


def test_a_misspelt_limit_is_told() -> None:
    found = agent("disallowedTools: Wrte, WebFetch")

    assert found.tools == TOOLS
    assert found.warnings == (
        "agent 'helper': disallowedTools Wrte: unknown; did you mean 'write'?; it forbids nothing",
    )


# Who may be started


@pytest.mark.parametrize(
    ("lines", "policy"),
    [
        (["spawns: '*'"], ALL),
        (["spawns: a, b"], SpawnPolicy(allowed=("a", "b"))),
        (["spawns: []"], NO_SPAWNS),
        (["tools: task"], ALL),
        (["tools: Agent"], ALL),
        (["tools: Agent(Scout, critic)"], SpawnPolicy(allowed=("Scout", "critic"))),
        (["tools: Agent(a), Task(b)"], SpawnPolicy(allowed=("a", "b"))),
        (["tools: Agent(a), Task"], ALL),
        (["tools: Agent(a, b)", "spawns: '*'"], SpawnPolicy(allowed=("a", "b"))),
        (["tools: Agent(a, b)", "spawns: b, c"], SpawnPolicy(allowed=("b",))),
        (["tools: task", "spawns: []"], NO_SPAWNS),
        (["tools: task", "disallowedTools: Agent"], NO_SPAWNS),
        (["tools: read"], NO_SPAWNS),
    ],
)
def test_spawn_policies(lines: list[str], policy: SpawnPolicy) -> None:
    assert agent(*lines).spawns == policy


def test_spawns_without_the_task_tool_in_the_list_add_it() -> None:
    assert agent("tools: read", "spawns: a").tools == ("read", "task")
    assert agent("tools: read", "spawns: []").tools == ("read",)
    assert agent("tools: read", "spawns: a", "disallowedTools: Task").tools == ("read",)


def test_a_part_of_the_task_tool_can_be_forbidden() -> None:
    found = agent("tools: task, read", "disallowedTools: Agent(a, b)")

    assert found.tools == ("read", "task")
    assert not found.spawns.allows("a")
    assert found.spawns.allows("c")
    assert str(found.spawns) == "* but a, b"


def test_policies_are_written_as_refusals_list_them() -> None:
    assert str(ALL) == "*"
    assert str(SpawnPolicy(allowed=("a", "b", "c"), denied=frozenset("b"))) == "a, c"
    assert str(NO_SPAWNS) == "none (spawns disabled for this agent)"
    assert str(SpawnPolicy(allowed=("a",), denied=frozenset("a"))) == str(NO_SPAWNS)


def test_policies_are_compared_by_what_they_allow() -> None:
    some, but = SpawnPolicy(allowed=("a", "b")), SpawnPolicy(allowed="*", denied=frozenset("c"))

    assert ALL.exceeds(some)
    assert ALL.exceeds(but)
    assert some.exceeds(SpawnPolicy(allowed=("a",)))
    assert SpawnPolicy(allowed=("c",)).exceeds(but)
    assert not some.exceeds(but)
    assert not but.exceeds(ALL)
    assert not NO_SPAWNS.exceeds(NO_SPAWNS)


# Depth and parents


@pytest.mark.parametrize(("max_depth", "tools"), [(0, ()), (1, ("task",)), (-1, ("task",))])
def test_at_the_limit_the_task_tool_is_gone_and_nobody_may_be_started(
    max_depth: int, tools: tuple[str, ...]
) -> None:
    found = agent("tools: read, task", max_depth=max_depth)

    assert found.tools == ("read", *tools)
    assert found.spawns == (ALL if tools else NO_SPAWNS)


def test_depth_counts_along_the_chain() -> None:
    first = agent("tools: '*'", "spawns: '*'")
    second = agent("tools: '*'", "spawns: '*'", parent=first)
    third = agent("tools: '*'", "spawns: '*'", parent=second)

    assert [one.depth for one in (first, second, third)] == [0, 1, 2]
    assert [not one.spawns.is_empty for one in (first, second, third)] == [True, True, False]
    assert "task" not in third.tools


def test_a_child_has_nothing_that_its_parent_lacks() -> None:
    parent = agent("tools: read, grep, Bash(git:*), Agent(a, b)", max_depth=-1)

    child = agent("spawns: b, c", max_depth=-1, parent=parent)

    assert child.tools == ("read", "grep", "bash", "task")
    assert child.commands == (("git:*",),)
    assert child.spawns == SpawnPolicy(allowed=("b",))
    assert excess(child, parent) == ""


def test_every_list_of_the_chain_limits_commands() -> None:
    parent = agent("tools: Bash(git:*), task")

    child = agent("tools: Bash(git status:*), Bash(ls)", parent=parent)

    assert child.commands == (("git:*",), ("git status:*", "ls"))


def test_limits_of_bash_are_gone_with_it() -> None:
    assert agent("tools: read, Bash(git:*)", "disallowedTools: Bash").commands == ()


def test_a_child_of_an_agent_that_cannot_start_any_has_no_task_tool() -> None:
    child = agent("spawns: '*'", max_depth=-1, parent=agent("tools: read", max_depth=-1))

    assert child.tools == ("read",)
    assert child.spawns == NO_SPAWNS


def test_a_child_left_without_its_tools_must_not_run() -> None:
    assert agent("tools: bash", parent=agent("tools: read")).unusable is not None


def test_a_child_inherits_the_thinking_level_if_it_says_so() -> None:
    parent = agent("thinkingLevel: high")

    assert agent("thinkingLevel: inherit", parent=parent).thinking_level == "high"
    assert agent("thinkingLevel: low", parent=parent).thinking_level == "low"
    assert agent("thinkingLevel: inherit").thinking_level is None
    assert agent(parent=parent).thinking_level is None


# Plan mode


def test_plan_mode_reads_only_starts_nobody_and_says_so_first() -> None:
    found = agent("permissionMode: plan", "spawns: '*'", "thinkingLevel: high")

    assert found.tools == READ_ONLY
    assert found.spawns == NO_SPAWNS
    assert found.prompt == f"{PLAN_MODE_PROMPT}\n\nHelp."
    assert found.thinking_level == "high"


# Comparing


def compared(**more: Any) -> EffectiveAgent:
    return EffectiveAgent(definition=define(), prompt="", **more)


@pytest.mark.parametrize(
    ("named", "own", "words"),
    [
        ({"tools": ("read", "bash")}, {"tools": ("read",)}, "bash"),
        ({"tools": ("read",)}, {"tools": ("read", "bash")}, ""),
        ({"tools": ("read", "report_finding")}, {"tools": ("read",)}, ""),
        ({"spawns": ALL}, {}, "the start of further agents"),
        ({"tools": ("bash",)}, {"commands": (("ls",),)}, "bash, commands of every kind"),
    ],
)
def test_what_one_may_do_and_the_other_may_not(
    named: dict[str, Any], own: dict[str, Any], words: str
) -> None:
    assert excess(compared(**named), compared(**own)) == words


@pytest.mark.parametrize(
    ("named", "own", "words"),
    [
        ((("git:*",),), (("git:*",),), ""),
        ((("git status:*", "git log"),), (("git:*", "ls"),), ""),
        ((("npm:*",), ("git log",)), (("git:*",),), ""),
        ((("git:*",), ("ls",)), (), ""),
        ((("git:*",),), (("git status:*",),), "commands of other kinds"),
        ((("git:*", "rm:*"),), (("git:*",),), "commands of other kinds"),
        ((("git:*",),), (("git:*",), ("git log",)), "commands of other kinds"),
        ((), (("git:*",),), "commands of every kind"),
    ],
)
def test_commands_are_compared_by_what_the_lists_allow(
    named: tuple[tuple[str, ...], ...], own: tuple[tuple[str, ...], ...], words: str
) -> None:
    with_bash = {"tools": ("bash",)}

    found = excess(compared(commands=named, **with_bash), compared(commands=own, **with_bash))

    assert found == words


def test_tools_of_mcp_servers_beside_every_tool_are_told_to_be_missing() -> None:
    found = effective_agent(define('tools: ["*", "mcp_foo_*"]'), max_depth=-1)

    assert found.tools == TOOLS
    assert found.unusable is None
    assert found.warnings == (
        "agent 'helper': tool mcp_foo_*: tools of MCP servers are not part of this version; "
        "left out",
    )


@pytest.mark.parametrize("name", ["Bahs", "shell_exec", "run_shell", "wrtie", "edit_files"])
def test_a_tool_that_is_probably_meant_in_a_list_that_forbids_is_no_guess(name: str) -> None:
    found = effective_agent(define(f"disallowedTools: {name}"), max_depth=2)
    assert f"helper.md: `disallowedTools` has '{name}', which is no tool here" in str(
        found.unusable
    )


def test_a_name_that_forbids_nothing_that_the_agent_has_is_no_obstacle() -> None:
    unknown = effective_agent(define("disallowedTools: kubectl"), max_depth=2)
    narrow = effective_agent(define("tools: Read", "disallowedTools: Bahs"), max_depth=2)
    assert (unknown.unusable, narrow.unusable) == (None, None)
    assert unknown.warnings[0].endswith("disallowedTools kubectl: unknown; it forbids nothing")


@pytest.mark.parametrize(
    ("pattern", "gone"),
    [("Bash*", {"bash"}), ("*edit", {"edit"}), ("W*", {"write"}), ("Task*", {"task"})],
)
def test_a_pattern_forbids_every_tool_that_fits(pattern: str, gone: set[str]) -> None:
    found = effective_agent(define(f"disallowedTools: ['{pattern}']", "spawns: '*'"), max_depth=2)
    assert found.unusable is None
    assert gone <= set(TOOLS) - set(found.tools)
    assert "ls" in found.tools
    assert effective_agent(define("disallowedTools: ['x*']"), max_depth=2).tools == TOOLS
