"""Empty things over the wire: none of them goes out, and none passes for a result."""

from __future__ import annotations

import pytest

from runner.testing import Altered, call, calls, say, submit, think
from runner.testing.wires.base import Json
from runner.work.messages import AssistantTurn, ModelReply
from tests.wire.conftest import Line


def with_empty_text(message: Json) -> None:
    """An empty text beside the call, as the APIs send it now and then."""
    if "content" in message:
        message["content"].insert(-1, {"type": "text", "text": ""})
    elif "choices" in message:
        message["choices"][0]["message"]["content"] = ""
    else:
        part = {"type": "output_text", "text": "", "annotations": []}
        said = {"type": "message", "id": "msg_e", "role": "assistant", "status": "completed"}
        message["output"].insert(-1, {**said, "content": [part]})


async def test_an_empty_text_beside_a_call_is_not_sent_again(line: Line) -> None:
    report = await line.run(Altered(call("ls"), with_empty_text), submit("ok"))

    assert report.exit_code == 0
    line.assert_all_valid()


async def test_an_empty_text_between_thinking_and_a_call_is_not_sent_again(line: Line) -> None:
    line.thinks()

    report = await line.run(
        Altered(think("what is there?", call("ls")), with_empty_text), submit("ok"), agent="thinker"
    )

    assert report.exit_code == 0
    line.assert_all_valid()


@pytest.mark.parametrize("text", ["", "\n ", "\N{NO-BREAK SPACE}"], ids=repr)
async def test_a_turn_that_says_nothing_is_reminded_of_the_task_and_leaves_no_trace(
    line: Line, text: str
) -> None:
    report = await line.run(say(text), say(text), submit("ok"))

    assert report.exit_code == 0
    assert len(line.requests) == 3
    assert [turn for turn in line.requests[-1].turns if isinstance(turn, AssistantTurn)] == [
        turn for turn in line.requests[0].turns if isinstance(turn, AssistantTurn)
    ]
    line.assert_all_valid()


async def test_an_empty_turn_is_no_result(line: Line) -> None:
    report = await line.run(*[say("")] * 4)

    assert (report.exit_code, line.task()["status"]) == (1, "failed")
    assert "without calling submit_result" in line.task()["error"]
    line.assert_all_valid()


async def test_a_task_without_description_and_an_agent_without_a_prompt_can_be_worked_on(
    line: Line,
) -> None:
    line.agent("silent", body="")

    report = await line.run(submit("ok"), description="", agent="silent")

    assert report.exit_code == 0
    line.assert_all_valid()


async def test_thinking_alone_is_no_result_and_a_result_after_it_counts(line: Line) -> None:
    line.thinks()

    report = await line.run(
        think("I have it all.", ModelReply()), submit("ok"), agent="thinker", description="Do it"
    )

    assert (report.exit_code, line.task()["result"]) == (0, "ok")
    line.assert_all_valid()


async def test_blank_text_beside_calls_is_dropped_and_the_calls_run(line: Line) -> None:
    report = await line.run(calls(say("\n\n"), call("ls"), call("ls")), submit("ok"))

    assert (report.exit_code, len(line.told(1).results)) == (0, 2)
    line.assert_all_valid()
