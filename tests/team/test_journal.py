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
    assert "journal_line_waits" in capsys.readouterr().err


def test_lines_that_the_disk_refused_come_with_the_first_that_it_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = journal_in(tmp_path)
    journal.emit("run.started")
    journal.path.rename(tmp_path / "aside")
    journal.path.mkdir()
    journal.emit("task.claimed", task=1)
    journal.emit("task.completed", task=1)
    assert capsys.readouterr().err.count("journal_line_waits") == 1
    journal.path.rmdir()
    (tmp_path / "aside").rename(journal.path)
    journal.emit("run.ended")
    names = [line["event"] for line in read_journal(journal.path)]
    assert names == ["run.started", "task.claimed", "task.completed", "run.ended"]


def test_of_the_lines_that_wait_for_the_disk_the_newest_are_kept(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    journal.path.mkdir()
    for number in range(1010):
        journal.emit("turn.ended", turn=number)
    journal.path.rmdir()
    journal.emit("run.ended")
    lines = list(read_journal(journal.path))
    assert [line.get("turn") for line in lines[:2]] == [10, 11]
    assert (len(lines), lines[-1]["event"]) == (1001, "run.ended")
