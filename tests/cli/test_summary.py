from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from typing import Any

import pytest
from rich.text import Text

from runner.cli.summary import leftovers, print_summary, verdict


def task(**changes: Any) -> Mapping[str, Any]:
    return {
        "id": 1,
        "status": "pending",
        "state": "blocked",
        "owner": None,
        "attempts": 0,
        "seconds": None,
        "error": None,
        "reason": None,
    } | changes


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


TASKS = [
    task(id=1, status="completed", state="completed", owner="alice", attempts=1, seconds=2.25),
    task(id="release", status="failed", state="failed", error="verify failed\nexit 7"),
    task(id=3, reason="blocked by release (failed)"),
    task(id=4, status="deleted"),
]
REPORT = {"exit": 1, "tasks": TASKS}
SUBJECTS = {1: "Write the parser", "release": "Ship\tit"}


def test_the_summary_is_a_table_the_leftovers_the_notes_and_the_verdict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_summary(REPORT | {"notes": ["the time limit\nof 3 s was reached"]}, SUBJECTS)
    assert capsys.readouterr().out.splitlines() == [
        "TASK     STATUS     BY     TRIES  TIME  SUBJECT",
        "1        completed  alice  1      2.2s  Write the parser",
        "release  failed                         Ship it",
        "3        blocked",
        "release Ship it (failed): verify failed exit 7",
        "3  (blocked): blocked by release (failed)",
        "the time limit of 3 s was reached",
        "something failed: 1 of 3 tasks completed (exit 1)",
    ]


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        ({}, None),
        ({"turns": 1, "toolCalls": 2, "usd": 0.0}, "used: 1 turn, 2 calls"),
        ({"turns": 3, "inputTokens": 5, "usd": 0.0}, "used: 3 turns, 0 calls, 5 tokens in, 0 out"),
        (
            {"turns": 3, "inputTokens": 5, "outputTokens": 1, "usd": None},
            "used: 3 turns, 0 calls, 5 tokens in, 1 out, price unknown",
        ),
        (
            {"turns": 3, "inputTokens": 5e6, "outputTokens": 1, "usd": 12.345},
            "used: 3 turns, 0 calls, 5,000,000 tokens in, 1 out, $12.35",
        ),
    ],
)
def test_the_summary_tells_what_models_were_used_for(
    usage: dict[str, Any], said: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    print_summary(REPORT | {"totals": usage}, SUBJECTS)
    *_, before, _ = capsys.readouterr().out.splitlines()
    assert before == said or (said is None and not before.startswith("used"))


def test_on_a_terminal_the_summary_has_the_same_words_and_colours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    with contextlib.redirect_stdout(Terminal()) as terminal:
        print_summary(REPORT, {1: "Write the parser " + "x" * 99})
    text = terminal.getvalue()
    for word in ("task", "completed", "alice", "2.2s", "Write the parser", "release", "blocked"):
        assert word in text
    assert "\x1b[32mcompleted" in text
    assert text.splitlines()[-1] == "something failed: 1 of 3 tasks completed (exit 1)"


@pytest.mark.parametrize("width", [10, 20, 40, 59])
def test_on_a_narrow_terminal_each_row_has_its_id_its_status_and_a_shortened_subject(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    with contextlib.redirect_stdout(Terminal()) as terminal:
        print_summary(REPORT, {1: "Write the parser of the configuration language " + "x" * 99})
    table = Text.from_ansi(terminal.getvalue()).plain.splitlines()[:6]
    assert max(map(len, table)) <= width
    if width >= 40:
        [first] = [line for line in table if line.split()[:2] == ["1", "completed"]]
        assert "Write the parse" in first
        assert first.rstrip().endswith("…")
        assert any(line.split()[:2] == ["release", "failed"] for line in table)
        assert len([line for line in table if line.strip()]) == 5


def test_a_board_without_tasks_has_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_summary({"exit": 0, "tasks": []}, {})
    assert capsys.readouterr().out == "nothing to do: 0 of 0 tasks completed (exit 0)\n"


def test_every_task_left_undone_is_listed_with_its_whole_reason() -> None:
    tasks = [
        task(id=1, status="completed"),
        task(id=2, status="deleted"),
        task(id=3, reason="waits for a cycle: 3 -> 4 -> 3"),
        task(id=4, status="failed", error="exit 7 of make\nlast line"),
        task(id=5, status=None, state="unclaimable"),
    ]
    assert leftovers(tasks, {3: "Ship", 4: "Build", 5: "Odd"}) == [
        "3 Ship (blocked): waits for a cycle: 3 -> 4 -> 3",
        "4 Build (failed): exit 7 of make last line",
        "5 Odd (unclaimable): no reason given",
    ]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (0, "all done: 1 of 1 task completed (exit 0)"),
        (3, "something is left undone: 1 of 1 task completed (exit 3)"),
        (143, "stopped by a request to end (SIGTERM): 1 of 1 task completed (exit 143)"),
    ],
)
def test_the_verdict_says_what_the_exit_code_means(code: int, said: str) -> None:
    assert verdict({"exit": code, "tasks": [task(status="completed"), task(status="deleted")]}) == (
        said
    )
