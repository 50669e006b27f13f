"""The public fake model."""

from __future__ import annotations

from typing import Any

import pytest

from runner.testing import ScriptedModel, call, calls, give_up, say, submit
from runner.testing.model import ScriptExhausted
from runner.work.messages import Asker, ModelReply, ModelRequest, ToolResult, UserTurn


async def ask(model: ScriptedModel, **who: Any) -> ModelReply:
    asker = Asker(**who)
    return await model.reply(ModelRequest(system="", turns=(UserTurn(text="go"),), asker=asker))


async def test_the_attempt_goes_before_the_task_before_the_agent_before_everybody() -> None:
    model = ScriptedModel(
        [say("anybody")],
        tasks={"1": [say("one")], "1/2": [say("second")]},
        agents={"coder": [say("coder")]},
    )

    said = [
        (await ask(model, task="1", attempt=2, agent="coder")).text,
        (await ask(model, task="1", attempt=1, agent="coder")).text,
        (await ask(model, task="2", attempt=1, agent="coder")).text,
        (await ask(model, task="2", attempt=1, agent="other")).text,
    ]

    assert said == ["second", "one", "coder", "anybody"]
    model.assert_exhausted()
    assert len(model.requests_of(1)) == 2


async def test_a_call_beyond_the_script_fails_and_is_told_again_at_the_end() -> None:
    model = ScriptedModel([say("one")])
    await ask(model)

    with pytest.raises(ScriptExhausted, match=r"turn 2 of 'turns' and has 1 turn$"):
        await ask(model)
    with pytest.raises(AssertionError, match="turn 2 of 'turns'"):
        model.assert_exhausted()


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (ToolResult(call_id="c", name="write", text="no such folder", is_error=True), True),
        (ToolResult(call_id="c", name="write", text="x" * 10_000, is_error=True), True),
        (ToolResult(call_id="c", name="write", text="written"), False),
    ],
)
async def test_what_led_to_a_call_beyond_the_script_is_told(result: ToolResult, told: bool) -> None:
    request = ModelRequest(system="", turns=(UserTurn(results=(result,)),))

    with pytest.raises(ScriptExhausted) as raised:
        await ScriptedModel([]).reply(request)

    cause = f"has 0 turns; the last tool result was: {result.text[:400]}"
    assert (cause in str(raised.value)) == told
    assert len(str(raised.value)) < 600


async def test_leftover_turns_fail_at_the_end() -> None:
    with pytest.raises(AssertionError, match="task 1: 2 of 2 turns not used"):
        ScriptedModel(tasks={"1": [say("a"), say("b")]}).assert_exhausted()


async def test_an_exception_in_the_script_is_raised() -> None:
    with pytest.raises(OSError, match="cut"):
        await ask(ScriptedModel([OSError("cut")]))


def test_turns_are_easily_made() -> None:
    both = calls(say("two at once"), call("ls"), submit({"n": 1}))

    assert both.text == "two at once"
    assert [one.name for one in both.calls] == ["ls", "submit_result"]
    assert len({one.id for one in both.calls}) == 2
    assert give_up("no").calls[0].arguments == {"error": "no"}
    assert ScriptedModel().price_usd(1, 1) == 0
