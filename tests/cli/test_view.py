from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console, RenderableType

from runner.cli.view import Picture, Row, counts, live

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
        "team": "linkcheck",
        "seconds": 3723.0,
        "rows": EIGHT,
        "counts": counts(["completed"] * 3 + ["ready", "blocked", "failed", "in_progress"]),
        **changes,
    }
    return Picture(**values)


def test_eight_teammates_fit_80_columns_with_one_line_each() -> None:
    lines = drawn(live(picture(), 80))
    assert max(len(line) for line in lines) <= 80
    assert sum("teammate-" in line for line in lines) == 8
    assert any("…" in line for line in lines), "what does not fit ends in an ellipsis"


@pytest.mark.parametrize("width", [10, 20, 40])
def test_a_narrow_live_view_has_a_line_for_each_teammate(width: int) -> None:
    lines = drawn(live(picture(), width), width)
    assert max(len(line) for line in lines) <= width
    if width == 40:
        rows = [line for line in lines if "teammate-" in line]
        assert len(rows) == 8
        assert all(f"{number} Write" in row for number, row in enumerate(rows))


def test_a_small_terminal_keeps_the_counts_and_those_at_work_with_their_tasks() -> None:
    rows = [*EIGHT, *EIGHT]
    lines = drawn(live(picture(rows=rows), 60, 14), 60)
    assert len(lines) <= 13
    assert max(len(line) for line in lines) <= 60
    assert lines[-1].startswith("3 done  1 running  1 ready  1 blocked  1 failed  of 7")
    assert lines[-3] == "and 8 more"
    assert sum(" working " in line for line in lines) == 8
    assert "role" not in lines[1]


def test_the_live_view_says_how_long_it_runs_and_how_long_an_end_may_take() -> None:
    assert drawn(live(picture(), 80))[0] == "linkcheck: running for 1:02:03"
    ending = drawn(live(picture(ends_in=7.4), 80))
    assert ending[0] == "linkcheck: ending, at most 7 s more"
    assert "\x1b[31m" not in "\n".join(ending)


def test_the_bar_can_be_read_without_colours() -> None:
    bar = drawn(live(picture(), 70), 70)[-2]
    assert bar == "█" * 30 + "▄" * 10 + "░" * 30


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
