from __future__ import annotations

import contextlib
import io

import pytest
from rich.text import Text

from runner.cli.tables import fitted, print_table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [40, 80, 240])
def test_a_row_is_one_line_and_what_names_it_stays_whole(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    row = ("release-2", "in_progress", "worker-12", "Write " * 12, "blocked by " * 8)
    with contextlib.redirect_stdout(Terminal()) as terminal:
        print_table(
            ("id", "state", "owner", "subject", "reason"),
            [row],
            spare=("owner",),
            long=("subject", "reason"),
        )
    plain = Text.from_ansi(terminal.getvalue()).plain
    [line] = [text for text in plain.splitlines() if "release-2" in text]
    assert len(line) <= width
    assert "in_progress" in line
    assert ("worker-12" in line) == (width == 240)
    assert line.rstrip().endswith("…") == (width < 240)


def test_a_long_column_that_wraps_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    with contextlib.redirect_stdout(Terminal()) as terminal:
        print_table(
            ("kind", "message"), [("cycle", "one two three four five six seven " * 2)], wrap=True
        )
    assert terminal.getvalue().split().count("seven") == 2


def test_short_texts_leave_their_room_to_the_long_ones() -> None:
    wanted = {"id": 2, "subject": 10, "reason": 99}
    assert fitted(wanted, (), ("subject", "reason"), 80) == {"id": 2, "subject": 10, "reason": 60}


def test_a_very_long_name_is_cut_and_a_long_text_stretches_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [("i" * 5000, "s" * 5000, "x"), ("1", "short", "y")]
    print_table(("id", "subject", "reason"), rows, long=("subject", "reason"))
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["ID", "SUBJECT", "REASON"]
    assert first == f"{'i' * 63}…  {'s' * 5000}  x"
    assert len(second) < 150
