"""Calls that take longer than any call may, with a model that is asked over HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.team.outcome import Done
from runner.testing import call, calls, submit
from runner.work.histories.history import INTERRUPTED
from runner.work.loop import run_attempt
from runner.work.messages import ToolSpec
from runner.work.processes.leftovers import Leftovers
from runner.work.records.transcript import Transcript, task_transcript
from runner.work.tools.base import Tool, Toolbox, ToolContext, ToolFunction, parameters
from tests.work.conftest import Stage

if TYPE_CHECKING:
    from tests.wire.conftest import Line


async def test_a_call_that_is_cancelled_at_its_limit_has_its_result_in_its_place_before_the_mail(
    line: Line,
) -> None:
    stage = Stage(line.root)

    async def breaks(arguments: object, context: ToolContext) -> str:
        stage.post.arrive("be quick")
        raise KeyError("inside")

    slow = call("bash", command="echo $$ > begun; sleep 30")
    turn = calls(call("bash", command="echo fine"), call("breaks"), slow, call("ls"))
    async with line.opened(turn, submit("ok")) as model:
        task = await stage.claim()
        ours = stage.agent_work(model)
        equipment = ours.admission.equip(task, stage.mate.claimant)
        async with (
            Transcript(task_transcript(stage.layout, task), stage.clock, str) as transcript,
            Leftovers(stage.mate.processes) as leftovers,
        ):
            means = ours.means(equipment, task, stage.mate, leftovers, transcript)
            box = Toolbox(tools={**means.toolbox.tools, "breaks": tool(breaks)})
            attempt = await ours.begin(replace(means, toolbox=box, call_limit_s=0.5), equipment)
            outcome = await run_attempt(attempt, 15)

    assert isinstance(outcome, Done)
    fine, broken, cut, looked = line.results()
    assert ("fine" in fine, "KeyError" in broken, "begun" in looked) == (True, True, True)
    assert cut == f"{INTERRUPTED}: it took longer than 0.5 s"
    assert "be quick" in line.told().text
    line.assert_all_valid()


def tool(run: ToolFunction) -> Tool:
    spec = ToolSpec(name=run.__name__, description="", parameters=parameters())
    return Tool(spec=spec, run=run)
