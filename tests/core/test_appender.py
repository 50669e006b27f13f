"""A file that stays open while lines are appended to it."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from runner.core.appender import Appender
from runner.errors import SaveFailed


def _open_files() -> set[str]:
    return {str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()}


def test_lines_follow_one_another_and_what_others_append(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    one, other = Appender(path), Appender(path)
    for number, appender in enumerate((one, other, one, other)):
        appender.append(b"%d\n" % number)
    assert path.read_bytes() == b"0\n1\n2\n3\n"


def test_a_torn_line_is_closed_first_whoever_left_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    appender = Appender(path)
    appender.append(b"1\n")
    path.write_bytes(path.read_bytes() + b"torn")
    appender.append(b"2\n")
    assert path.read_bytes() == b"1\ntorn\n2\n"


@pytest.mark.parametrize("moved", [False, True])
def test_a_file_that_goes_away_is_begun_anew(tmp_path: Path, moved: bool) -> None:
    path = tmp_path / "a.jsonl"
    appender = Appender(path)
    appender.append(b"1\n")
    if moved:
        path.rename(tmp_path / "old.jsonl")
    else:
        path.unlink()
    appender.append(b"2\n")
    assert path.read_bytes() == b"2\n"
    assert not any("(deleted)" in name and "a.jsonl" in name for name in _open_files())


def test_without_a_folder_it_says_so_and_goes_on_when_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "later" / "a.jsonl"
    appender = Appender(path)
    with pytest.raises(FileNotFoundError):
        appender.append(b"1\n")
    path.parent.mkdir()
    appender.append(b"2\n")
    assert path.read_bytes() == b"2\n"


def test_a_folder_that_was_away_for_a_while_gets_its_lines_and_no_other_file(
    tmp_path: Path,
) -> None:
    folder, away = tmp_path / "runs", tmp_path / "away"
    folder.mkdir()
    appender = Appender(folder / "a.jsonl")
    appender.append(b"1\n")
    folder.rename(away)
    with pytest.raises(FileNotFoundError):
        appender.append(b"2\n")
    other = tmp_path / "other"
    with other.open("w+b"):  # gets the number that has become free
        away.rename(folder)
        appender.append(b"3\n")
    assert other.read_bytes() == b""
    assert (folder / "a.jsonl").read_bytes() == b"1\n3\n"


def test_a_path_that_is_no_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SaveFailed, match=f"{tmp_path.name}.*Is a directory"):
        Appender(tmp_path).append(b"1\n")


def test_the_file_is_closed_with_the_appender(tmp_path: Path) -> None:
    appender = Appender(tmp_path / "a.jsonl")
    appender.append(b"1\n")
    assert os.fspath(tmp_path / "a.jsonl") in _open_files()
    del appender
    gc.collect()
    assert os.fspath(tmp_path / "a.jsonl") not in _open_files()
