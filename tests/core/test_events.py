from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.core.events import Journal, merged, read_journal
from runner.testing.clock import FakeClock


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "run.jsonl", run="r-1", clock=FakeClock())


def test_a_line_has_time_event_run_and_facts_in_that_order(journal: Journal) -> None:
    journal.emit("task.claimed", teammate="ann", task="7", attempt=2, claim="c", text="Größe")
    [line] = journal.path.read_text(encoding="utf-8").splitlines()
    value = json.loads(line)
    assert list(value)[:6] == ["ts", "event", "run", "teammate", "task", "attempt"]
    assert (value["run"], value["task"], value["text"]) == ("r-1", "7", "Größe")
    moment = datetime.fromisoformat(value["ts"])
    assert moment.tzinfo == UTC


def test_a_listener_hears_every_later_line(journal: Journal) -> None:
    heard: list[object] = []
    journal.emit("run.started")
    journal.subscribe(lambda line: heard.append(line["event"]))
    journal.emit("run.ended", exit=0)
    assert heard == ["run.ended"]


def test_an_event_that_is_not_in_the_list_is_a_mistake_of_the_caller(journal: Journal) -> None:
    with pytest.raises(AssertionError, match=r"task\.eaten"):
        journal.emit("task.eaten")
    assert not journal.path.exists()


def test_damaged_lines_cost_themselves_only(journal: Journal) -> None:
    journal.emit("run.started")
    with journal.path.open("ab") as stream:
        stream.write(b'{"event": "torn')
    journal.emit("run.ended")
    with journal.path.open("ab") as stream:
        stream.write(b"[]\n\x00\x00\n\xff\n")
    assert [line["event"] for line in read_journal(journal.path)] == ["run.started", "run.ended"]


def test_journals_are_merged_by_time_and_a_missing_one_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{"ts": "3", "event": "c"}\n{"ts": "1", "event": "a"}\n')
    (tmp_path / "b").write_text('{"ts": "2", "event": "b"}\n')
    lines = merged([tmp_path / "a", tmp_path / "b", tmp_path / "none"])
    assert [line["event"] for line in lines] == ["a", "b", "c"]


def test_a_line_whose_facts_json_cannot_hold_is_there_without_them(journal: Journal) -> None:
    journal.emit("turn.ended", task=1, cost=float("nan"))
    (line,) = read_journal(journal.path)
    assert (line["event"], line["task"], "cost" in line) == ("turn.ended", 1, False)


def test_what_happens_before_there_is_a_folder_comes_with_the_first_line_after(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path / "runs" / "r.jsonl", run="r", clock=FakeClock())
    journal.emit("run.started")
    assert not journal.path.exists()
    journal.path.parent.mkdir()
    journal.emit("run.ended")
    assert [line["event"] for line in read_journal(journal.path)] == ["run.started", "run.ended"]
