"""Registries of plugins: what counts, in which order, and why an entry does not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from runner.agents.discovery import Discovery, discover_agents
from runner.agents.plugins import FoundPlugin, plugin_places

CLAUDE = Path("home/.claude/plugins/installed_plugins.json")
OURS = Path("home/.xcsh/plugins/installed_plugins.json")
PROJECT = Path("project/.xcsh/plugins/installed_plugins.json")


def plugin(root: Path, name: str, folder: str = "agents") -> str:
    """A plugin with one agent, named like it; its directory."""
    directory = root / "p" / name / folder
    directory.mkdir(parents=True)
    (directory / "a.md").write_text(f"---\nname: {name}\ndescription: d\n---\nWork.\n")
    return str(directory.parent)


def register(file: Path, plugins: Any, version: object = 2) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"version": version, "plugins": plugins}))
    return file


def found(root: Path, cwd: str = "project") -> Discovery:
    (root / cwd).mkdir(parents=True, exist_ok=True)
    return discover_agents(root / cwd, root / "home")


def own(discovery: Discovery) -> list[str]:
    return [agent.name for agent in discovery.agents if agent.source != "bundled"]


def states(discovery: Discovery) -> list[tuple[str, str]]:
    return [(one.id, one.state) for registry in discovery.registries for one in registry.plugins]


def only(discovery: Discovery) -> FoundPlugin:
    (registry,) = discovery.registries
    (one,) = registry.plugins
    return one


def test_a_file_of_a_plugin_knows_its_plugin(tmp_path: Path) -> None:
    register(tmp_path / CLAUDE, {"a@b@c": [{"installPath": plugin(tmp_path, "one")}]})
    discovery = found(tmp_path)
    assert own(discovery) == ["one"]
    assert [file.plugin for file in discovery.files if file.source != "bundled"] == ["a@b@c"]
    assert (only(discovery).state, only(discovery).scope) == ("used", "user")
    assert discovery.registries[0].source == "user"
    assert discovery.warnings == ()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[1", "not JSON"),
        (b"[" * 100_000, "not JSON: nested too deep"),
        (b"[]", "not an object"),
        (b'{"plugins": {}}', "`version` is not a number"),
        (b'{"version": true, "plugins": {}}', "`version` is not a number"),
        (b'{"version": "2", "plugins": {}}', "`version` is not a number"),
        (b'{"version": 2}', "`plugins` is not an object"),
        (b'{"version": 2, "plugins": []}', "`plugins` is not an object"),
        (b" " * 1_000_001, "larger than 1,000,000 bytes"),
    ],
)
def test_a_broken_registry_gives_no_plugins_and_one_warning_with_the_reason(
    tmp_path: Path, text: bytes, part: str
) -> None:
    file = register(tmp_path / CLAUDE, {})
    file.write_bytes(text)
    for _ in range(2):
        discovery = found(tmp_path)
        (registry,) = discovery.registries
        assert own(discovery) == []
        assert part in (registry.problem or "")
        assert discovery.warnings == (f"{file}: no plugin of it is used: {registry.problem}",)


def test_a_registry_that_is_a_directory_or_a_ring_of_links_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / CLAUDE).mkdir(parents=True)
    (tmp_path / OURS).parent.mkdir(parents=True)
    (tmp_path / OURS).symlink_to(tmp_path / OURS)
    problems = [registry.problem for registry in found(tmp_path).registries]
    assert problems == ["not a regular file", "cannot be read: Too many levels of symbolic links"]


def test_where_no_registry_can_be_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".claude").write_text("a file")
    assert found(tmp_path).registries == ()
    assert plugin_places(tmp_path, None) == ((), ())


@pytest.mark.parametrize(
    ("name", "entries", "reason"),
    [
        ("a@b", [{}], "its entry has no installPath"),
        ("a@b", [{"installPath": ""}], "its entry has no installPath"),
        ("a@b", [{"installPath": 5}], "its entry has no installPath"),
        ("a@b", [{"installPath": "p/one"}], "its installPath does not start at the root"),
        ("a@b", ["x"], "its value is not a list of objects"),
        ("a@b", "x", "its value is not a list of objects"),
        ("ab", [{"installPath": "/p"}], "its id has no @ with the marketplace behind it"),
        ("a@b", [{"installPath": "/nowhere-at-all"}], "its directory is not there"),
        ("a@b", [{"installPath": "/x\0y"}], "its directory is not there"),
        ("a@\ud800", [{"installPath": "/\udc00"}], "its directory is not there"),
        ("a@b", [{"installPath": "/"}], "it has no directory agents"),
    ],
)
def test_an_entry_that_gives_nothing_is_explained_without_a_warning(
    tmp_path: Path, name: str, entries: object, reason: str
) -> None:
    register(tmp_path / CLAUDE, {name: entries})
    discovery = found(tmp_path)
    assert (only(discovery).state, only(discovery).reason) == ("skipped", reason)
    assert discovery.warnings == ()
    str(discovery.registries).encode()


def test_a_plugin_that_is_switched_off_is_told_apart(tmp_path: Path) -> None:
    paths = [plugin(tmp_path, name) for name in ("off", "on")]
    entries = {
        "off@s": [{"installPath": paths[0], "enabled": False}],
        "on@s": [{"installPath": paths[1], "enabled": 0}],
    }
    register(tmp_path / CLAUDE, entries)
    discovery = found(tmp_path)
    assert own(discovery) == ["on"]
    assert states(discovery) == [("off@s", "disabled"), ("on@s", "used")]


def test_several_installs_of_one_id_all_count_project_scope_first(tmp_path: Path) -> None:
    scopes = ("user", "project", "local", "managed", 5)
    entries = [
        {"installPath": plugin(tmp_path, f"{index}"), "scope": scope}
        for index, scope in enumerate(scopes)
    ]
    for entry in entries:
        name = Path(str(entry["installPath"])).name
        text = f"---\nname: n{name}\ndescription: d\n---\n"
        (tmp_path / "p" / name / "agents" / "a.md").write_text(text)
    register(tmp_path / CLAUDE, {"a@s": entries})
    assert own(found(tmp_path)) == ["n1", "n2", "n0", "n3", "n4"]


def test_our_registry_replaces_entries_of_the_same_id_even_when_it_switches_them_off(
    tmp_path: Path,
) -> None:
    register(
        tmp_path / CLAUDE,
        {
            "a@s": [{"installPath": plugin(tmp_path, "a-claude")}],
            "b@s": [{"installPath": plugin(tmp_path, "b-claude")}],
            "c@s": [{"installPath": plugin(tmp_path, "c-claude")}],
        },
    )
    ours = register(
        tmp_path / OURS,
        {
            "a@s": [{"installPath": plugin(tmp_path, "a-ours")}],
            "b@s": [{"installPath": plugin(tmp_path, "b-ours"), "enabled": False}],
            "c@s": [{}],
        },
    )
    discovery = found(tmp_path)
    assert own(discovery) == ["c-claude", "a-ours"]
    assert states(discovery)[:3] == [("a@s", "replaced"), ("b@s", "replaced"), ("c@s", "used")]
    reason = discovery.registries[0].plugins[0].reason
    assert reason == f"{ours} has its own entry for it"


def test_the_registry_of_the_project_comes_first_is_of_the_project_and_only_adds(
    tmp_path: Path,
) -> None:
    for name in ("a", "b"):
        register(
            tmp_path / (CLAUDE if name == "a" else OURS),
            {f"{name}@s": [{"installPath": plugin(tmp_path, f"{name}-user"), "scope": "project"}]},
        )
    register(
        tmp_path / PROJECT,
        {
            "c@s": [{"installPath": plugin(tmp_path, "c-project"), "scope": "user"}],
            "a@s": [{"installPath": plugin(tmp_path, "a-project"), "projectPath": "/elsewhere"}],
            "b@s": [{"installPath": plugin(tmp_path, "b-project"), "enabled": False}],
        },
    )
    discovery = found(tmp_path)
    assert own(discovery) == ["c-project", "a-project", "b-user"]
    assert {agent.source for agent in discovery.agents} == {"project", "bundled"}
    assert [registry.source for registry in discovery.registries] == ["project", "user", "user"]


def test_a_plugin_installed_for_another_project_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "project" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "project")
    entries = [
        {"installPath": plugin(tmp_path, name), "scope": "project", "projectPath": str(path)}
        for name, path in (
            ("here", tmp_path / "project"),
            ("linked", tmp_path / "link"),
            ("there", tmp_path / "other"),
            ("nowhere", "\0"),
        )
    ]
    register(tmp_path / CLAUDE, {"a@s": entries})
    discovery = found(tmp_path, "project/sub")
    assert own(discovery) == ["here", "linked"]
    reason = discovery.registries[0].plugins[2].reason
    assert reason == f"it is installed for another project: {tmp_path / 'other'}"


def test_the_home_directory_is_no_project(tmp_path: Path) -> None:
    register(tmp_path / OURS, {"a@s": [{"installPath": plugin(tmp_path, "a")}]})
    (tmp_path / "same").symlink_to(tmp_path / "home")
    for cwd in ("home", "home/deep", "same"):
        discovery = found(tmp_path, cwd)
        assert [registry.source for registry in discovery.registries] == ["user"]
        assert own(discovery) == ["a"]


def test_one_plugin_directory_under_two_ids_is_read_once_and_explained(tmp_path: Path) -> None:
    path = plugin(tmp_path, "a")
    (tmp_path / "link").symlink_to(path)
    entries = {
        "a@s": [{"installPath": path}, {"installPath": path}],
        "b@s": [{"installPath": str(tmp_path / "link")}],
    }
    register(tmp_path / CLAUDE, entries)
    discovery = found(tmp_path)
    assert len([file for file in discovery.files if file.source != "bundled"]) == 1
    assert [(one.place.plugin, str(one.same_as)) for one in discovery.repeated] == [
        ("a@s", f"{path}/agents"),
        ("b@s", f"{path}/agents"),
    ]


def test_a_change_of_a_registry_or_a_plugin_is_seen_at_the_next_call(tmp_path: Path) -> None:
    path = plugin(tmp_path, "a")
    file = register(tmp_path / CLAUDE, {"a@s": [{"installPath": path, "enabled": False}]})
    assert own(found(tmp_path)) == []
    old = file.stat()
    text = file.read_text().replace("false", "true ")
    file.write_text(text)
    os.utime(file, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert own(found(tmp_path)) == ["a"]
    (Path(path) / "agents").rename(Path(path) / "elsewhere")
    assert own(found(tmp_path)) == []
    file.unlink()
    assert found(tmp_path).registries == ()


def test_commands_of_plugins_lie_in_their_own_folder(tmp_path: Path) -> None:
    register(tmp_path / CLAUDE, {"a@s": [{"installPath": plugin(tmp_path, "a", "commands")}]})
    places, _ = plugin_places(tmp_path / "project", tmp_path / "home", "commands")
    assert [place.directory for place in places] == [tmp_path / "p" / "a" / "commands"]
    assert only(found(tmp_path)).reason == "it has no directory agents"
