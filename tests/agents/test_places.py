"""Where the families look, and directories that are reached by several ways."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.agents.places import Folder, Place, distinct, family_places
from runner.agents.sources import find_sources


def made(root: Path, *directories: str) -> None:
    for directory in directories:
        (root / directory).mkdir(parents=True, exist_ok=True)


def looked_at(root: Path, cwd: str, folder: Folder = "agents") -> list[tuple[str, str]]:
    places = find_sources(root / cwd, root / "home", folder).places
    return [(str(place.directory.relative_to(root)), place.source) for place in places]


@pytest.mark.parametrize("folder", ["agents", "commands"])
def test_each_family_has_its_nearest_project_directory_and_its_user_directory(
    tmp_path: Path, folder: Folder
) -> None:
    families = (".gemini", ".codex", ".claude", ".xcsh")
    made(
        tmp_path, "home/.xcsh/agent/" + folder, "project/sub", *(f"{f}/{folder}" for f in families)
    )
    made(tmp_path, *(f"home/{family}/{folder}" for family in families[:3]))
    made(tmp_path, f"project/.claude/{folder}")
    assert looked_at(tmp_path, "project/sub", folder) == [
        (f".xcsh/{folder}", "project"),
        (f"home/.xcsh/agent/{folder}", "user"),
        (f"project/.claude/{folder}", "project"),
        (f"home/.claude/{folder}", "user"),
        (f".codex/{folder}", "project"),
        (f"home/.codex/{folder}", "user"),
        (f".gemini/{folder}", "project"),
        (f"home/.gemini/{folder}", "user"),
    ]


def test_only_agents_of_codex_may_be_toml(tmp_path: Path) -> None:
    made(tmp_path, ".codex/agents", ".codex/commands", ".claude/agents")
    folders: tuple[Folder, ...] = ("agents", "commands")
    for folder in folders:
        sources = find_sources(tmp_path, tmp_path / "home", folder)
        for place in sources.places:
            toml = place.directory == tmp_path / ".codex" / "agents"
            assert (".toml" in place.suffixes) is toml


def test_in_the_home_directory_the_users_agents_count_as_the_projects_and_once(
    tmp_path: Path,
) -> None:
    made(tmp_path, "home/.claude/agents", "home/.xcsh/agent/agents")
    assert looked_at(tmp_path, "home") == [
        ("home/.xcsh/agent/agents", "user"),
        ("home/.claude/agents", "project"),
    ]
    (repeated,) = find_sources(tmp_path / "home", tmp_path / "home").repeated
    assert repeated.place.source == "user"
    assert repeated.same_as == tmp_path / "home" / ".claude" / "agents"


def test_a_second_way_to_a_directory_is_explained_with_the_first(tmp_path: Path) -> None:
    made(tmp_path, "home/.gemini/agents", ".claude")
    (tmp_path / ".claude" / "agents").symlink_to(tmp_path / "home" / ".gemini" / "agents")
    sources = find_sources(tmp_path, tmp_path / "home")
    assert [place.directory for place in sources.places] == [tmp_path / ".claude" / "agents"]
    (repeated,) = sources.repeated
    assert repeated.place == Place(tmp_path / "home" / ".gemini" / "agents", "user")
    assert repeated.same_as == tmp_path / ".claude" / "agents"


@pytest.mark.parametrize("target", ["../.claude/agents", "nowhere", "file"])
def test_a_ring_a_dangling_link_and_a_link_to_a_file_do_not_stop_the_walk(
    tmp_path: Path, target: str
) -> None:
    made(tmp_path, ".claude/agents", "project/.claude")
    (tmp_path / "project" / ".claude" / "file").write_text("x")
    (tmp_path / "project" / ".claude" / "agents").symlink_to(target)
    assert looked_at(tmp_path, "project") == [(".claude/agents", "project")]


def test_a_family_folder_that_is_a_ring_or_a_file_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".claude").symlink_to(".claude")
    (tmp_path / ".codex").write_text("x")
    assert looked_at(tmp_path, ".") == []


def test_paths_that_no_file_can_have_hold_nothing() -> None:
    assert list(family_places(Path("/a\0b"), Path("/\0"))) == []
    assert find_sources("/a\0b", "/\0").places == ()


def test_a_directory_gone_meanwhile_is_left_out(tmp_path: Path) -> None:
    assert distinct([Place(tmp_path / "gone", "user")]) == ((), ())


def test_without_a_home_directory_only_the_project_counts(tmp_path: Path) -> None:
    made(tmp_path, ".claude/agents")
    (place,) = family_places(tmp_path, None)
    assert place.directory == tmp_path / ".claude" / "agents"
