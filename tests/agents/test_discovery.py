from __future__ import annotations

import os
import re
import threading
from pathlib import Path

import pytest

from runner.agents.definition import AgentDefinition
from runner.agents.discovery import discover_agents, get_agent, read_agent_file
from runner.errors import UnknownAgent


def write(directory: Path, file: str, text: str | None = None, name: str = "a") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / file
    path.write_text(text or f"---\nname: {name}\ndescription: d\n---\nWork.\n", encoding="utf-8")
    return path


def agents_dir(root: Path) -> Path:
    return root / ".claude" / "agents"


def own_names(root: Path) -> list[str]:
    found = discover_agents(root, root / "home").agents
    return [agent.name for agent in found if agent.source != "bundled"]


def test_one_bad_file_does_not_hide_its_neighbours_and_is_named(tmp_path: Path) -> None:
    bad = write(agents_dir(tmp_path), "bad.md", "---\nname: x\n---\n")
    write(agents_dir(tmp_path), "good.md")
    discovery = discover_agents(tmp_path, tmp_path / "home")
    assert own_names(tmp_path) == ["a"]
    assert discovery.warnings == (f"{bad}: skipped: `description` is missing or empty",)
    assert [found.parsed.file for found in discovery.files if found.state == "skipped"] == [
        str(bad)
    ]


def test_files_that_are_no_agents_make_no_noise(tmp_path: Path) -> None:
    directory = agents_dir(tmp_path)
    for name in ("c", "a", "b"):
        write(directory, f"{name}.md", name=name)
    write(directory, "README.md", "# Agents\n")
    write(directory, "notes.md", "Prose\n\n```\n---\nname: n\n---\n```\n")
    write(directory, "b.md~", name="backup")
    (directory / "old.md").mkdir()
    discovery = discover_agents(tmp_path, tmp_path / "home")
    assert own_names(tmp_path) == ["a", "b", "c"]
    assert discovery.warnings == ()
    assert [Path(f.parsed.file).name for f in discovery.files if f.state == "no agent"] == [
        "README.md",
        "notes.md",
    ]


def test_warnings_are_the_same_text_at_every_call_and_each_once(tmp_path: Path) -> None:
    write(agents_dir(tmp_path), "a.md", "---\nname: a\ndescription: b: c\ntools:\n---\nx\n")
    first, second = (discover_agents(tmp_path, tmp_path / "home").warnings for _ in range(2))
    assert first == second
    assert len(first) == len(set(first)) == 2


def test_a_shadowed_file_is_remembered_with_the_one_that_won(tmp_path: Path) -> None:
    won = write(agents_dir(tmp_path), "1.md")
    write(tmp_path / ".gemini" / "agents", "1.md", "---\nname: a\ndescription: \n---\n")
    lost = write(tmp_path / ".gemini" / "agents", "2.md")
    (shadowed,) = discover_agents(tmp_path, tmp_path / "home").shadowed
    assert (shadowed.parsed.file, shadowed.shadowed_by) == (str(lost), str(won))


def test_a_directory_reached_twice_is_read_once(tmp_path: Path) -> None:
    write(agents_dir(tmp_path / "home"), "a.md")
    (tmp_path / ".claude").mkdir()
    agents_dir(tmp_path).symlink_to(agents_dir(tmp_path / "home"))
    discovery = discover_agents(tmp_path, tmp_path / "home")
    assert [found.source for found in discovery.files if found.source != "bundled"] == ["project"]


def test_changes_are_seen_at_the_next_call(tmp_path: Path) -> None:
    directory = agents_dir(tmp_path)
    path = write(directory, "a.md", name="one")
    assert own_names(tmp_path) == ["one"]
    write(directory, "b.md", name="new")
    assert own_names(tmp_path) == ["one", "new"]
    write(directory, "a.md", name="two")
    assert own_names(tmp_path) == ["two", "new"]
    path.unlink()
    assert own_names(tmp_path) == ["new"]


def test_a_rewrite_of_the_same_size_with_the_old_mtime_is_seen(tmp_path: Path) -> None:
    path = write(agents_dir(tmp_path), "a.md", name="one")
    old = path.stat()
    for name in ("two", "six", "ten") * 20:
        write(agents_dir(tmp_path), "a.md", name=name)
        os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
        assert own_names(tmp_path) == [name]


def test_what_has_not_changed_is_not_read_again(tmp_path: Path) -> None:
    agents_dir(tmp_path).mkdir(parents=True)
    # an old file: one that was just written is read twice
    old = Path(__file__).parent.parent / "data" / "cases" / "agents" / "01-minimal.md"
    (agents_dir(tmp_path) / "a.md").symlink_to(old)
    first, second = (
        get_agent(discover_agents(tmp_path, tmp_path / "home"), "tidy-up") for _ in range(2)
    )
    assert first is second


def test_a_dangling_link_is_skipped_and_seen_when_its_target_comes(tmp_path: Path) -> None:
    directory = agents_dir(tmp_path)
    directory.mkdir(parents=True)
    (directory / "a.md").symlink_to(tmp_path / "later.md")
    assert "cannot be read" in discover_agents(tmp_path, tmp_path / "home").warnings[0]
    write(tmp_path, "later.md")
    assert own_names(tmp_path) == ["a"]


def test_a_path_that_cannot_be_looked_at_is_an_empty_place(tmp_path: Path) -> None:
    names = discover_agents(tmp_path / ("x" * 300), tmp_path / "home").names
    assert names[0] == "explore"


def test_the_home_directory_is_that_of_the_user_by_default(tmp_path: Path) -> None:
    assert "task" in discover_agents(tmp_path).names


def test_threads_that_discover_at_once_agree(tmp_path: Path) -> None:
    for number in range(50):
        write(agents_dir(tmp_path), f"{number:02}.md", name=f"agent-{number}")
    barrier = threading.Barrier(8)
    results: list[list[str]] = []

    def discover() -> None:
        barrier.wait()
        results.extend(own_names(tmp_path) for _ in range(5))

    threads = [threading.Thread(target=discover) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[f"agent-{number}" for number in range(50)]] * 40


def test_an_agent_is_found_by_its_exact_name_only(tmp_path: Path) -> None:
    write(agents_dir(tmp_path), "a.md", name="Reviewer")
    discovery = discover_agents(tmp_path, tmp_path / "home")
    assert get_agent(discovery, "reviewer").source == "bundled"
    assert get_agent(discovery.agents, "Reviewer").source == "project"
    assert discovery.get("REVIEWER") is None
    found = discovery.get("Reviewer")
    assert isinstance(found, AgentDefinition)


def test_an_unknown_agent_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    discovery = discover_agents(tmp_path, tmp_path / "home")
    text = 'Unknown agent "Task". Available: explore, plan, designer, reviewer, task, quick_task'
    with pytest.raises(UnknownAgent, match=re.escape(text)):
        get_agent(discovery, "Task")
    with pytest.raises(UnknownAgent, match=r'Unknown agent "x". Available: none'):
        get_agent([], "x")


def test_reading_one_file_never_raises(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    reasons = [
        read_agent_file(path, "user").reason
        for path in (tmp_path / "none.md", tmp_path, tmp_path / "pipe.md", Path("nul\0.md"))
    ]
    assert reasons == [
        "cannot be read: No such file or directory",
        "not a regular file",
        "not a regular file",
        "cannot be read: embedded null byte",
    ]


def test_the_way_up_does_not_lead_through_a_folder_that_was_left(tmp_path: Path) -> None:
    write(agents_dir(tmp_path / "below"), "a.md")
    assert own_names(tmp_path / "below" / "..") == []
