from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import pytest
from rich.console import Console, RenderableType

from runner.cli.view import (
    Picture,
    Row,
    counts,
    duration,
    final_table,
    leftovers,
    live,
    verdict,
)

EIGHT = [
    Row(
        name=f"teammate-number-{number}",
        role="documentation-writer",
        state="working" if number % 2 else "idle",
        task=f"{number} Write the parser of the whole configuration language \x1b[31m",
        turn=number,
        tool="submit_result",
        seconds=number * 700.0,
    )
    for number in range(8)
]


def drawn(renderable: RenderableType, width: int = 80) -> list[str]:
    console = Console(width=width, file=io.StringIO(), record=True, color_system="truecolor")
    console.print(renderable)
    return console.export_text().splitlines()


def picture(**changes: Any) -> Picture:
    values: dict[str, Any] = {
        "board": "/home/someone/projects/a/very/long/path/that/goes/on/and/on/.tasks",
        "workspace": "/home/someone/projects/a/very/long/path/that/goes/on/and/on",
        "run": "r-0123456789ab",
        "team": "linkcheck",
        "seconds": 3723.0,
        "rows": EIGHT,
        "counts": counts(["completed"] * 3 + ["ready", "blocked", "failed", "in_progress"]),
        "events": ["12:00:01 alice    claimed   3 Write the parser " + "x" * 100],
        **changes,
    }
    return Picture(**values)


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


def test_eight_teammates_fit_80_columns_with_one_line_each() -> None:
    lines = drawn(live(picture(), 80))
    assert max(len(line) for line in lines) <= 80
    assert sum("teammate-" in line for line in lines) == 8
    assert len(lines) <= 24, "header, eight teammates, bar and events fit a small terminal"
    assert any("…" in line for line in lines), "what does not fit ends in an ellipsis"


def test_the_live_view_names_board_workspace_run_team_and_counts() -> None:
    text = "\n".join(drawn(live(picture(), 160), 160))
    for word in (".tasks", "works in /home/someone", "r-0123456789ab", "linkcheck", "1:02:03"):
        assert word in text
    assert "3 done  1 running  1 ready  1 blocked  1 failed  of 7" in text
    assert "\x1b[31m" not in text


def test_a_teammate_line_has_state_task_turn_tool_and_time() -> None:
    row = Row(
        name="ada", role="coder", state="working", task="3 Go", turn=4, tool="bash", seconds=9
    )
    [line] = [text for text in drawn(live(picture(rows=[row]), 80)) if "ada" in text]
    assert line.split() == ["ada", "coder", "working", "3", "Go", "4", "bash", "9.0s"]


def test_an_empty_board_draws_an_empty_bar() -> None:
    assert "of 0" in "\n".join(drawn(live(picture(rows=[], counts=counts([])), 80)))


def test_the_bar_groups_all_states_of_a_board() -> None:
    states = ["ready", "assigned", "blocked", "waiting", "in_progress", "stale", "unclaimable"]
    assert counts([*states, "completed", "failed", "deleted"]) == {
        "done": 1,
        "running": 2,
        "ready": 2,
        "blocked": 3,
        "failed": 1,
    }


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.04, "0.0s"), (59.9, "59.9s"), (125, "2:05"), (3723, "1:02:03")]
)
def test_durations_are_short(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_the_final_table_has_a_line_for_each_task_and_fits_80_columns() -> None:
    tasks = [
        task(id=1, status="completed", state="completed", owner="alice", attempts=1, seconds=2.25),
        task(
            id="release-notes", status="failed", state="failed", error="verify failed\n" + "x" * 99
        ),
        task(id=3, reason="blocked by release-notes (failed)"),
    ]
    lines = drawn(final_table(tasks, {1: "Write the parser", 3: "Ship it to " + "y" * 99}))
    assert max(len(line) for line in lines) <= 80
    text = "\n".join(lines)
    for word in ("Write the pars", "completed", "alice", "2.2s", "release-no", "failed", "blocked"):
        assert word in text
    assert len(lines) == 4, "a heading and three tasks"


def test_the_final_table_has_no_reason_column_when_there_is_no_reason() -> None:
    [heading, _] = drawn(final_table([task(status="completed")], {}))
    assert heading.split() == ["task", "subject", "status", "by", "tries", "time"]


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
        (0, "all done: 1 of 1 tasks completed (exit 0)"),
        (3, "something is left undone: 1 of 1 tasks completed (exit 3)"),
        (143, "stopped by a request to end (SIGTERM): 1 of 1 tasks completed (exit 143)"),
    ],
)
def test_the_verdict_says_what_the_exit_code_means(code: int, said: str) -> None:
    assert verdict({"exit": code, "tasks": [task(status="completed"), task(status="deleted")]}) == (
        said
    )


def test_an_empty_board_has_nothing_to_do() -> None:
    assert verdict({"exit": 0, "tasks": []}) == "nothing to do: 0 of 0 tasks completed (exit 0)"
