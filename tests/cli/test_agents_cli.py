from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from runner.cli.agents import command
from runner.errors import UnknownAgent

CASES = Path(__file__).parent.parent / "data" / "cases" / "agents"
GOOD = "---\nname: NAME\ndescription: Does it\ntools: Read, NoSuch\nhue: red\n---\nWork.\n"
KEYS = (
    "name description source file tools spawns model thinkingLevel output blocking shadows".split()
)


def call(root: Path, *argv: str, stdin: bytes = b"") -> tuple[int, str, str]:
    """Run `runner agents ...` in `root` with `root/home` as home: exit code, stdout, stderr."""
    runner = CliRunner(env={"HOME": str(root / "home")}, catch_exceptions=False)
    result = runner.invoke(command, argv, input=stdin, obj=root, standalone_mode=False)
    return result.return_value or 0, result.stdout, result.stderr


def call_json(root: Path, *argv: str, stdin: bytes = b"") -> Any:
    return json.loads(call(root, *argv, "--json", stdin=stdin)[1])


def write(root: Path, file: str, text: str) -> Path:
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project with an agent that shadows two others, a broken file and a plain one."""
    write(tmp_path, ".claude/agents/a.md", GOOD.replace("NAME", "task"))
    write(tmp_path, ".gemini/agents/b.md", GOOD.replace("NAME", "task"))
    write(tmp_path, ".claude/agents/broken.md", "---\nname: x\n---\n")
    write(tmp_path, ".claude/agents/README.md", "# Agents\n")
    return tmp_path


def test_list_gives_every_key_in_order_of_precedence(place: Path) -> None:
    listed = call_json(place, "list")
    assert [agent["name"] for agent in listed] == [
        "task",
        "explore",
        "plan",
        "designer",
        "reviewer",
        "quick_task",
    ]
    assert all(list(agent) == KEYS for agent in listed)
    assert listed[0]["tools"] == ["read", "nosuch", "submit_result"]
    assert listed[0]["source"] == "project"
    assert [Path(file).name for file in listed[0]["shadows"]] == ["b.md", "task.md"]
    assert listed[1]["shadows"] == []


def test_list_is_readable_and_warns_on_standard_error(place: Path) -> None:
    code, out, err = call(place, "list")
    assert code == 0
    assert out.splitlines()[1].split()[:5] == ["task", "project", "read,", "nosuch", "(unknown),"]
    assert "broken.md: skipped" in err
    assert "tools: read, nosuch (unknown), submit_result\n" in call(place, "show", "task")[1]


def test_show_tells_settings_and_prompt(place: Path) -> None:
    write(
        place,
        ".xcsh/agents/c.md",
        "---\nname: c\ndescription: d\nmaxTurns: 3\nbad: x: y\n"
        "isolation: worktree\npermissionMode: plan\n---\nOne\n\n  Two\n",
    )
    shown = call_json(place, "show", "c")
    assert (shown["maxTurns"], shown["isolation"], shown["permissionMode"]) == (
        3,
        "worktree",
        "plan",
    )
    assert shown["body"] == "One\n\n  Two"
    assert "not YAML" in shown["warnings"][0]
    _, out, err = call(place, "show", "c")
    assert "maxTurns: 3\n" in out
    assert out.endswith("\nOne\n\n  Two\n")
    assert "warning: not YAML" in err


def test_show_of_an_unknown_name_lists_those_that_there_are(place: Path) -> None:
    with pytest.raises(UnknownAgent, match=r'Unknown agent "Task"\. Available: task, explore'):
        call(place, "show", "Task")


def test_parse_reads_paths_from_standard_input_in_order(tmp_path: Path) -> None:
    names = sorted(path.name for path in CASES.glob("*.md"))
    stdin = "".join(f"{CASES / name}\n" for name in names).encode() + b"\n"
    parsed = call_json(tmp_path, "parse", "-", stdin=stdin)
    expected = json.loads((CASES / "expected.json").read_bytes())["cases"]
    assert [Path(one["path"]).name for one in parsed] == names
    for one, name in zip(parsed, names, strict=True):
        assert one["valid"] == expected[name]["valid"]
        assert one["fallback"] == expected[name]["line_parser"]
        assert ("output" in one) == expected[name].get("output", {}).get("present", False)
        assert (one["reason"] is None) == one["valid"]


def test_parse_gives_the_keys_of_list_and_its_own(place: Path) -> None:
    (one,) = call_json(place, "parse", ".claude/agents/a.md")
    own = ["path", "valid", "fallback", "reason", "body"]
    assert list(one) == [key for key in KEYS if key != "output"] + own
    assert (one["path"], one["body"]) == (".claude/agents/a.md", "Work.")


def test_parse_of_what_is_not_there_says_so_and_goes_on(place: Path) -> None:
    stdin = b"missing.md\r\n\xff.md\nnul\0.md\n.\n.claude/agents/a.md\n"
    parsed = call_json(place, "parse", "-", "README.md", stdin=stdin)
    assert [one["valid"] for one in parsed] == [False, False, False, False, True, False]
    assert parsed[0]["path"] == "missing.md"
    assert parsed[0]["reason"] == "cannot be read: No such file or directory"


def test_parse_without_json_has_a_line_per_file(place: Path) -> None:
    write(place, "odd.md", "---\nname: odd\ndescription: d: e\n---\nx\n")
    code, out, _ = call(place, "parse", "odd.md", ".claude/agents/README.md")
    assert code == 0
    assert out.splitlines()[0] == "odd.md: agent 'odd'"
    assert out.splitlines()[1].startswith("  warning: not YAML")
    assert out.splitlines()[2].startswith(".claude/agents/README.md: no agent: no front matter")


def test_parse_of_two_thousand_paths_gives_two_thousand_objects(place: Path) -> None:
    stdin = b".claude/agents/a.md\n" * 2000
    assert len(call_json(place, "parse", "-", stdin=stdin)) == 2000


def test_check_tells_what_became_of_every_file(place: Path) -> None:
    files = call_json(place, "check")["files"]
    states = {Path(one["file"]).name: one["state"] for one in files if one["source"] != "bundled"}
    assert states == {
        "README.md": "no agent",
        "a.md": "used",
        "b.md": "shadowed",
        "broken.md": "skipped",
    }
    used = next(one for one in files if one["file"].endswith("a.md"))
    assert used["unknownKeys"] == ["hue"]
    assert any("NoSuch" in warning for warning in used["warnings"])
    assert used["problem"] is False


def test_check_fails_when_a_file_had_to_be_skipped(place: Path) -> None:
    code, out, _ = call(place, "check")
    assert code == 1
    assert "`description` is missing or empty" in out
    (place / ".claude/agents/broken.md").unlink()
    code, out, _ = call(place, "check")
    assert code == 0
    assert "shadowed by" in out
    assert "unknown keys: hue" in out


def test_check_fails_when_an_agent_has_none_of_its_tools(tmp_path: Path) -> None:
    text = "---\nname: n\ndescription: d\ntools: NoSuch\n---\nx\n"
    write(tmp_path, ".claude/agents/n.md", text)
    code, out, _ = call(tmp_path, "check")
    assert code == 1
    assert "can use none of its tools" in out


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("", "no usable model: opus: no such alias"),
        ("model: script/s.yaml", "script/s.yaml (the team's default); not usable: opus"),
        ("models: {opus: script/s.yaml}", None),
    ],
)
def test_check_says_when_nothing_that_an_agent_names_can_think(
    tmp_path: Path, settings: str, said: str | None
) -> None:
    (tmp_path / ".tasks").mkdir()
    write(tmp_path, "s.yaml", "default: []")
    write(tmp_path, "team.yaml", settings)
    text = "---\nname: n\ndescription: d\nmodel: opus\n---\nx\n"
    file = write(tmp_path, ".claude/agents/n.md", text)
    files = call_json(tmp_path, "check")["files"]
    [warnings] = [one["warnings"] for one in files if one["file"] == str(file)]
    assert [said in warning for warning in warnings] == ([True] if said else [])


def test_check_without_readable_settings_leaves_models_alone(tmp_path: Path) -> None:
    (tmp_path / ".tasks").mkdir()
    write(tmp_path, "team.yaml", "nonsense: 1")
    code, out, err = call(tmp_path, "check")
    assert code == 0
    assert "models are not checked" in err
    assert "no usable model" not in out


def test_check_of_a_place_without_files_is_content(tmp_path: Path) -> None:
    assert call(tmp_path, "check")[0] == 0
