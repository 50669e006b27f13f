"""`runner agents list` and `show`: which agents count, and what they may do here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runner.agents.effective import PLAN_MODE_PROMPT
from runner.core.tool_names import READ_ONLY
from runner.errors import UnknownAgent
from tests.cli.agents_call import KEYS, agent, call, call_json, write
from tests.cli.conftest import Cli

BUNDLED = ["explore", "plan", "designer", "reviewer", "task", "quick_task"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project with an agent that shadows two others, a broken file and a plain one."""
    write(tmp_path, ".claude/agents/a.md", agent("task", "tools: Read, NoSuch"))
    write(tmp_path, ".gemini/agents/b.md", agent("task"))
    write(tmp_path, ".claude/agents/broken.md", "---\nname: x\n---\n")
    write(tmp_path, ".claude/agents/README.md", "# Agents\n")
    return tmp_path


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """A board with a script that thinks."""
    (tmp_path / ".tasks").mkdir()
    write(tmp_path, "s.yaml", "default: []")
    return tmp_path


def cells(row: str) -> list[str]:
    """What stands in the columns of a line."""
    return re.split(r"\s{2,}", row)


def test_list_gives_every_key_in_order_of_precedence(place: Path) -> None:
    listed = call_json(place, "list")
    assert [one["name"] for one in listed] == ["task", *BUNDLED[:4], "quick_task"]
    assert all(list(one) == KEYS for one in listed)
    assert listed[0]["tools"] == ["read", "nosuch", "submit_result"]
    assert listed[0]["source"] == "project"
    assert [Path(file).name for file in listed[0]["shadows"]] == ["b.md", "task.md"]
    assert listed[1]["shadows"] == []


def test_list_is_readable_and_warns_on_standard_error(place: Path) -> None:
    code, out, err = call(place, "list")
    assert code == 0
    lines = out.splitlines()
    assert cells(lines[1]) == ["task", "project", "read (not here: NoSuch)", "Does it"]
    assert f"task: {place}/.claude/agents/a.md shadows {place}/.gemini/agents/b.md, " in lines[-1]
    assert "broken.md: skipped" in err


@pytest.mark.parametrize(
    ("line", "tools"),
    [
        ("hue: red", "all"),
        ("disallowedTools: Bash, Edit", "all but edit, bash"),
        ("permissionMode: plan", ", ".join(READ_ONLY)),
        ("tools: Read, Task", "read, task"),
        ("tools: [Read, Task]\nspawns: []", "read"),
        ("tools: Read, Edit\ndisallowedTools: Edit", "read"),
        ("tools: Read, Bash(git:*)", "read, bash(git:*)"),
        ("tools: []", "none"),
        ("disallowedTools: '*'", "none"),
    ],
)
def test_list_tells_the_tools_that_an_agent_may_use(tmp_path: Path, line: str, tools: str) -> None:
    write(tmp_path, ".claude/agents/c.md", agent("c", line))
    row = call(tmp_path, "list")[1].splitlines()[1]
    assert cells(row) == ["c", "project", tools, "Does it"]


def test_list_marks_what_cannot_work_and_cuts_what_would_stretch_it(tmp_path: Path) -> None:
    write(tmp_path, ".claude/agents/c.md", agent("c" * 5000, "isolation: worktree"))
    rows = call(tmp_path, "list")[1].splitlines()
    assert rows[1].startswith(f"{'c' * 39}… (cannot work)  project")
    assert len(rows[0]) < 120


def test_list_marks_what_is_switched_off(board: Path) -> None:
    write(board, "team.yaml", "disabled_agents: [plan]")
    out = call(board, "list")[1]
    assert "plan (disabled)" in out
    assert "explore (disabled)" not in out
    assert [one["name"] for one in call_json(board, "list")] == BUNDLED


def test_list_says_whose_plugin_an_agent_is_of(tmp_path: Path) -> None:
    write(tmp_path, "p/agents/x.md", agent("x"))
    registry = f'{{"version": 2, "plugins": {{"one@shop": [{{"installPath": "{tmp_path}/p"}}]}}}}'
    write(tmp_path, "home/.claude/plugins/installed_plugins.json", registry)
    assert call(tmp_path, "list")[1].splitlines()[1].split()[:3] == ["x", "user,", "one@shop"]
    assert call_json(tmp_path, "show", "x")["plugin"] == "one@shop"
    assert "plugin: one@shop\n" in call(tmp_path, "show", "x")[1]


def test_show_tells_settings_and_prompt(tmp_path: Path) -> None:
    lines = ("maxTurns: 3", "bad: x: y", "isolation: worktree", "blocking: true")
    write(tmp_path, ".xcsh/agents/c.md", agent("c", *lines, body="One\n\n  Two"))
    shown = call_json(tmp_path, "show", "c")
    assert (shown["maxTurns"], shown["isolation"], shown["disabled"]) == (3, "worktree", False)
    assert shown["body"] == shown["effective"]["prompt"] == "One\n\n  Two"
    assert "not YAML" in shown["warnings"][0]
    _, out, err = call(tmp_path, "show", "c")
    assert "maxTurns: 3\n" in out
    assert "blocking: true\n" in out
    assert "  cannot work: `isolation` is 'worktree': own worktrees are not part of" in out
    assert out.endswith("\nOne\n\n  Two\n")
    assert "warning: line 5: not YAML" in err


def test_show_tells_whom_a_misspelt_name_may_mean(tmp_path: Path) -> None:
    write(tmp_path, ".claude/agents/c.md", agent("c", "spawns: explor"))
    warnings = call_json(tmp_path, "show", "c")["warnings"]
    assert "may start agent 'explor', which is not here; did you mean explore?" in warnings


def test_show_tells_what_the_agent_may_do_here(tmp_path: Path) -> None:
    tools = "tools: [Read, 'Bash(git:*, npm test)', 'Agent(explore, nobody)', WebFetch, Raed]"
    write(tmp_path, ".claude/agents/c.md", agent("c", tools, "thinkingLevel: high"))
    shown = call_json(tmp_path, "show", "c")
    use = shown["effective"]
    assert use["tools"] == ["read", "bash", "task"]
    assert use["commands"] == [["git:*", "npm test"]]
    assert use["spawns"] == {"allowed": ["explore", "nobody"], "denied": []}
    assert use["thinkingLevel"] == "high"
    assert "may start agent 'nobody', which is not here" in shown["warnings"]
    out = call(tmp_path, "show", "c")[1]
    assert "tools: Read, Bash(git:*, npm test), Agent(explore, nobody), WebFetch (" in out
    assert "  tools: read, bash, task\n  commands: only git:*, npm test\n" in out
    assert "  may start: explore, nobody\n" in out
    assert "  thinking level: high\n" in out


def test_a_limit_in_another_spelling_is_told_in_list_show_and_check(tmp_path: Path) -> None:
    write(tmp_path, ".claude/agents/c.md", agent("c", "Tools: Read", "color: red"))
    why = "line 4: `Tools` limits nothing here"
    assert call(tmp_path, "list")[1].splitlines()[1].startswith("c (cannot work)  project")
    assert f"  cannot work: {why}" in call(tmp_path, "show", "c")[1]
    code, out, _ = call(tmp_path, "check")
    assert code == 1
    assert f"            {why}" in out
    assert "            mean nothing here: color\n" in out


def test_show_has_one_view_of_who_may_be_started(tmp_path: Path) -> None:
    write(tmp_path, ".claude/agents/a.md", agent("a", "tools: Read, Agent(plan)"))
    write(tmp_path, ".claude/agents/b.md", agent("b", "tools: Read, Task", "spawns: []"))
    write(
        tmp_path, ".claude/agents/d.md", agent("d", "disallowedTools: Agent(plan)", "spawns: '*'")
    )
    out = call(tmp_path, "show", "a")[1]
    assert "  tools: read, task\n  may start: plan\n" in out
    assert "spawns:" not in out
    out = call(tmp_path, "show", "b")[1]
    assert "spawns: none\n" in out
    assert "  tools: read\n  may start: no agent\n" in out
    assert "\n  may start: every agent but plan\n" in call(tmp_path, "show", "d")[1]
    assert call_json(tmp_path, "show", "b")["effective"]["tools"] == ["read"]


def test_show_of_plan_mode_has_the_prompt_and_tools_that_reach_the_model(tmp_path: Path) -> None:
    text = agent("c", "permissionMode: plan", "tools: Read, Edit, Task", body="Look.")
    write(tmp_path, ".claude/agents/c.md", text)
    shown = call_json(tmp_path, "show", "c")
    assert (shown["permissionMode"], shown["body"]) == ("plan", "Look.")
    assert shown["effective"]["prompt"] == f"{PLAN_MODE_PROMPT}\n\nLook."
    assert shown["effective"]["tools"] == ["read"]
    assert shown["effective"]["spawns"] == {"allowed": [], "denied": []}
    out = call(tmp_path, "show", "c")[1]
    assert "permissionMode: plan\n" in out
    assert "  may start: no agent\n" in out
    assert out.endswith(f"\n{PLAN_MODE_PROMPT}\n\nLook.\n")


def test_show_of_an_agent_without_tools_says_what_is_left(tmp_path: Path) -> None:
    write(tmp_path, ".claude/agents/c.md", agent("c", "tools: []", "disallowedTools: Bash"))
    out = call(tmp_path, "show", "c")[1]
    assert "tools: none\ndisallowedTools: Bash\n\non a task" in out
    assert "  tools: none but submit_result\n" in out


def test_show_tells_the_model_and_why(board: Path) -> None:
    write(board, ".claude/agents/c.md", agent("c", "model: gpt, opus"))
    write(board, "team.yaml", "models: {opus: script/s.yaml}")
    model = call_json(board, "show", "c")["effective"]["model"]
    assert model["name"] == "script/s.yaml"
    assert model["reason"].startswith("opus -> script/s.yaml (the agent's list); not usable: gpt")
    assert "  model: opus -> script/s.yaml (the agent's list)" in call(board, "show", "c")[1]


def test_show_says_that_no_model_can_be_used(board: Path) -> None:
    write(board, ".claude/agents/c.md", agent("c", "model: gpt"))
    model = call_json(board, "show", "c")["effective"]["model"]
    assert model["name"] is None
    assert "no such alias" in model["reason"]
    assert "  model: none: gpt: no such alias" in call(board, "show", "c")[1]


def test_show_where_there_is_no_board_knows_no_model(tmp_path: Path) -> None:
    model = call_json(tmp_path, "show", "task")["effective"]["model"]
    assert model == {
        "name": None,
        "reason": "no board here, so there are no settings to choose by",
    }


def test_show_says_what_is_switched_off_and_how_deep_agents_may_go(board: Path) -> None:
    limits = "limits: {max_recursion_depth: 0}"
    write(board, "team.yaml", f"disabled_agents: [task]\n{limits}\n")
    shown = call_json(board, "show", "task")
    assert shown["disabled"] is True
    assert "task" not in shown["effective"]["tools"]
    assert "  not used: switched off by disabled_agents\n" in call(board, "show", "task")[1]


def test_show_of_a_schema_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    write(tmp_path, ".claude/agents/c.md", agent("c", "output: {type: nonsense}"))
    shown = call_json(tmp_path, "show", "c")
    assert shown["output"] == {"type": "nonsense"}
    assert shown["reason"].startswith("`output` cannot be used: ")
    assert 'output: {"type": "nonsense"}\n' in call(tmp_path, "show", "c")[1]


def test_show_of_an_unknown_name_lists_those_that_there_are(place: Path) -> None:
    with pytest.raises(UnknownAgent, match=r'Unknown agent "Task"\. Available: task, explore'):
        call(place, "show", "Task")


def test_an_unknown_name_whose_file_was_skipped_says_why_and_nothing_of_other_files(
    cli: Cli,
) -> None:
    root = cli.layout.root
    bad = write(root, ".claude/agents/bad.md", agent("bad", "tools: 5"))
    write(root, ".claude/agents/worse.md", agent("worse", "tools: 6"))
    answer = cli("agents", "show", "bad")
    assert answer.code == 1
    assert answer.err.startswith(f"warning: {bad} was skipped: line 4: `tools`")
    assert "worse.md" not in answer.err


def test_agents_are_those_found_from_where_the_command_is_given(board: Path) -> None:
    sub = board / "sub"
    write(sub, ".claude/agents/c.md", agent("c"))
    assert call_json(board, "list", at=sub)[0]["name"] == "c"
    assert call_json(board, "list")[0]["name"] != "c"
