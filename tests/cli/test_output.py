from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator

import pytest

from runner.cli import output, tables


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextlib.contextmanager
def narrow() -> Iterator[io.BytesIO]:
    """Standard output that can encode ASCII only."""
    data = io.BytesIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(data, encoding="ascii")):
        output.prepare()
        yield data


def test_text_that_standard_output_cannot_encode_is_replaced() -> None:
    with narrow() as data:
        output.say("rocket 🚀 and \udcff")
        assert data.getvalue() == b"rocket ? and ?\n"


def test_json_on_a_narrow_stream_is_escaped_and_loses_nothing() -> None:
    with narrow() as data:
        output.print_json({"subject": "rocket 🚀"})
        assert json.loads(data.getvalue()) == {"subject": "rocket 🚀"}


def test_json_is_readable_where_the_stream_can_hold_it(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"subject": "Größe \ud83d"})
    out = capsys.readouterr().out
    assert "Größe" in out
    assert json.loads(out) == {"subject": "Größe \N{REPLACEMENT CHARACTER}"}


def test_json_never_holds_what_json_has_no_number_for(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"a": [float("nan"), 1.5, (float("-inf"), "NaN")]})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5, [None, "NaN"]]}
    assert output.json_text({"ü": float("inf")}) == '{"\\u00fc": null}'


def test_an_error_with_foreign_text_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output.print_error("no agent a\x1b[2J\x9b\nsee above", code=1, as_json=False)
    assert capsys.readouterr().err == "runner: no agent a [2J \nsee above\n"


def test_a_line_of_foreign_text_cannot_steer_the_terminal() -> None:
    assert output.one_line("a\n\tb \x1b[2J\x9b c\u2028d") == "a b [2J c d"
    assert output.one_line("z\u202eb\u2066c") == "z b c"
    assert output.one_line(None) == ""
    assert output.spaced_line("  ├─ a\x1b[2J  ") == "  ├─ a [2J"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.04, "0.0s"), (59.9, "59.9s"), (125, "2:05"), (3723, "1:02:03")]
)
def test_durations_are_short(seconds: float, shown: str) -> None:
    assert output.duration(seconds) == shown


def test_a_table_in_a_pipe_is_aligned_lines(capsys: pytest.CaptureFixture[str]) -> None:
    tables.print_table(("id", "state", "subject"), [(1, "ready", "Go"), (10, None, "A\nB")])
    assert capsys.readouterr().out.splitlines() == [
        "ID  STATE  SUBJECT",
        "1   ready  Go",
        "10         A B",
    ]


def test_a_table_on_a_terminal_takes_no_text_for_markup() -> None:
    with contextlib.redirect_stdout(Terminal()) as terminal:
        tables.print_table(("id", "subject"), [(1, "[red]not markup[/red] :smile:")])
    assert "[red]not markup[/red] :smile:" in terminal.getvalue()


def test_an_error_is_told_on_standard_error_and_as_one_json_document(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert output.print_error("no board", code=2, as_json=True) == 2
    told = capsys.readouterr()
    assert json.loads(told.out) == {"error": "no board", "exit": 2}
    assert told.err == "runner: no board\n"


def test_a_reader_that_left_is_known_before_and_after_the_next_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert not output.reader_left()
    capsys.readouterr()
    reading, writing = os.pipe()
    with open(writing, "w", encoding="utf-8") as pipe, contextlib.redirect_stdout(pipe):  # noqa: PTH123
        assert not output.reader_left()
        os.close(reading)
        assert output.reader_left()
        output.say("to nobody")
        assert output.reader_left()
