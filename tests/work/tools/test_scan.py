"""Walking, globs and the search for lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.work.tools.scan import Glob, Query, search, walk


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "deep/er/a.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("./src/*.py", "src/a.py", True),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/x/y/a.py", True),
        ("src/**", "src/x/y", True),
        ("src/**", "other/x", False),
        ("**/test_*.py", "test_a.py", True),
        ("**/a/**/b", "x/a/y/a/z/b", True),
        ("**/a/**/b", "x/a/y/c", False),
        ("*.{js,ts}", "web/a.ts", True),
        ("*.{js,ts}", "web/a.py", False),
        ("{a,b}/{c,d}.txt", "b/c.txt", True),
        ("file?.txt", "file1.txt", True),
        ("[!a]*.txt", "b.txt", True),
        ("*", ".hidden", True),
        ("A.py", "a.py", False),
    ],
)
def test_globs(pattern: str, path: str, fits: bool) -> None:
    assert Glob(pattern).matches(path) is fits


def test_a_hostile_glob_is_decided_quickly() -> None:
    assert not Glob("**/*a*a*a*a*a*a*a*a*b/**/**/**/x").matches("/".join(["a" * 100] * 30))
    assert not Glob("{a,b}" * 20 + "!").matches("a" * 20)


def test_a_walk_is_ordered_and_leaves_out_folders_of_tools(tmp_path: Path) -> None:
    for name in ("b.txt", "a/x.txt", ".git/config", ".tasks/task_1.json", "node_modules/m.js"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")

    assert list(walk(str(tmp_path))) == [("a", True), ("b.txt", False), ("a/x.txt", False)]


def test_a_walk_does_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "self").symlink_to(tmp_path)

    assert list(walk(str(tmp_path))) == [("self", False)]
    assert list(walk(str(tmp_path / "gone"))) == []


def found(folder: Path, pattern: str, *, context: int = 0, limit: int = 200) -> list[str]:
    query = Query(path=str(folder), label="", pattern=pattern, context=context, limit=limit)
    return list(search(query))


def test_lines_are_shown_with_file_and_number(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    (tmp_path / "b.txt").write_text("two\n")

    assert found(tmp_path, "^two$") == ["a.txt:2: two", "b.txt:1: two"]


def test_one_file_can_be_searched_and_files_can_be_chosen(tmp_path: Path) -> None:
    for name in ("a.py", "b.txt"):
        (tmp_path / name).write_text("two\n")
    one = Query(path=str(tmp_path / "a.py"), label="src/a.py", pattern="two")
    chosen = Query(path=str(tmp_path), label="src/", pattern="two", glob="*.txt")

    assert list(search(one)) == ["src/a.py:1: two"]
    assert list(search(chosen)) == ["src/b.txt:1: two"]


def test_context_is_marked_and_gaps_are_shown(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join("abcdefgh"))

    assert found(tmp_path, "[bg]", context=1) == [
        *("a.txt-1- a", "a.txt:2: b", "a.txt-3- c", "--"),
        *("a.txt-6- f", "a.txt:7: g", "a.txt-8- h"),
    ]


def test_the_number_of_lines_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n" * 10)

    assert found(tmp_path, "x", limit=2) == [
        *("a.txt:1: x", "a.txt:2: x"),
        "[stopped after 2 matching lines; narrow the search]",
    ]


def test_a_long_line_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 10_000)

    assert len(found(tmp_path, "x")[0]) < 600


def test_what_is_no_text_file_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\0x")
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")

    assert found(tmp_path, ".") == []
