"""Findings that are reported one by one, and the result that has them all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner.errors import ModelUnavailable
from runner.team.outcome import Done, Failed
from runner.testing import ScriptedModel, call, calls, submit
from runner.work.messages import ModelReply
from runner.work.records.findings import findings_in
from runner.work.results.contract import LEFT_OUT, NULL_DATA

if TYPE_CHECKING:
    from tests.work.conftest import Stage

FIRST = {"title": "It loses data", "body": "Whenever ...", "priority": "P0"}
SECOND = {"title": "It is slow", "body": "With many ...", "priority": "P2"}
REVIEW = {"verdict": "request_changes", "summary": "Not yet."}


def report(finding: dict[str, str], **more: Any) -> ModelReply:
    return call("report_finding", **finding, **more)


async def test_what_the_reviewer_reports_stands_in_its_result(stage: Stage) -> None:
    (stage.root / "a.py").write_text("1\n", encoding="utf-8")
    place = {"file": "./a.py", "line_start": 1}
    refused = report(SECOND, file="missing.py")

    outcome = await stage.do(
        calls(report(FIRST, **place), refused), report(SECOND), submit(REVIEW), agent="reviewer"
    )

    assert isinstance(outcome, Done)
    first = {**FIRST, "file": "a.py", "line_start": 1, "line_end": 1}
    assert outcome.result == {**REVIEW, "findings": [first, SECOND]}


async def test_a_review_without_findings_says_so(stage: Stage) -> None:
    outcome = await stage.do(submit(REVIEW), agent="reviewer")

    assert isinstance(outcome, Done)
    assert outcome.result == {**REVIEW, "findings": []}


async def test_findings_of_the_result_itself_are_kept_and_none_is_there_twice(
    stage: Stage,
) -> None:
    own = {**REVIEW, "findings": [FIRST, {**SECOND, "title": "Another one"}]}

    outcome = await stage.do(report(FIRST), submit(own), agent="reviewer")

    assert isinstance(outcome, Done)
    assert [one["title"] for one in outcome.result["findings"]] == ["It loses data", "Another one"]


async def test_a_bad_review_is_told_what_is_wrong_with_it_and_keeps_its_findings(
    stage: Stage,
) -> None:
    outcome = await stage.do(
        report(FIRST), submit({**REVIEW, "verdict": "maybe"}), submit(REVIEW), agent="reviewer"
    )

    assert isinstance(outcome, Done)
    assert outcome.result["findings"] == [FIRST]
    said = [line["text"] for line in stage.transcript() if line["kind"] == "result"]
    assert '$.data.verdict: "maybe" is not one of' in said[1]


@pytest.mark.parametrize(
    ("data", "result", "warnings"),
    [
        ("All of it.", {"summary": "All of it.", "findings": [FIRST]}, ()),
        (None, {"findings": [FIRST]}, (NULL_DATA,)),
        ({"findings": "odd"}, {"findings": [FIRST]}, ()),
        ({"findings": ["odd"]}, {"findings": [FIRST, "odd"]}, ()),
    ],
)
async def test_without_a_schema_findings_stand_beside_whatever_is_handed_in(
    stage: Stage, data: Any, result: Any, warnings: tuple[str, ...]
) -> None:
    outcome = await stage.do(report(FIRST), submit(data))

    assert isinstance(outcome, Done)
    assert (outcome.result, outcome.usage.warnings) == (result, warnings)


async def test_a_schema_without_a_place_for_them_leaves_them_out_and_says_so(
    stage: Stage,
) -> None:
    schema = {"properties": {"ok": {"type": "boolean"}}}

    outcome = await stage.do(report(FIRST), submit("no"), submit({"ok": False}), schema=schema)

    assert isinstance(outcome, Done)
    assert outcome.result == {"ok": False}
    assert outcome.usage.warnings == (LEFT_OUT.format(1),)


async def test_findings_of_a_subagent_are_its_own(stage: Stage) -> None:
    stage.agent("coder", spawns="*")
    start = call("task", agent="reviewer", tasks=[{"assignment": "review"}])
    stage.model = ScriptedModel(
        tasks={"1": [report(SECOND), start, submit("end")]},
        agents={"reviewer": [report(FIRST), submit(REVIEW)]},
    )

    outcome = await stage.work(await stage.claim())

    assert isinstance(outcome, Done)
    assert outcome.result == {"summary": "end", "findings": [SECOND]}
    said = [line["text"] for line in stage.transcript() if line["kind"] == "result"]
    assert FIRST["title"] in said[1]
    assert SECOND["title"] not in said[1]


async def test_an_attempt_that_goes_on_keeps_what_the_one_before_has_found(stage: Stage) -> None:
    task = await stage.claim(agent="reviewer")
    await stage.work(task, report(FIRST), ModelUnavailable("gone"))
    await stage.mate.board.release(task.fence, reason="gone")

    outcome = await stage.work(
        await stage.mate.board.claim(1, stage.mate.claimant), report(SECOND), submit(REVIEW)
    )

    assert isinstance(outcome, Done)
    assert outcome.result["findings"] == [FIRST, SECOND]


def test_the_transcript_of_an_attempt_before_may_be_gone(tmp_path: Path) -> None:
    lines = (
        {"kind": "resumed", "file": str(tmp_path / "1.jsonl")},
        {"kind": "call", "id": "a", "name": "report_finding", "arguments": FIRST},
        {"kind": "result", "id": "a", "name": "report_finding", "isError": False},
    )
    (tmp_path / "2.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    assert findings_in(tmp_path / "2.jsonl", tmp_path) == [FIRST]


async def test_an_agent_without_the_tool_reports_nothing(stage: Stage) -> None:
    stage.agent("coder", tools="read")

    outcome = await stage.do(report(FIRST), call("submit_result", error="no"))

    assert isinstance(outcome, Failed)
    said = [line["isError"] for line in stage.transcript() if line["kind"] == "result"]
    assert said == [True, False]
