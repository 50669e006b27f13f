"""Which tools an agent has: never more than its definition means."""

from __future__ import annotations

import pytest

from runner.agents.definition import AgentDefinition
from runner.work.tool_names import LOOP_TOOLS, NOT_BUILT, SYNONYMS, TOOLS
from runner.work.tools import ALL_TOOLS, toolbox


def agent(
    tools: tuple[str, ...] | None = None,
    disallowed: tuple[str, ...] = (),
    plan_mode: bool = False,
) -> AgentDefinition:
    return AgentDefinition(
        name="helper",
        description="helps",
        system_prompt="Help.",
        source="project",
        file="helper.md",
        tools=tools,
        disallowed_tools=disallowed,
        plan_mode=plan_mode,
    )


def test_an_agent_without_a_list_has_every_tool() -> None:
    box = toolbox(agent())

    assert list(box.tools) == list(ALL_TOOLS)
    assert [spec.name for spec in box.specs] == list(ALL_TOOLS)
    assert box.warnings == ()


def test_the_names_that_files_are_checked_against_are_those_of_the_tools() -> None:
    assert set(ALL_TOOLS) == TOOLS


def test_an_explicit_list_gives_exactly_those() -> None:
    box = toolbox(agent(("grep", "read", "submit_result")))

    assert set(box.tools) == {"read", "grep"}
    assert box.unusable is None


def test_an_empty_list_gives_none_and_is_usable() -> None:
    box = toolbox(agent(("submit_result",)))

    assert box.tools == {}
    assert box.unusable is None


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("read_file", "read"),
        ("Write", "write"),
        ("multiedit", "edit"),
        ("Glob", "find"),
        ("search_file_content", "grep"),
        ("run_shell_command", "bash"),
        ("LS", "ls"),
        ("list_directory", "ls"),
    ],
)
def test_names_of_other_families_are_mapped(theirs: str, ours: str) -> None:
    assert list(toolbox(agent((theirs,))).tools) == [ours]


@pytest.mark.parametrize("theirs", ["Task", "Agent", "ReportFinding", "ExitPlanMode", "new_task"])
def test_a_tool_to_come_is_named_as_such_in_the_words_of_every_family(theirs: str) -> None:
    box = toolbox(agent(("read", theirs)))

    assert list(box.tools) == ["read"]
    assert box.warnings == (f"agent 'helper': tool {theirs}: not part of this version; left out",)


def test_every_synonym_means_a_name_of_ours() -> None:
    known = {*ALL_TOOLS, *LOOP_TOOLS, *NOT_BUILT}

    assert set(SYNONYMS.values()) <= known
    assert not set(SYNONYMS) & set(ALL_TOOLS)


def test_unknown_tools_are_dropped_with_a_warning_and_the_others_stay() -> None:
    box = toolbox(agent(("read", "nosuchtool", "submit_result")))

    assert list(box.tools) == ["read"]
    assert box.warnings == ("agent 'helper': tool nosuchtool: unknown; left out",)


@pytest.mark.parametrize("listed", [("nosuchtool",), ("read grep",), ("task",), ("bash(git:*)",)])
def test_an_agent_left_with_none_of_its_tools_must_not_run(listed: tuple[str, ...]) -> None:
    box = toolbox(agent((*listed, "submit_result")))

    assert box.tools == {}
    assert box.unusable is not None
    assert listed[0] in box.unusable


def test_a_part_of_bash_is_never_the_whole_of_bash() -> None:
    box = toolbox(agent(("bash(git:*)", "read")))

    assert list(box.tools) == ["read"]
    assert "bash(git:*)" in box.warnings[0]


def test_a_comma_inside_a_pattern_does_not_give_a_tool() -> None:
    # `tools: Bash(git add, bash)` reaches us split at the comma
    assert toolbox(agent(("bash(git add", "bash)", "read"))).tools.keys() == {"read"}


def test_disallowed_tools_are_taken_away_whole() -> None:
    box = toolbox(agent(None, disallowed=("bash(rm:*)", "Write", "multiedit")))

    assert set(ALL_TOOLS) - set(box.tools) == {"bash", "write", "edit"}


def test_plan_mode_leaves_what_only_reads() -> None:
    box = toolbox(agent(plan_mode=True))

    assert set(box.tools) == {"read", "ls", "find", "grep", "list_tasks"}
