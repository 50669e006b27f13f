"""Reading directories: from memory where nothing changed, and never what is stale."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from runner.agents.places import Place
from runner.agents.reading import Reader


def reader() -> Reader[str]:
    return Reader(
        lambda data, path, source: f"{source}:{Path(path).name}:{data.decode()}",
        lambda path, reason: f"{Path(path).name}: {reason}",
    )


def write(directory: Path, name: str, text: str) -> Path:
    path = directory / name
    path.write_text(text)
    return path


def test_files_come_by_their_whole_names_and_only_with_the_right_end(tmp_path: Path) -> None:
    for name in ("b.md", "a.md", "a.toml", "c.MD", "d.md~", ".md"):
        write(tmp_path, name, "x")
    (tmp_path / "e.md").mkdir()
    os.mkfifo(tmp_path / "f.md")
    assert reader().directory(Place(tmp_path, "user")) == (
        "user:.md:x",
        "user:a.md:x",
        "user:b.md:x",
    )
    both = Place(tmp_path, "user", suffixes=(".md", ".toml"))
    assert reader().directory(both)[1:3] == ("user:a.md:x", "user:a.toml:x")


def test_a_missing_directory_is_empty_and_one_that_cannot_be_read_has_its_reason(
    tmp_path: Path,
) -> None:
    assert reader().directory(Place(tmp_path / "none", "user")) == ()
    (tmp_path / "file").write_text("x")
    (reason,) = reader().directory(Place(tmp_path / "file", "user"))
    assert reason == "file: the directory cannot be read: Not a directory"


def test_links_that_lead_nowhere_have_their_reason(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("nowhere.md")
    (tmp_path / "b.md").symlink_to("b.md")
    assert reader().directory(Place(tmp_path, "user")) == (
        "a.md: cannot be read: No such file or directory",
        "b.md: cannot be read: Too many levels of symbolic links",
    )


def test_one_file_is_read_again_only_when_it_changed(tmp_path: Path) -> None:
    read: list[str] = []

    def parse(data: bytes, path: str, source: str) -> str:
        read.append(path)
        return data.decode()

    counted = Reader(parse, lambda path, reason: reason)
    old = Path(__file__)
    assert counted.kept_file(old, "user") == counted.kept_file(old, "user")
    assert read == [str(old)]
    fresh = write(tmp_path, "a", "one")
    assert counted.kept_file(fresh, "user") == "one"
    write(tmp_path, "a", "two")
    assert counted.kept_file(fresh, "user") == "two"
    assert counted.kept_file(tmp_path / "none", "user") is None
    assert counted.kept_file(fresh / "below", "user") is None


def test_a_file_reached_by_two_sources_is_kept_for_each(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "x")
    kept = reader()
    for _ in range(2):
        assert kept.directory(Place(tmp_path, "user")) == ("user:a.md:x",)
        assert kept.directory(Place(tmp_path, "project")) == ("project:a.md:x",)


@pytest.mark.parametrize("name", [b"\xff\xfe.md", "\u00e9\n.md".encode(), b"-.md"])
def test_a_name_of_any_bytes_is_read(tmp_path: Path, name: bytes) -> None:
    (tmp_path / os.fsdecode(name)).write_text("x")
    assert reader().directory(Place(tmp_path, "user")) == (f"user:{os.fsdecode(name)}:x",)


def test_threads_that_read_while_files_change_see_whole_files_and_the_last_at_the_end(
    tmp_path: Path,
) -> None:
    kept = reader()
    stop = threading.Event()
    seen: set[tuple[str, ...]] = set()

    def read() -> None:
        while not stop.is_set():
            seen.add(kept.directory(Place(tmp_path, "user")))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(200):
        write(tmp_path, "new", f"{number:03}")
        (tmp_path / "new").replace(tmp_path / "a.md")
    stop.set()
    for thread in threads:
        thread.join()
    assert kept.directory(Place(tmp_path, "user")) == ("user:a.md:199",)
    assert {len(value[0]) for value in seen if value} <= {len("user:a.md:000")} | {
        len("a.md: cannot be read: No such file or directory")
    }


def test_one_file_that_cannot_be_looked_at_has_its_reason(tmp_path: Path) -> None:
    (tmp_path / "ring").symlink_to("ring")
    value = reader().kept_file(tmp_path / "ring", "user")
    assert value == "ring: cannot be read: Too many levels of symbolic links"
    assert reader().kept_file(Path("nul\0"), "user") == "nul\0: cannot be read: embedded null byte"


def test_many_directories_do_not_pile_up(tmp_path: Path) -> None:
    kept = reader()
    for number in range(1_001):
        kept.kept_file(Path("nul\0", str(number)), "user")
    write(tmp_path, "a.md", "x")
    assert kept.directory(Place(tmp_path, "user")) == ("user:a.md:x",)
