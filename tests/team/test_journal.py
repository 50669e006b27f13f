"""The journal of a run when the disk does not play along."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.core.events import Journal, read_journal
from runner.testing.clock import FakeClock


def journal_in(folder: Path) -> Journal:
    return Journal(folder / "r1.jsonl", run="r1", clock=FakeClock())


def test_lines_wait_until_the_folder_is_there(tmp_path: Path) -> None:
    journal = journal_in(tmp_path / "runs")
    journal.emit("board.problem", kind="early")
    assert not journal.path.parent.exists()
    journal.path.parent.mkdir()
    journal.emit("run.started")
    journal.emit("run.ended")
    names = [line["event"] for line in read_journal(journal.path)]
    assert names == ["board.problem", "run.started", "run.ended"]


def test_a_line_that_cannot_be_written_is_told_to_listeners_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal, told = journal_in(tmp_path), list[str]()
    journal.path.mkdir()
    journal.subscribe(lambda line: told.append(line["event"]))
    journal.emit("run.started")
    assert told == ["run.started"]
    assert "journal_line_lost" in capsys.readouterr().err
