"""The calls of a turn: what is counted, what runs side by side, what is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from runner.core.settings import Limits
from runner.team.outcome import Done, Failed, Outcome
from runner.testing import ScriptedModel, call, calls, say, submit
from runner.testing.model import Step
from runner.work.attempt import Attempt
from runner.work.calls import AT_ONCE
from runner.work.histories.history import INTERRUPTED
from runner.work.loop import run_attempt
from runner.work.messages import AssistantTurn, ModelReply, ToolSpec
from runner.work.processes.leftovers import Leftovers
from runner.work.records.transcript import Transcript, task_transcript
from runner.work.results.contract import NO_SUBMIT
from runner.work.tools.base import Tool, Toolbox, ToolContext, parameters
from tests.work.conftest import told

if TYPE_CHECKING:
    from tests.work.conftest import Stage


def tool(name: str, run: Callable[[], Awaitable[str]], *, read_only: bool = True) -> Tool:
    async def function(arguments: object, context: ToolContext) -> str:
        return await run()

    spec = ToolSpec(name=name, description="", parameters=parameters())
    return Tool(spec=spec, run=function, read_only=read_only)


async def work_with(
    stage: Stage, tools: Sequence[Tool], *steps: Step, timeout_s: float = 10, **means: Any
) -> tuple[Outcome, Attempt]:
    """One attempt of these turns by an agent that has only these tools."""
    task = await stage.claim()
    stage.model = ScriptedModel(steps)
    ours = stage.agent_work(stage.model)
    equipment = ours.admission.equip(task, stage.mate.claimant)
    box = Toolbox(tools={one.spec.name: one for one in tools})
    path = task_transcript(stage.layout, task)
    async with (
        Transcript(path, stage.clock, str) as transcript,
        Leftovers(stage.mate.processes) as leftovers,
    ):
        usual = ours.means(equipment, task, stage.mate, leftovers, transcript)
        attempt = await ours.begin(replace(usual, toolbox=box, **means), equipment)
        return await run_attempt(attempt, timeout_s), attempt


def results_of(model: ScriptedModel, request: int) -> list[tuple[str, bool]]:
    """The results that one of the teammate's own requests ends with."""
    own = [one for one in model.requests if one.asker.subagent is None]
    last: Any = own[request].turns[-1]
    return [(result.text, result.is_error) for result in last.results]


async def test_every_call_counts_also_those_that_failed_or_did_not_run(stage: Stage) -> None:
    outcome = await stage.do(
        calls(call("ls"), call("no_such_tool"), call("read", path="missing.txt")),
        call("idle"),
        calls(submit(1), call("ls")),
    )

    assert outcome.usage.tool_calls == 6


async def test_neighbours_that_only_look_run_side_by_side_and_answer_in_order(
    stage: Stage,
) -> None:
    second_ran = anyio.Event()

    async def first() -> str:
        await second_ran.wait()
        return "one"

    async def second() -> str:
        second_ran.set()
        return "two"

    looks = [tool("first", first), tool("second", second)]
    outcome, _ = await work_with(stage, looks, calls(call("first"), call("second")), submit(1))

    assert isinstance(outcome, Done)
    assert results_of(stage.scripted, 1) == [("one", False), ("two", False)]
    kinds = [line["kind"] for line in stage.transcript() if line["kind"] in ("call", "result")]
    assert kinds == ["call", "call", "result", "result", "call", "result"]
    assert stage.mate.progress.tool is None


async def test_no_more_calls_run_at_once_than_there_are_places(stage: Stage) -> None:
    now = most = 0

    async def look() -> str:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await anyio.wait_all_tasks_blocked()
        now -= 1
        return "seen"

    turn = calls(*[call("look")] * (AT_ONCE + 2))
    await work_with(stage, [tool("look", look)], turn, submit(1))

    assert most == AT_ONCE
    assert results_of(stage.scripted, 1) == [("seen", False)] * (AT_ONCE + 2)


async def test_what_may_write_runs_alone_and_in_its_place(stage: Stage) -> None:
    told: list[str] = []

    def noting(name: str, *, read_only: bool) -> Tool:
        async def run() -> str:
            told.append(f"{name} begins")
            await anyio.wait_all_tasks_blocked()
            told.append(f"{name} ends")
            return name

        return tool(name, run, read_only=read_only)

    tools = [noting("look", read_only=True), noting("write", read_only=False)]
    turn = calls(call("look"), call("write"), call("write"), call("look"))
    await work_with(stage, tools, turn, submit(1))

    order = ["look", "write", "write", "look"]
    assert told == [f"{name} {what}" for name in order for what in ("begins", "ends")]


async def test_of_calls_side_by_side_one_may_break_and_one_take_too_long(stage: Stage) -> None:
    async def breaks() -> str:
        raise KeyError("inside")

    async def fine() -> str:
        return "fine"

    tools = [tool("hangs", forever), tool("breaks", breaks), tool("fine", fine)]
    turn = calls(call("hangs"), call("breaks"), call("fine"))
    await work_with(stage, tools, turn, submit(1), call_limit_s=0.05)

    assert results_of(stage.scripted, 1) == [
        (f"{INTERRUPTED}: it took longer than 0.05 s", True),
        ("breaks failed unexpectedly: KeyError: 'inside'", True),
        ("fine", False),
    ]


async def forever() -> str:
    await anyio.sleep_forever()
    raise AssertionError("unreachable: it sleeps for ever")


async def test_calls_side_by_side_that_are_cancelled_all_have_a_result(stage: Stage) -> None:
    tools = [tool("hangs", forever)]

    _, attempt = await work_with(stage, tools, calls(call("hangs"), call("hangs")), timeout_s=0.1)
    attempt.history.settle()

    last: Any = attempt.history.turns[-1]
    assert [one.text for one in last.results] == [INTERRUPTED, INTERRUPTED]


async def test_a_fault_of_the_runner_among_them_comes_out_as_itself(stage: Stage) -> None:
    async def breaks() -> str:
        raise KeyError("inside")

    def redact(text: str) -> str:
        if "failed unexpectedly" in text:
            raise OSError("the disk is full")
        return text

    turn = calls(call("breaks"), call("breaks"))
    with pytest.raises(OSError, match="the disk is full"):
        await work_with(stage, [tool("breaks", breaks)], turn, redact=redact)


def start(agent: str, assignment: str) -> ModelReply:
    return call("task", agent=agent, tasks=[{"assignment": assignment}])


@pytest.mark.parametrize("slots", [1, 4])
async def test_calls_of_task_run_side_by_side_and_are_numbered_in_order(
    stage: Stage, slots: int
) -> None:
    for agent in ("coder", "helper"):
        stage.agent(agent, spawns="*")
    stage.agent("deep")
    stage.settings = replace(stage.settings, limits=Limits(max_parallel_subagents=slots))
    below = calls(start("deep", "x"), start("deep", "y"))
    stage.model = model = ScriptedModel(
        tasks={"1": [calls(start("helper", "a"), start("helper", "b")), submit("end")]},
        agents={"helper": [below, below, submit(1), submit(2)], "deep": [submit(3)] * 4},
    )

    outcome = await stage.work(await stage.claim())

    assert isinstance(outcome, Done)
    model.assert_exhausted()
    names = [text.split(":")[0] for text, _ in results_of(model, 1)]
    assert names == ["subagent 1 (helper)", "subagent 2 (helper)"]


# What a model may do instead of a proper call


@pytest.mark.parametrize(
    ("text", "said"), [("I will not\n do that", ": I will not do that"), ("", " to answer")]
)
async def test_a_refusal_of_the_model_fails_the_task_with_its_words(
    stage: Stage, text: str, said: str
) -> None:
    outcome = await stage.do(replace(call("ls"), text=text, stop="refusal"))

    assert isinstance(outcome, Failed)
    assert outcome.error == f"the model refused{said}"
    assert len(stage.scripted.requests) == 1
    assert [line["isError"] for line in stage.transcript() if line["kind"] == "result"] == [True]


async def test_calls_under_an_unknown_stop_reason_are_run(stage: Stage) -> None:
    outcome = await stage.do(replace(call("ls"), stop="other"), replace(submit(1), stop="other"))

    assert isinstance(outcome, Done)


async def test_a_stop_for_an_unknown_reason_is_reminded_of_the_open_task(stage: Stage) -> None:
    await stage.do(say("hm", stop="other"), submit(1))

    assert "reminder 1 of 3" in told(stage.scripted)
    assert stage.scripted.requests[1].tool_choice == "required"


async def test_a_model_that_gives_no_call_though_one_is_required_is_bounded(
    stage: Stage,
) -> None:
    outcome = await stage.do(*[say("done!")] * 4)

    assert isinstance(outcome, Failed)
    assert outcome.error == NO_SUBMIT
    choices = [request.tool_choice for request in stage.scripted.requests]
    assert choices == ["auto", "required", "required", "required"]


async def test_text_before_a_call_stays_with_it(stage: Stage) -> None:
    await stage.do(replace(call("ls"), text="First I look."), submit(1))

    said = stage.scripted.requests[1].turns[-2]
    assert isinstance(said, AssistantTurn)
    assert (said.text, len(said.calls)) == ("First I look.", 1)
