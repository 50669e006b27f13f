from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.cli.event_line import event_line, is_for_people
from runner.cli.events import Printed, Tail
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
    assert len(lines) == 1 + 3
    assert lines[1].split()[1:] == ["ann", "claimed", "3"]


def test_events_of_a_task_tell_its_subject(board: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (board / ".tasks" / "task_3.json").write_text('{"id": 3, "subject": "Write the parser"}')
    assert main(["-C", str(board), "events"]) == 0
    assert "claimed           3    Write the parser" in capsys.readouterr().out


def test_a_line_between_them_tells_a_new_run_and_a_new_day_and_once_the_time_zone() -> None:
    events: list[dict[str, Any]] = [
        {"event": "run.started", "run": "r-1", "ts": "2026-01-01T12:00:00.000Z"},
        {"event": "task.added", "run": None, "ts": "2026-01-01T12:00:01.000Z"},
        {"event": "run.ended", "run": "r-1", "ts": "2026-01-03T12:00:00.000Z"},
        {"event": "run.started", "run": "r-2", "ts": "2026-01-03T12:00:00.000Z"},
    ]
    lines = [line for line in Printed({}).lines(events) if not line[0].isdigit()]
    assert lines[0].startswith("run r-1 2026-01-01 (times in ")
    assert lines[1:] == ["run r-1 2026-01-03", "run r-2 2026-01-03"]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--run", "r-2"], ["run.started"]),
        (["--run", "last"], ["run.started"]),
        (["--task", "task_3"], ["task.claimed", "task.completed"]),
        (["--task", "3", "--run", "last"], []),
    ],
)
def test_events_of_one_run_or_one_task(
    board: Path, capsys: pytest.CaptureFixture[str], options: list[str], found: list[str]
) -> None:
    started = json.loads(line("2026-01-01T11:00:00.000Z", "run.started")) | {"run": "r-2"}
    (board / ".team" / "runs" / "r-2.jsonl").write_text(json.dumps(started) + "\n")
    assert main(["-C", str(board), "events", "--json", *options]) == 0
    assert [event["event"] for event in json.loads(capsys.readouterr().out)] == found


def test_where_nothing_happened_people_are_told_so(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-C", str(board), "events", "--task", "77"]) == 0
    assert capsys.readouterr() == ("", "no events\n")


def test_a_run_that_there_was_not_is_exit_2(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("last", "r-9"):
        assert main(["-C", str(board), "events", "--run", name]) == 2
        assert "no such run on this board; the newest: none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ({"event": "teammate.working"}, False),
        ({"event": "request.decided", "status": "approved"}, False),
        ({"event": "request.decided", "status": "dropped", "reason": "old"}, True),
        ({"event": "message.sent", "type": "shutdown_request"}, False),
        ({"event": "message.sent", "to": "ann"}, True),
        ({"event": "tool.ended"}, True),
    ],
)
def test_people_are_spared_what_the_lines_around_it_say(event: dict[str, Any], told: bool) -> None:
    assert is_for_people(event) is told


def test_lines_that_are_no_events_cost_themselves_only(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = ['{"event": 5, "ts": [], "task": [1], "teammate": {}, "attempt": "x", "n": NaN}']
    odd += ['{"event": "task.added", "ts": "0001-01-01T00:00:00+14:00"}', '"text"', "[]", "7"]
    odd += ['{"event": ["message.sent"], "type": []}', '{"event": "message.sent", "type": {}}']
    with (board / ".team" / "cli.jsonl").open("ab") as stream:
        stream.write("\n".join([*odd, "[" * 100_000]).encode() + b'\n{"event": "\xff"}\n\x00\n')
    assert main(["-C", str(board), "events"]) == 0
    told = capsys.readouterr()
    assert (len([text for text in told.out.splitlines() if text[2:3] in ":-"]), told.err) == (7, "")
    assert main(["-C", str(board), "events", "--json"]) == 0
    assert "NaN" not in capsys.readouterr().out


def test_an_event_of_a_task_tells_its_subject_where_it_says_no_more() -> None:
    claimed = {"event": "task.claimed", "teammate": "ann", "task": 3, "claim": "c"}
    failed = {"event": "task.failed", "teammate": "ann", "task": 3, "error": "exit 1"}
    assert event_line(claimed, {3: "Write the parser"}).endswith(" 3    Write the parser")
    assert event_line(failed, {3: "Write the parser"}).endswith("3    exit 1")
    assert event_line(claimed, {3: "x" * 5000}).endswith(f" 3    {'x' * 119}…")


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


@pytest.mark.parametrize("more", [b"", b"later"], ids=["idle", "busy"])
def test_following_ends_when_nobody_reads_any_more(board: Path, more: bytes) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "runner", "-C", str(board), "events", "--follow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        if more:
            with (board / ".team" / "cli.jsonl").open("a") as stream:
                stream.write(line("2026-01-01T12:00:00.000Z", "task.added", task=5) * 50)
        assert (process.wait(timeout=10), process.stderr.read()) == (0, b"")


def test_a_tail_reads_a_journal_that_was_replaced_or_cut_short_from_its_start(
    tmp_path: Path,
) -> None:
    path = tmp_path / "cli.jsonl"
    path.write_text(line("t", "task.added", task=1) * 2)
    tail = Tail(path)
    assert len(list(tail.new_events())) == 2
    path.write_text(line("t", "task.added", task=2))
    assert [event["task"] for event in tail.new_events()] == [2]
    path.rename(tmp_path / "old.jsonl")
    assert list(tail.new_events()) == []
    path.write_text(line("t", "task.added", task=3) * 4)
    assert [event["task"] for event in tail.new_events()] == [3] * 4
    path.unlink()
    path.mkdir()
    assert list(tail.new_events()) == []


def test_every_journal_of_the_board_is_looked_at(board: Path) -> None:
    found = Layout(root=board, workspace=board).journals()
    assert [path.name for path in found] == ["r-1.jsonl", "cli.jsonl"]


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
            "--:--:-- ann      failed            3    no way (attempt 2)",
        ),
        (
            {"event": "message.sent", "teammate": None, "to": "ben", "type": "message"},
            "--:--:-- -        message sent           to=ben type=message",
        ),
        (
            {"event": "board.problem", "problem": {"file": "task_1.json", "message": "no JSON"}},
            "--:--:-- -        board problem          task_1.json: no JSON",
        ),
        ({"event": "run.started"}, "--:--:-- -        run started"),
        (
            {"event": "task.stale", "teammate": "ann", "task": 3, "dead_run": "run-1"},
            "--:--:-- ann      stale             3    run run-1 died while ann worked on it",
        ),
        (
            {"event": "task.retried", "task": 3, "reason": "no net", "retryAt": "some day"},
            "--:--:-- -        retried           3    no net (again from --:--:-- on)",
        ),
        (
            {"event": "tool.ended", "tool": "submit_result", "error": True, "seconds": 0.007},
            "--:--:-- -        tool ended             tool=submit_result error seconds=0.007",
        ),
        (
            {"event": "run.ended", "exit": 0, "totals": {"tasks": 2, "failed": 0, "usd": None}},
            "--:--:-- -        run ended              exit=0 tasks=2",
        ),
        (
            {"event": "task.edited", "by_hand": True, "fields": ["run", "a b"], "warnings": []},
            '--:--:-- -        edited                 by hand fields=run,"a b"',
        ),
        (
            {"event": "subagent.ended", "teammate": "ann", "subagent": "1-2", "error": "no luck"},
            "--:--:-- ann/1-2  subagent ended         no luck",
        ),
        (
            {"event": "board.problem", "file": "ann.jsonl", "message": "byte 3: no JSON"},
            "--:--:-- -        board problem          ann.jsonl: byte 3: no JSON",
        ),
    ],
)
def test_an_event_line_says_time_who_what_task_and_facts(event: dict[str, Any], shown: str) -> None:
    assert event_line(event) == shown
