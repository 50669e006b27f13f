"""Results over the wire that are never right, or right at the second try."""

from __future__ import annotations

from typing import Any

import pytest

from runner.testing import call, say, submit, think
from runner.testing.model import Step
from tests.wire.conftest import Line

SCHEMA = {
    "type": "object",
    "properties": {
        "verdict": {"enum": ["approve", "reject"]},
        "review": {"type": "object", "properties": {"lines": {"type": "integer"}}},
    },
    "required": ["verdict", "review"],
    "additionalProperties": False,
}
GOOD = {"verdict": "approve", "review": {"lines": 3}}


async def test_a_result_that_is_never_there_fails_the_task_with_the_last_complaint(
    line: Line,
) -> None:
    report = await line.run(*[call("submit_result")] * 6, schema=SCHEMA)

    assert (report.exit_code, len(line.requests)) == (1, 3)
    assert "$.data: missing" in line.task()["error"]
    line.assert_all_valid()


async def test_fields_on_the_wrong_level_are_named_and_the_shape_is_shown(line: Line) -> None:
    wrong = call("submit_result", verdict="approve", review={"lines": 3})

    report = await line.run(wrong, submit(GOOD), schema=SCHEMA)

    assert (report.exit_code, line.task()["result"]) == (0, GOOD)
    said = line.results(1)[0]
    assert "verdict" in said
    assert "lines" in said
    line.assert_all_valid()


async def test_one_field_that_breaks_the_schema_is_named_with_its_path(line: Line) -> None:
    wrong = {"verdict": "approve", "review": {"lines": "three"}}

    report = await line.run(submit(wrong), submit(GOOD), schema=SCHEMA)

    assert (report.exit_code, line.task()["result"]) == (0, GOOD)
    assert "$.data.review.lines" in line.results(1)[0]
    line.assert_all_valid()


async def test_saying_that_it_is_done_is_reminded_and_then_forced(line: Line) -> None:
    report = await line.run(say("All done."), submit(GOOD), schema=SCHEMA)

    assert (report.exit_code, line.task()["result"]) == (0, GOOD)
    choice: Any = line.server.asked[1].body["tool_choice"]
    assert choice == ({"type": "any"} if line.form == "anthropic" else "required")
    line.assert_all_valid()


async def test_who_never_submits_fails_with_the_words_of_the_contract(line: Line) -> None:
    await line.run(*[say("All done.")] * 6)

    assert line.task()["error"] == (
        "SYSTEM WARNING: Subagent exited without calling submit_result tool after 3 reminders."
    )
    line.assert_all_valid()


@pytest.mark.parametrize("schema", [None, SCHEMA, {"properties": {"a": {"type": "string"}}}])
async def test_the_tool_for_the_result_has_a_valid_schema_of_an_object(
    line: Line, schema: dict[str, Any] | None
) -> None:
    task = {} if schema is None else {"schema": schema}
    await line.run(call("submit_result", error="not possible"), **task)

    assert line.task()["error"] == "not possible"
    line.assert_all_valid()


async def test_whoever_waits_for_a_subagent_is_told_at_once_that_its_result_is_never_right(
    line: Line,
) -> None:
    line.agent("boss", spawns="helper", tools="task", output=None)
    line.agent("helper", output={"properties": {"lines": {"type": "int32"}}})
    steps: list[Step] = [
        call("task", agent="helper", tasks=[{"assignment": "count"}]),
        *[submit({"lines": "many"})] * 3,
        submit("told"),
    ]

    report = await line.run(*steps, agent="boss")

    assert (report.exit_code, line.task()["result"]) == (0, "told")
    assert "lines" in line.results()[0]
    line.assert_all_valid()


async def test_a_result_with_thinking_before_it_counts(line: Line) -> None:
    line.thinks()

    report = await line.run(
        think("First a look.", call("ls")), think("Enough.", submit("ok")), agent="thinker"
    )

    assert (report.exit_code, line.task()["result"]) == (0, "ok")
    line.assert_all_valid()
