"""Bounded output is valid text, whatever was cut off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.work.processes.capture import Capture, Keep


def captured(data: bytes, limit: int, keep: Keep = "tail", step: int = 7) -> Capture:
    capture = Capture(limit, keep)
    for start in range(0, len(data), step):
        capture.feed(data[start : start + step])
    return capture


def test_short_output_is_kept_whole() -> None:
    capture = captured("grün ✓\n".encode(), 100, "ends")

    assert capture.text() == "grün ✓\n"
    assert not capture.truncated


def test_the_tail_keeps_the_last_bytes() -> None:
    capture = captured(b"".join(b"line %d\n" % n for n in range(1000)), 18)

    assert capture.text() == "line 998\nline 999\n"
    assert capture.truncated


def test_both_ends_are_kept_with_a_note_between_them() -> None:
    capture = captured(b"a" * 50 + b"b" * 50, 10, "ends")

    assert capture.text() == "aaaaa\n[... 90 bytes left out ...]\nbbbbb"


def test_bytes_that_are_not_utf_8_become_replacement_characters() -> None:
    assert captured(b"caf\xe9 \xff\n", 100).text() == "caf\ufffd \ufffd\n"


@pytest.mark.parametrize("limit", range(4, 24))
def test_a_cut_never_falls_inside_a_character(limit: int) -> None:
    data = ("🙂é" * 20).encode()

    for keep in ("tail", "ends"):
        text = captured(data, limit, keep).text()
        assert "\ufffd" not in text
        assert len(text.encode()) <= limit + len("\n[... 120 bytes left out ...]\n")


def test_a_tail_that_starts_in_no_character_is_kept() -> None:
    assert captured(b"a" + b"\x80" * 9, 5).text() == "\ufffd" * 5


@given(st.binary(max_size=300), st.integers(1, 40), st.integers(1, 50), st.booleans())
def test_any_bytes_give_text_that_encodes(data: bytes, limit: int, step: int, ends: bool) -> None:
    capture = captured(data, limit, "ends" if ends else "tail", step)

    capture.text().encode()
    assert capture.truncated == (len(data) > limit)
