"""Files that are never half there, one lock, and what is said when either fails."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.core.files import (
    LockVanished,
    WaitCancelled,
    append_line,
    atomic_write,
    clean_text,
    create_exclusive,
    encode_json,
    encode_line,
    holder_of,
    locked,
    sweep_leftovers,
)
from runner.errors import BoardBusy, SaveFailed


@given(st.text(st.characters(codec=None, categories=None)))
def test_any_text_can_be_encoded_and_good_text_is_kept(text: str) -> None:
    clean = clean_text(text)
    assert clean.encode().decode() == clean
    good = not any("\ud800" <= character <= "\udfff" for character in text)
    assert (clean == text) is good


def test_json_is_written_readable_with_a_final_newline() -> None:
    assert encode_json({"a": "grün \ud83d"}) == '{\n  "a": "grün \ufffd"\n}\n'.encode()
    assert encode_line({"a": "grün", "b": [1]}) == '{"a": "grün", "b": [1]}\n'.encode()


def test_a_write_replaces_the_file_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    atomic_write(path, b"one")
    path.chmod(0o640)
    atomic_write(path, b"two")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"two", 0o640)
    assert list(tmp_path.iterdir()) == [path]


def test_a_guard_may_call_a_write_off(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"one")

    def guard() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        atomic_write(path, b"two", guard=guard)
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"one", [path])


def test_a_file_without_write_bits_is_refused_even_to_root(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"one")
    path.chmod(0o444)
    with pytest.raises(SaveFailed, match="read-only"):
        atomic_write(path, b"two")
    assert path.read_bytes() == b"one"


def test_a_write_that_fails_says_which_file_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "x").touch()
    with pytest.raises(SaveFailed, match="folder could not be saved"):
        atomic_write(folder, b"x")
    with pytest.raises(SaveFailed, match="No such file"):
        atomic_write(tmp_path / "missing" / "a.json", b"x")
    with pytest.raises(SaveFailed, match="No such file"):
        append_line(tmp_path / "missing" / "a.jsonl", b"x\n")
    with pytest.raises(SaveFailed, match="name too long"):
        create_exclusive(tmp_path / ("x" * 300), b"x")
    assert list(tmp_path.iterdir()) == [folder]


def test_a_new_file_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert create_exclusive(path, b"one")
    assert not create_exclusive(path, b"two")
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"one", [path])


def test_a_line_is_never_glued_to_a_torn_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    append_line(path, b"1\n")
    with path.open("ab") as stream:
        stream.write(b'{"torn')
    append_line(path, b"2\n")
    assert path.read_bytes() == b'1\n{"torn\n2\n'


def test_old_leftovers_are_swept_and_nothing_else(tmp_path: Path) -> None:
    for name, age in ((".a.json.1.tmp", 10), (".b.json.2.tmp", 100), ("c.tmp", 100)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    (tmp_path / ".folder.tmp").mkdir()
    os.utime(tmp_path / ".folder.tmp", (1, 1))
    assert sweep_leftovers(tmp_path, older_than=950) == [tmp_path / ".b.json.2.tmp"]


def test_a_lock_is_exclusive_and_free_again_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for _ in range(2):
        with locked(path) as held:
            held.check()
            with pytest.raises(BoardBusy, match="try again") as busy, locked(path, timeout_s=0.01):
                raise AssertionError("unreachable: two holders")
            assert busy.value.holder in (None, f"process {os.getpid()}")
    assert path.exists()


def test_of_an_unheld_lock_no_holder_is_known(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    assert holder_of(tmp_path / "lock") is None
    assert holder_of(tmp_path / "missing") is None


def test_a_lock_is_released_when_the_block_fails(tmp_path: Path) -> None:
    with pytest.raises(LookupError), locked(tmp_path / "lock"):
        raise LookupError
    with locked(tmp_path / "lock", timeout_s=0.01):
        pass


def test_the_wait_for_a_lock_can_be_called_off(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path):
        with pytest.raises(WaitCancelled), locked(path, cancelled=lambda: True):
            raise AssertionError("unreachable: two holders")

        def cancelled() -> bool:
            raise LookupError

        with pytest.raises(LookupError), locked(path, cancelled=cancelled):
            raise AssertionError("unreachable: two holders")
    with locked(path, timeout_s=0.01, cancelled=lambda: False):
        pass


def test_a_wait_that_ends_by_time_is_not_a_cancelled_one(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with (
        locked(path),
        pytest.raises(BoardBusy) as busy,
        locked(path, timeout_s=0.01, cancelled=lambda: False),
    ):
        raise AssertionError("unreachable: two holders")
    assert not isinstance(busy.value, WaitCancelled)


def test_a_lock_file_that_was_replaced_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path) as held:
        path.unlink()
        with pytest.raises(LockVanished):
            held.check()
        path.touch()
        other = tmp_path / "other"
        other.touch()
        other.replace(path)
        with pytest.raises(LockVanished):
            held.check()


def test_a_lock_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with pytest.raises(SaveFailed, match="lock could not be saved"), locked(tmp_path / "lock"):
        raise AssertionError("unreachable: a folder is no lock")


def test_encoded_json_reads_back() -> None:
    value = {"a": [1, 2.5, None, True, "x\u2028y"]}
    assert json.loads(encode_json(value)) == value


def test_a_line_that_does_not_fit_is_not_there_at_all(tmp_path: Path) -> None:
    path = tmp_path / "inbox.jsonl"
    append_line(path, b"first\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(SaveFailed, match=r"inbox\.jsonl .*File too large"):
            append_line(path, b"x" * 8000 + b"\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"first\n"


@pytest.mark.parametrize("encode", [encode_json, encode_line])
def test_numbers_that_json_does_not_know_are_not_written(encode: Callable[[Any], bytes]) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode({"cost": float("nan")})
