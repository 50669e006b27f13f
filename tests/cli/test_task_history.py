"""`runner tasks show` tells how each attempt went."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Cli


def write_lines(path: Path, *lines: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("torn {\n" + "".join(json.dumps(line) + "\n" for line in lines))


def at(second: int) -> str:
    return f"2026-03-01T12:00:{second:02}.000Z"


def journal(cli: Cli) -> None:
    about = {"task": 1, "run": "r1", "teammate": "ann"}
    write_lines(
        cli.layout.runs / "r1.jsonl",
        {"ts": at(1), "event": "task.claimed", **about, "attempt": 1},
        {"ts": at(1), "event": "agent.resolved", **about, "attempt": 1, "agent": "task"},
        {"ts": at(4), "event": "task.retried", **about, "attempt": 1, "reason": "cut\noff"},
        {"ts": at(5), "event": "task.claimed", **about, "task": 11, "attempt": 1},
    )
    write_lines(
        cli.layout.cli_journal,
        {"ts": at(6), "event": "task.claimed", "task": "1", "teammate": "zoe", "attempt": 2},
    )


def test_the_journals_of_all_runs_tell_the_attempts(cli: Cli) -> None:
    cli.board({"id": 1, "attempt": 2, "status": "completed", "finishedAt": at(9)}, {"id": 2})
    journal(cli)
    lines = cli("tasks", "show", "1").out.splitlines()
    table = lines[lines.index("") + 1 :]
    assert [line.split(maxsplit=6) for line in table] == [
        ["ATTEMPT", "OUTCOME", "TEAMMATE", "RUN", "AGENT", "TOOK", "REASON"],
        ["1", "retried", "ann", "r1", "task", "3.0s", "cut off"],
        ["2", "completed", "zoe", "3.0s"],
    ]
    assert "ATTEMPT" not in cli("tasks", "show", "2").out


def test_the_data_has_every_fact_of_each_attempt(cli: Cli) -> None:
    cli.board({"id": 1, "attempt": 1})
    journal(cli)
    cli.layout.cli_journal.unlink()
    transcript = cli.layout.transcripts / "task_1" / "1.jsonl"
    write_lines(transcript, {"kind": "start", "model": "script/x", "agent": "other"})
    [told] = cli("tasks", "show", "1", "--json").json["attempts"]
    assert told == {
        "attempt": 1,
        "run": "r1",
        "teammate": "ann",
        "agent": "task",
        "model": None,
        "began": at(1),
        "ended": at(4),
        "seconds": 3.0,
        "outcome": "retried",
        "reason": "cut\noff",
        "transcript": str(transcript),
    }


def test_transcripts_tell_what_the_journals_lack(cli: Cli) -> None:
    cli.board({"id": 1, "attempt": 3})
    folder = cli.layout.transcripts / "task_1"
    start = {"kind": "start", "teammate": "ann", "agent": "task", "model": "m", "ts": at(1)}
    write_lines(folder / "1.jsonl", start, {"kind": "end", "outcome": "Done", "ts": at(3)})
    odd_end = {"kind": "end", "outcome": "Odd", "why": "x"}
    write_lines(folder / "2.jsonl", start, {"kind": "user", "text": "Do it"}, odd_end)
    write_lines(folder / "2-1.jsonl", start)
    (folder / "5.jsonl").mkdir()
    first, second, third = cli("tasks", "show", "1", "--json").json["attempts"]
    assert (first["outcome"], first["seconds"], first["model"]) == ("completed", 2.0, "m")
    assert (second["outcome"], second["reason"], second["agent"]) == (None, "x", "task")
    assert (third["attempt"], third["transcript"]) == (3, None)
    assert "not recorded" in cli("tasks", "show", "1").out


def test_an_id_that_is_no_path_and_a_journal_that_cannot_be_read_cost_nothing(cli: Cli) -> None:
    (cli.layout.tasks / "task_x.json").write_text('{"id": "../x", "subject": "s"}')
    (cli.layout.runs / "r9.jsonl").mkdir(parents=True)
    assert cli("tasks", "show", "../x", "--json").json["attempts"] == []


def test_a_run_from_start_to_end_is_one_attempt(cli: Cli) -> None:
    cli.board({"id": 1, "run": "exit 3"})
    cli("run", "--drain", "--members", "1")
    [told] = cli("tasks", "show", "1", "--json").json["attempts"]
    assert (told["attempt"], told["outcome"], told["teammate"]) == (1, "failed", "alice")
    assert "exit 3" in told["reason"] or "3" in told["reason"]
    cli("tasks", "retry", "1")
    cli("tasks", "claim", "--owner", "lead", "1")
    outcomes = [one["outcome"] for one in cli("tasks", "show", "1", "--json").json["attempts"]]
    assert outcomes == ["failed", "in_progress"]
