from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.cli.events import Tail, event_line, journals
from runner.cli.main import main
from runner.core.layout import Layout


def line(ts: str, event: str, **facts: Any) -> str:
    return json.dumps({"ts": ts, "event": event, "run": "r-1", **facts}) + "\n"


@pytest.fixture
def board(tmp_path: Path) -> Path:
    (tmp_path / ".tasks").mkdir()
    runs = tmp_path / ".team" / "runs"
    runs.mkdir(parents=True)
    (runs / "r-1.jsonl").write_text(
        line("2026-01-01T10:00:00.000Z", "task.claimed", teammate="ann", task=3, source="run")
        + "torn {\n"
        + line("2026-01-01T10:00:02.000Z", "task.completed", teammate="ann", task=3)
    )
    (tmp_path / ".team" / "cli.jsonl").write_text(
        line("2026-01-01T10:00:01.000Z", "task.added", task=4)
    )
    return tmp_path


def test_events_of_runs_and_commands_are_merged_by_time(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-C", str(board), "events", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [event["event"] for event in found] == ["task.claimed", "task.added", "task.completed"]


def test_events_are_one_line_each(board: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-C", str(board), "events"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].split()[1:] == ["ann", "claimed", "3", "source=run"]


def test_lines_that_are_no_events_cost_themselves_only(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = ['{"event": 5, "ts": [], "task": [1], "teammate": {}, "attempt": "x", "n": NaN}']
    odd += ['{"event": "task.added", "ts": "0001-01-01T00:00:00+14:00"}', '"text"', "[]", "7"]
    with (board / ".team" / "cli.jsonl").open("ab") as stream:
        stream.write("\n".join([*odd, "[" * 100_000]).encode() + b'\n{"event": "\xff"}\n\x00\n')
    assert main(["-C", str(board), "events"]) == 0
    told = capsys.readouterr()
    assert (len(told.out.splitlines()), told.err) == (5, "")
    assert main(["-C", str(board), "events", "--json"]) == 0
    assert "NaN" not in capsys.readouterr().out


def test_an_event_of_a_task_tells_its_subject_where_it_says_no_more() -> None:
    claimed = {"event": "task.claimed", "teammate": "ann", "task": 3, "claim": "c"}
    failed = {"event": "task.failed", "teammate": "ann", "task": 3, "error": "exit 1"}
    assert event_line(claimed, {3: "Write the parser"}).endswith("3    Write the parser")
    assert event_line(failed, {3: "Write the parser"}).endswith("3    exit 1")


def test_a_tail_gives_each_whole_line_once_and_waits_for_the_end_of_a_torn_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "cli.jsonl"
    tail = Tail(path)
    assert list(tail.new_events()) == []
    whole = line("t", "task.added", task=1)
    path.write_text(whole + whole[:20])
    assert [event["task"] for event in tail.new_events()] == [1]
    with path.open("a") as stream:
        stream.write(whole[20:])
    assert [event["task"] for event in tail.new_events()] == [1]
    assert list(tail.new_events()) == []


def test_a_tail_skips_damaged_lines(tmp_path: Path) -> None:
    (tmp_path / "cli.jsonl").write_text("{\n[]\n" + line("t", "task.added", task=1))
    assert [event["task"] for event in Tail(tmp_path / "cli.jsonl").new_events()] == [1]


def test_following_prints_what_is_there_and_what_comes_until_it_is_stopped(board: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "runner", "-C", str(board), "events", "--follow", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        seen = [json.loads(process.stdout.readline())["event"] for _ in range(3)]
        with (board / ".team" / "runs" / "r-2.jsonl").open("w") as stream:
            stream.write(line("2026-01-01T11:00:00.000Z", "run.started"))
        seen.append(json.loads(process.stdout.readline())["event"])
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    assert seen == ["task.claimed", "task.added", "task.completed", "run.started"]
    assert (process.returncode, err) == (130, b"")


def test_every_journal_of_the_board_is_looked_at(board: Path) -> None:
    layout = Layout(root=board, workspace=board)
    assert [path.name for path in journals(layout)] == ["r-1.jsonl", "cli.jsonl"]


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        (
            {
                "event": "task.failed",
                "teammate": "ann",
                "task": 3,
                "attempt": 2,
                "error": "no\nway",
            },
            "--:--:-- ann      failed          3    no way (attempt 2)",
        ),
        (
            {"event": "message.sent", "teammate": None, "to": "ben", "type": "message"},
            "--:--:-- -        message sent         to=ben type=message",
        ),
        (
            {"event": "board.problem", "problem": {"file": "task_1.json", "message": "no JSON"}},
            "--:--:-- -        board problem        task_1.json: no JSON",
        ),
        ({"event": "run.started"}, "--:--:-- -        run started"),
    ],
)
def test_an_event_line_says_time_who_what_task_and_facts(event: dict[str, Any], shown: str) -> None:
    assert event_line(event) == shown
