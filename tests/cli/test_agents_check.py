"""`runner agents check`: what became of every file, plugin and registry, and why."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.agent_shapes import damaged
from tests.cli.agents_call import CASES, agent, call, call_json, write

FILE_KEYS = (
    "file source plugin state disabled name shadowedBy reason line fallback unknownKeys "
    "foreignKeys unknownTools model warnings problem".split()
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project with an agent that is shadowed, a broken file and a plain one."""
    write(tmp_path, ".claude/agents/a.md", agent("a", "tools: Read, NoSuch", "hue: red"))
    write(tmp_path, ".gemini/agents/b.md", agent("a"))
    write(tmp_path, ".claude/agents/broken.md", "---\nname: x\n---\n")
    write(tmp_path, ".claude/agents/README.md", "# Agents\n")
    return tmp_path


def own(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The files that are not bundled, by their names."""
    files = [file for file in report["files"] if file["source"] != "bundled"]
    return {Path(file["file"]).name: file for file in files}


def check_one(root: Path, *lines: str) -> dict[str, Any]:
    """What is said of one agent file with these lines."""
    write(root, ".claude/agents/one.md", agent("one", *lines))
    return own(call_json(root, "check"))["one.md"]


def registry(root: Path, file: str, **plugins: Any) -> Path:
    return write(root, file, json.dumps({"version": 2, "plugins": plugins}))


def test_every_file_has_its_state(place: Path) -> None:
    report = call_json(place, "check")
    assert list(report) == ["files", "repeated", "registries", "warnings"]
    assert all(list(file) == FILE_KEYS for file in report["files"])
    files = own(report)
    assert {name: file["state"] for name, file in files.items()} == {
        "README.md": "no agent",
        "a.md": "used",
        "b.md": "shadowed",
        "broken.md": "skipped",
    }
    assert files["b.md"]["shadowedBy"] == files["a.md"]["file"]
    assert [name for name, file in files.items() if file["problem"]] == ["broken.md"]


def test_lines_say_the_same_for_people(place: Path) -> None:
    code, out, _ = call(place, "check")
    assert code == 1
    assert "\n! skipped   -                " in out
    assert "\n  used      explore          " in out
    assert "`description` is missing or empty" in out
    assert f"            shadowed by {place}/.claude/agents/a.md\n" in out
    assert "            unknown keys: hue\n" in out
    assert "            agent 'a': tool NoSuch: unknown; left out\n" in out
    assert out.endswith(
        "10 files: 1 no agent, 7 used, 1 skipped, 1 shadowed\n"
        "to be mended, marked with !: 1 (exit 1)\n"
    )


def test_it_is_content_once_the_broken_file_is_gone(place: Path) -> None:
    (place / ".claude/agents/broken.md").unlink()
    assert call(place, "check")[0] == 0


def test_a_place_without_files_is_content(tmp_path: Path) -> None:
    code, out, _ = call(tmp_path, "check")
    assert (code, out.splitlines()[-1]) == (0, "6 files: 6 used")


def test_the_line_that_a_reason_is_about_is_named(tmp_path: Path) -> None:
    file = check_one(tmp_path, "tools: read", "tools: bash")
    assert (file["state"], file["line"]) == ("skipped", 5)
    assert f"{file['file']}:5\n" in call(tmp_path, "check")[1]


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029"], ids=ascii)
def test_lines_are_counted_as_an_editor_does(tmp_path: Path, end: str) -> None:
    assert check_one(tmp_path, f"hue: red{end}# x{end}", "tools: 5")["line"] == 5
    file = check_one(tmp_path, f"hue: red{end}# x{end}", "shade: a: b")
    assert file["warnings"][0].startswith("line 5: not YAML")


def test_unknown_keys_and_tools_and_levels_are_told(tmp_path: Path) -> None:
    lines = ("tools: Read, NoSuch, WebFetch", "disallowedTools: Bahs", "hue: red", "thinking: big")
    file = check_one(tmp_path, *lines)
    assert file["unknownKeys"] == ["hue"]
    assert file["unknownTools"] == ["NoSuch", "Bahs"]
    told = "\n".join(file["warnings"])
    assert "`thinking` was ignored" in told
    assert "tool WebFetch: not part of this version" in told
    assert "disallowedTools Bahs: unknown; did you mean 'bash'?" in told


def test_the_line_parser_is_told(tmp_path: Path) -> None:
    file = check_one(tmp_path, "hue: a: b")
    assert (file["state"], file["fallback"]) == ("used", True)
    assert "not YAML" in file["warnings"][0]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("tools: NoSuch", "can use none of its tools"),
        ("isolation: worktree", "own worktrees are not part of this version"),
        ("output: {type: nonsense}", "`output` cannot be used"),
        ("output: text", "a schema must be an object"),
    ],
)
def test_an_agent_that_no_task_can_use_is_a_problem(tmp_path: Path, line: str, reason: str) -> None:
    file = check_one(tmp_path, line)
    assert (file["state"], file["problem"]) == ("used", True)
    assert reason in file["reason"]
    code, out, _ = call(tmp_path, "check")
    assert code == 1
    assert reason in out


@pytest.mark.parametrize(
    ("settings", "name", "said"),
    [
        ("", None, "no usable model: opus: no such alias"),
        (
            "model: script/s.yaml",
            "script/s.yaml",
            "script/s.yaml (the team's default); not usable: opus",
        ),
        ("models: {opus: script/s.yaml}", "script/s.yaml", None),
    ],
)
def test_a_model_that_cannot_be_reached_is_told(
    tmp_path: Path, settings: str, name: str | None, said: str | None
) -> None:
    (tmp_path / ".tasks").mkdir()
    write(tmp_path, "s.yaml", "default: []")
    write(tmp_path, "team.yaml", settings)
    file = check_one(tmp_path, "model: opus")
    assert file["model"]["name"] == name
    assert [said in warning for warning in file["warnings"]] == ([True] if said else [])
    assert file["problem"] is False


def test_aliases_of_bundled_agents_are_no_mistake_of_the_user(tmp_path: Path) -> None:
    (tmp_path / ".tasks").mkdir()
    write(tmp_path, "s.yaml", "default: []")
    write(tmp_path, "team.yaml", "model: script/s.yaml")
    files = {file["name"]: file for file in call_json(tmp_path, "check")["files"]}
    assert "smol" in files["explore"]["model"]["reason"]
    assert all(file["warnings"] == [] for file in files.values())


def test_bundled_agents_without_a_model_are_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / ".tasks").mkdir()
    report = call_json(tmp_path, "check")
    assert all(file["warnings"] == [] for file in report["files"])
    [warning] = report["warnings"]
    assert warning.startswith("no model can be used here for explore, plan, ")
    assert "warning: no model can be used here" in call(tmp_path, "check")[1]


def test_settings_that_cannot_be_read_leave_models_alone(tmp_path: Path) -> None:
    (tmp_path / ".tasks").mkdir()
    write(tmp_path, "team.yaml", "nonsense: 1")
    code, out, err = call(tmp_path, "check")
    assert code == 0
    assert "models and disabled agents are not checked" in err
    assert "no usable model" not in out
    assert "no model can be used" not in out


def test_what_is_switched_off_is_marked_and_a_mistyped_name_told(tmp_path: Path) -> None:
    (tmp_path / ".tasks").mkdir()
    write(tmp_path, "team.yaml", "disabled_agents: [one, Reviewr]")
    assert check_one(tmp_path)["disabled"] is True
    (warning, _) = call_json(tmp_path, "check")["warnings"]
    assert warning.startswith('disabled_agents: Unknown agent "Reviewr". Available: one, ')
    assert warning.endswith("; near: reviewer")
    out = call(tmp_path, "check")[1]
    assert "disabled  one " in out
    assert "          switched off by disabled_agents\n" in out
    assert "warning: disabled_agents: " in out


def test_plugins_are_told_with_their_registry(tmp_path: Path) -> None:
    write(tmp_path, "p/one/agents/x.md", agent("x"))
    file = registry(
        tmp_path,
        "home/.claude/plugins/installed_plugins.json",
        **{
            "one@shop": [{"installPath": f"{tmp_path}/p/one", "scope": "user"}],
            "off@shop": [{"installPath": f"{tmp_path}/p/off", "enabled": False}],
            "bare": [{"installPath": f"{tmp_path}/p/one"}],
            "odd@shop": [7],
        },
    )
    report = call_json(tmp_path, "check")
    (found,) = report["registries"]
    assert (found["file"], found["source"], found["problem"]) == (str(file), "user", None)
    states = {plugin["id"]: plugin["state"] for plugin in found["plugins"]}
    assert states == {
        "one@shop": "used",
        "off@shop": "disabled",
        "bare": "skipped",
        "odd@shop": "skipped",
    }
    assert own(report)["x.md"]["plugin"] == "one@shop"
    code, out, _ = call(tmp_path, "check")
    assert code == 0
    assert "          of plugin one@shop\n" in out
    assert f"          one@shop (user) used, {tmp_path}/p/one\n" in out
    assert "          off@shop (user) disabled: its entry says" in out


def test_a_broken_registry_is_a_problem_with_its_reason(tmp_path: Path) -> None:
    write(tmp_path, "home/.claude/plugins/installed_plugins.json", '{"plugins": {}}')
    code, out, _ = call(tmp_path, "check")
    assert code == 1
    assert "registry  - " in out
    assert "          no plugin of it is used: `version` is not a number\n" in out


def test_a_directory_that_is_read_by_another_way_is_told(tmp_path: Path) -> None:
    write(tmp_path, ".claude/agents/x.md", agent("x"))
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini/agents").symlink_to("../.claude/agents")
    (repeated,) = call_json(tmp_path, "check")["repeated"]
    assert repeated["directory"] == str(tmp_path / ".gemini/agents")
    assert repeated["sameAs"] == str(tmp_path / ".claude/agents")
    out = call(tmp_path, "check")[1]
    assert f"the same directory as {tmp_path}/.claude/agents, which is read\n" in out


def test_links_and_names_of_every_kind_are_explained(tmp_path: Path) -> None:
    folder = write(tmp_path, ".claude/agents/a.md", agent("a")).parent
    (folder / "gone.md").symlink_to("nowhere")
    (folder / "ring.md").symlink_to("ring.md")
    (folder / "folder.md").mkdir()
    os.mkfifo(folder / "pipe.md")
    odd = os.fsdecode(b"\xff\x1b[31m\n.md")
    (folder / odd).write_text(agent("odd"), encoding="utf-8")
    files = own(call_json(tmp_path, "check"))
    assert {name: file["state"] for name, file in files.items() if name in ("a.md", "gone.md")} == {
        "a.md": "used",
        "gone.md": "skipped",
    }
    assert files["ring.md"]["reason"] == "cannot be read: Too many levels of symbolic links"
    out = call(tmp_path, "check")[1]
    assert "\x1b" not in out
    assert "used      odd" in out


def test_a_directory_of_damaged_files_is_told_whole(tmp_path: Path) -> None:
    shapes = [path.read_bytes() for path in sorted((CASES / "agents").glob("*.md"))]
    folder = tmp_path / ".claude" / "agents"
    folder.mkdir(parents=True)
    for number, data in enumerate(damaged(shapes, 600)):
        (folder / f"{number:03}.md").write_bytes(data)
    files = own(call_json(tmp_path, "check"))
    assert sorted(files) == [f"{number:03}.md" for number in range(600)]
    used = [file["name"] for file in files.values() if file["state"] == "used"]
    assert len(used) == len(set(used))
    for file in files.values():
        assert (file["reason"] is None) == (file["name"] is not None) or file["state"] == "used"
        assert (file["shadowedBy"] is not None) == (file["state"] == "shadowed")
    assert call(tmp_path, "check")[0] == 1
    for name in used:
        shown = json.loads(call(tmp_path, "show", "--json", "--", name)[1])
        assert shown["name"] == name
