"""Scripts: read strictly, replayed turn by turn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from runner.errors import (
    ConfigError,
    ContextOverflow,
    ModelOverloaded,
    ModelRejected,
)
from runner.work.messages import Asker, ModelReply, ModelRequest, ToolResult, UserTurn
from runner.work.models.script import ScriptModel, load_script


def script(tmp_path: Path, text: str) -> ScriptModel:
    path = tmp_path / "script.yaml"
    path.write_text(text, encoding="utf-8")
    return ScriptModel("script/script.yaml", load_script(path))


async def ask(model: ScriptModel, turn: int = 0, **who: Any) -> ModelReply:
    asker = replace(Asker(teammate="ann", agent="coder", attempt=1, turn=turn), **who)
    return await model.reply(ModelRequest(system="", turns=(UserTurn(text="go"),), asker=asker))


WHO = """
tasks:
  "1": [{text: one}]
  1/2: [{text: second attempt}]
  task_007: [{text: seven}]
agents: {coder: [{text: the coder}]}
default: [{text: anybody}]
"""


@pytest.mark.parametrize(
    ("who", "text"),
    [
        ({"task": "1"}, "one"),
        ({"task": "1", "attempt": 2}, "second attempt"),
        ({"task": "1", "attempt": 3}, "one"),
        ({"task": "7"}, "seven"),
        ({"task": "9"}, "the coder"),
        ({"task": "9", "agent": "writer"}, "anybody"),
        ({"agent": "coder"}, "the coder"),
    ],
)
async def test_turns_are_found_by_attempt_task_agent_default_in_this_order(
    tmp_path: Path, who: dict[str, Any], text: str
) -> None:
    assert (await ask(script(tmp_path, WHO), 0, **who)).text == text


async def test_a_turn_has_text_and_calls_with_ids_of_its_own_and_costs_nothing(
    tmp_path: Path,
) -> None:
    model = script(
        tmp_path, "default: [{text: hi, calls: [{ls: }, {write: {path: a, content: 'no'}}]}]"
    )

    reply = await ask(model, task="1")

    assert [(call.name, call.arguments) for call in reply.calls] == [
        ("ls", {}),
        ("write", {"path": "a", "content": "no"}),
    ]
    assert len({call.id for call in reply.calls}) == 2
    assert (reply.stop, reply.usd, model.price_usd(1, 1)) == ("tool_calls", 0.0, 0.0)


@pytest.mark.parametrize(
    ("fault", "error", "wait"),
    [
        ("overloaded", ModelOverloaded, None),
        ("rate_limited", ModelOverloaded, 1.0),
        ("context_overflow", ContextOverflow, None),
    ],
)
async def test_a_turn_that_raises_is_used_up_by_it(
    tmp_path: Path, fault: str, error: type[ModelOverloaded], wait: float | None
) -> None:
    model = script(tmp_path, f"tasks: {{1: [{{fault: {fault}}}, {{text: then}}, {{text: last}}]}}")

    with pytest.raises(error) as raised:
        await ask(model, task="1")
    assert raised.value.retry_after_s == wait
    assert (await ask(model, task="1")).text == "then"
    assert (await ask(model, 1, task="1")).text == "last"


async def test_a_cut_call_has_arguments_that_end_in_the_middle(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        "default: [{fault: cut_call},"
        " {fault: cut_call, calls: [{ls: {}}, {write: {path: a.txt}}]}]",
    )

    for turn in (0, 1):
        reply = await ask(model, turn, task="1")
        assert reply.stop == "length"
        assert reply.calls[-1].name == "write"
        assert reply.calls[-1].arguments is None
    assert reply.calls[0].arguments == {}


async def test_an_empty_turn_is_empty_and_a_hanging_one_can_be_cancelled(tmp_path: Path) -> None:
    model = script(tmp_path, "default: [{fault: empty}, {fault: hang}]")

    assert await ask(model, task="1") == ModelReply(usd=0.0)
    with anyio.move_on_after(0) as scope:
        await ask(model, 1, task="1")
    assert scope.cancelled_caught


async def test_running_out_of_turns_says_which_script_and_task(tmp_path: Path) -> None:
    model = script(tmp_path, "tasks: {1: [{text: only}]}")

    with pytest.raises(
        ModelRejected, match=r"script.yaml has 1 turn for task 1 \(attempt 1"
    ) as raised:
        await ask(model, 1, task="1")
    assert str(raised.value).endswith("; the last one should call submit_result")
    with pytest.raises(ModelRejected, match=r'has no turns for task 2 .*; add a list "2" under'):
        await ask(model, task="2")


async def test_running_out_of_turns_tells_the_error_that_led_to_it(tmp_path: Path) -> None:
    model = script(tmp_path, "default: []")
    refused = ToolResult(call_id="c", name="submit_result", text="not a number", is_error=True)
    request = ModelRequest(system="", turns=(UserTurn(results=(refused,)),), asker=Asker(task="1"))

    with pytest.raises(ModelRejected, match=r"has 0 turns .*; the last tool result was: not a "):
        await model.reply(request)


async def test_a_tool_may_go_by_a_name_that_others_have_for_it(tmp_path: Path) -> None:
    reply = await ask(script(tmp_path, "default: [{calls: [{Write: {}}, {run_command: {}}]}]"))

    assert [call.name for call in reply.calls] == ["write", "bash"]


async def test_a_message_turn_needs_no_entry(tmp_path: Path) -> None:
    reply = await ask(script(tmp_path, ""), task=None, attempt=0)

    assert not reply.calls


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("task: {}", "task: found"),
        ("tasks: [a]", "tasks: found"),
        ("tasks: {1: {text: a}}", "tasks.1: found"),
        ("tasks: {1: [hello]}", r"tasks.1\[0\]: found"),
        ("default: [{say: a}]", r"default\[0\]: found"),
        ("default: [{text: 3}]", r"default\[0\].text: found 3"),
        ("default: [{fault: fire}]", r"default\[0\].fault: found 'fire', expected one of overload"),
        ("default: [{calls: {ls: {}}}]", r"default\[0\].calls: found"),
        ("default: [{calls: [{ls: {}, read: {}}]}]", r"calls\[0\]: found"),
        ("default: [{calls: [{ls: a}]}]", r"calls\[0\].ls: found 'a', expected a mapping"),
        ("default: [{calls: [{ls: {d: 2026-01-01}}]}]", "quote dates"),
        ("default: [{calls: [{rwite: {}}]}]", r"\[0\]: found 'rwite', .*did you mean write\?"),
        ("agents: {a: [{calls: [{ls: {}}, {qqq: {}}]}]}", r"agents.a\[0\].calls\[1\]: found 'qqq'"),
        (
            "default: [{calls: [{ExitPlanMode: {}}]}]",
            r"found 'ExitPlanMode', .*plan_approval is not part of this version",
        ),
        ("a: b: c", "expected valid YAML"),
    ],
)
def test_a_wrong_script_is_refused_with_file_and_key(tmp_path: Path, text: str, where: str) -> None:
    with pytest.raises(ConfigError, match=f"script.yaml: .*{where}|script.yaml: {where}"):
        script(tmp_path, text)


RESUMED = """
tasks:
  "1": [{text: one}, {fault: overloaded}, {text: two}, {text: three}]
  "1/3": [{text: third attempt}]
"""


@pytest.mark.parametrize(
    ("attempt", "turn", "earlier", "text"),
    [
        (2, 1, ((1, 1),), "overloaded"),
        (2, 2, ((1, 2),), "three"),
        (2, 2, ((1, 1),), "three"),
        (3, 2, ((1, 2),), "third attempt"),
        (4, 3, ((1, 2), (3, 1)), "three"),
    ],
)
async def test_who_goes_on_gets_the_turn_behind_those_that_the_list_has_given(
    tmp_path: Path, attempt: int, turn: int, earlier: tuple[tuple[int, int], ...], text: str
) -> None:
    model = script(tmp_path, RESUMED)
    try:
        said = (await ask(model, turn, task="1", attempt=attempt, earlier=earlier)).text
    except ModelOverloaded as error:
        said = str(error)
    assert text in said


async def test_a_summary_is_no_turn_of_the_script(tmp_path: Path) -> None:
    model = script(tmp_path, WHO)
    assert (await ask(model, task="1", summary=True)).text == "(a script sums up nothing)"
    assert (await ask(model, task="1")).text == "one"
