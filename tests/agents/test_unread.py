"""Folders below and files of other kinds: never read, always explained, and no noise."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.agents.commands import discover_commands
from runner.agents.definition import AgentDefinition
from runner.agents.discovery import Discovery, discover_agents
from runner.agents.parsed import Parsed
from runner.agents.places import Place
from runner.agents.unread import unread

AGENT = "---\nname: {}\ndescription: d\n---\nWork.\n"


def put(root: Path, *files: str) -> Path:
    """`root` with an agent in each of `files`, named like it."""
    for file in files:
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(AGENT.format(path.stem))
    return root


def told(root: Path, discovery: Discovery) -> dict[str, str]:
    return {
        str(Path(found.parsed.file).relative_to(root)): found.parsed.reason or ""
        for found in discovery.files
        if found.state == "no agent"
    }


def test_agents_in_a_folder_below_are_told_in_one_line_and_found_by_name(tmp_path: Path) -> None:
    put(
        tmp_path, ".claude/agents/a.md", ".claude/agents/sub/critic.md", ".claude/agents/sub/x/b.md"
    )

    found = discover_agents(tmp_path, tmp_path / "home")

    assert found.get("critic") is None
    assert found.warnings == ()
    assert told(tmp_path, found) == {
        ".claude/agents/sub": "not looked into: only files directly in agents are read; "
        "in it: b.md, critic.md"
    }
    skipped = found.skipped_as("critic")
    assert skipped is not None
    assert skipped.parsed.file == str(tmp_path / ".claude/agents/sub")


def test_of_many_files_in_a_folder_only_some_are_named(tmp_path: Path) -> None:
    put(tmp_path, *(f".claude/agents/sub/{letter}.md" for letter in "abcdefg"))
    (reason,) = told(tmp_path, discover_agents(tmp_path, tmp_path / "home")).values()
    assert reason.endswith("in it: a.md, b.md, c.md, d.md, e.md and 2 more")


def test_folders_without_such_files_and_links_that_lead_far_are_passed_over(
    tmp_path: Path,
) -> None:
    folder = put(tmp_path, ".claude/agents/a.md", "far/deep/b.md") / ".claude/agents"
    (folder / "empty").mkdir()
    (folder / "far").symlink_to(tmp_path / "far")
    (folder / "ring").symlink_to(folder.parent)
    (folder / "nowhere").symlink_to("none")
    (folder / "self").symlink_to("self")
    (folder / "closed").mkdir(mode=0)
    assert told(tmp_path, discover_agents(tmp_path, tmp_path / "home")) == {}


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (".claude/agents/a.toml", "not read: only *.md are read here; write it as a.md"),
        (".claude/agents/a.MD", "not read: only *.md are read here; write it as a.md"),
        (".codex/agents/a.markdown", "not read: only *.md and *.toml are read here; write it as"),
    ],
)
def test_a_file_of_another_kind_is_told(tmp_path: Path, file: str, says: str) -> None:
    found = discover_agents(put(tmp_path, file), tmp_path / "home")
    assert told(tmp_path, found)[file].startswith(says)
    assert found.get("a") is None


def test_a_place_that_is_gone_meanwhile_has_nothing_to_tell(tmp_path: Path) -> None:
    gone: list[Parsed[AgentDefinition]] = list(unread(Place(tmp_path / "gone", "user")))
    assert gone == []


def test_files_that_do_not_look_like_agents_are_not_mentioned(tmp_path: Path) -> None:
    put(tmp_path, ".claude/agents/a.md~", ".claude/agents/b.json", ".codex/agents/c.toml")
    assert told(tmp_path, discover_agents(tmp_path, tmp_path / "home")) == {}


def test_commands_in_folders_below_and_those_of_gemini_are_told(tmp_path: Path) -> None:
    put(tmp_path, ".claude/commands/sub/x.md", ".gemini/commands/y.toml")
    found = discover_commands(tmp_path, tmp_path / "home")
    reasons = [one.parsed.reason or "" for one in found.files if one.parsed.definition is None]
    assert reasons[0].endswith("in commands are read; in it: x.md")
    assert reasons[1].endswith("write it as y.md")
