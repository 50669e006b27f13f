from __future__ import annotations

import json
from typing import Any

from tests.cli.conftest import Cli

LINES: list[dict[str, Any]] = [
    {"kind": "start", "teammate": "ann", "agent": "task", "model": "script/x"},
    {"kind": "user", "text": "Do\nit"},
    {"kind": "assistant", "text": "", "calls": []},
    {"kind": "call", "name": "bash", "arguments": {"command": "make"}},
    {"kind": "result", "name": "bash", "text": "no\x1b[2J " + "x" * 999, "isError": True},
    {"kind": "end", "outcome": "Failed", "why": "no luck"},
]


def transcript(cli: Cli, *attempts: int | str) -> None:
    folder = cli.layout.transcripts / "task_1"
    folder.mkdir(parents=True)
    text = "".join(json.dumps({"ts": "x", **line}) + "\n" for line in LINES)
    for attempt in attempts:
        (folder / f"{attempt}.jsonl").write_text(text + "torn {\n[]\n")


def test_the_last_attempt_is_told_line_by_line(cli: Cli) -> None:
    cli.board({"id": 1})
    transcript(cli, 2, 10)
    first, *lines = cli("tasks", "log", "1").out.splitlines()
    assert first.startswith("attempt 10 at task 1, from /")
    assert [line.split(maxsplit=2)[1:] for line in lines[:3]] == [
        ["start", "ann, agent task, model script/x"],
        ["user", "Do it"],
        ["call", 'bash {"command": "make"}'],
    ]
    assert " result     bash error: no [2J xxx" in lines[3]
    assert lines[3].endswith("x…")
    assert lines[4].endswith("end        Failed: no luck")


def test_one_attempt_is_given_whole_as_json(cli: Cli) -> None:
    cli.board({"id": 1})
    transcript(cli, 1, 2)
    told = cli("tasks", "log", "1", "--attempt", "1", "--json").json
    assert [line["kind"] for line in told] == [line["kind"] for line in LINES]


def test_a_task_without_such_a_transcript_says_which_there_are(cli: Cli) -> None:
    cli.board({"id": 1}, {"id": 2})
    transcript(cli, 1, 2)
    assert "no agent worked on it; `runner tasks show 2` tells" in cli("tasks", "log", "2").err
    missing = cli("tasks", "log", "1", "--attempt", "7")
    assert (missing.code, "there are those of attempt 1, 2" in missing.err) == (1, True)


def test_the_record_of_a_subagent_is_named_and_shown(cli: Cli) -> None:
    cli.board({"id": 1})
    transcript(cli, 1, "1-10", "1-2", "1-2-1", "1-x", 2)
    told = cli("tasks", "log", "1", "--attempt", "1").out
    assert told.splitlines()[-1] == "subagents: 2, 2-1, 10; --subagent ID shows one"
    shown = cli("tasks", "log", "1", "--attempt", "1", "--subagent", "2-1")
    assert shown.out.startswith("subagent 2-1 of attempt 1 at task 1, from /")
    assert "subagents:" not in shown.out
    missing = cli("tasks", "log", "1", "--attempt", "1", "--subagent", "3")
    assert (missing.code, "has no subagent '3': there are 2, 2-1, 10" in missing.err) == (1, True)
    none = cli("tasks", "log", "1", "--subagent", "1")
    assert "it started none" in none.err


ANEW: list[dict[str, Any]] = [
    {"kind": "identity", "turns": [{"text": "You are"}, {"text": "I am"}]},
    {"kind": "resumed", "attempt": 1, "turns": [{"text": "old"}]},
    {"kind": "compacted", "turns": [{"text": "in short\nall is well"}, 7, {"text": ""}]},
    {"kind": "compacted", "turns": 7},
]


def test_what_makes_the_history_anew_is_told_by_its_length(cli: Cli) -> None:
    cli.board({"id": 1})
    transcript(cli, 1)
    file = cli.layout.transcripts / "task_1" / "1.jsonl"
    file.write_text("".join(json.dumps({"ts": "x", **line}) + "\n" for line in ANEW))
    lines = cli("tasks", "log", "1").out.splitlines()[1:]
    assert [line.split(maxsplit=1)[1] for line in lines] == [
        "identity   history of 2 messages",
        "resumed    goes on from attempt 1, history of 1 message",
        "compacted  history of 3 messages",
        "compacted  history of 0 messages",
    ]
    whole = cli("tasks", "show", "1", "--transcript").out
    assert "compacted  history of 3 messages\n\n    in short\n    all is well\n" in whole
    assert "You are" not in whole


def test_a_task_can_be_shown_with_all_that_was_said_and_done(cli: Cli) -> None:
    cli.board({"id": 1}, {"id": 2}, {"id": "a b"})
    transcript(cli, 2, 10, "2-1")
    shown = cli("tasks", "show", "1", "--transcript").out
    heads = [line for line in shown.splitlines() if " at task 1, from /" in line]
    assert [line.split(", from")[0] for line in heads] == [
        "attempt 2 at task 1",
        "subagent 1 of attempt 2 at task 1",
        "attempt 10 at task 1",
    ]
    assert shown.count("x" * 999) == 3
    assert "user       Do\n    it\n" in shown
    told = cli("tasks", "show", "1", "--transcript", "--json").json["transcripts"]
    assert [(one["attempt"], one["subagent"]) for one in told] == [(2, None), (2, "1"), (10, None)]
    assert [line["kind"] for line in told[0]["lines"]] == [line["kind"] for line in LINES]
    assert "transcripts" not in cli("tasks", "show", "1", "--json").json
    for without in ("2", "a b"):
        assert cli("tasks", "show", without, "--transcript", "--json").json["transcripts"] == []
