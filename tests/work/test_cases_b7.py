"""Field case B7: a task asks for an agent that is not there, or cannot do it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from runner.core.events import read_journal
from runner.core.settings import MemberSpec, Settings
from runner.team.report import Report, TaskRow
from runner.testing import FakeClock, ScriptedModel, call, give_up, make_board, running_team, submit
from runner.testing.model import Step
from runner.work.run import run_team

if TYPE_CHECKING:
    from tests.work.conftest import Stage

SOLO = Settings(members=(MemberSpec(name="ann"),))
WRITES = call("write", path="a.txt", content="A")


async def run(stage: Stage, model: ScriptedModel, *tasks: dict[str, Any]) -> Report:
    make_board(stage.root, tasks)
    return await run_team(
        stage.root, settings=SOLO, model=model, home=stage.root / "home", run_id="r1"
    )


def file(stage: Stage, task_id: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((stage.layout.tasks / f"task_{task_id}.json").read_bytes())
    return found


def row(report: Report, task_id: int) -> TaskRow:
    return next(row for row in report.tasks if row.id == task_id)


@pytest.mark.parametrize(
    ("agent", "near"),
    [
        ("no-such-agent", ""),
        ("Reviewer", "; near: reviewer"),
        ("reviewer\n", "; near: reviewer"),
        (" plan", "; near: plan"),
    ],
)
async def test_a_task_for_an_agent_that_is_not_there_is_left_as_it_was_with_the_reason(
    stage: Stage, agent: str, near: str
) -> None:
    model = ScriptedModel()
    report = await run(stage, model, {"id": 1, "agent": agent})

    left = row(report, 1)
    assert left.reason == (
        f'Unknown agent "{agent}". '
        f"Available: explore, plan, designer, reviewer, task, quick_task{near}"
    )
    assert (report.exit_code, left.state, left.verdict) == (3, "unclaimable", "undone")
    assert (left.attempts, left.owner, model.requests) == (0, None, [])
    assert file(stage, 1) == {"id": 1, "subject": "Task 1", "status": "pending", "agent": agent}


async def test_it_is_not_claimed_and_given_back_again_and_again(stage: Stage) -> None:
    clock = FakeClock()
    make_board(stage.root, [{"id": 1, "agent": "no-such-agent"}, {"id": 2, "agent": "Reviewer"}])
    async with running_team(
        stage.layout,
        model=ScriptedModel(),
        settings=SOLO,
        clock=clock,
        home=stage.root / "home",
        run_id="r1",
    ) as team:
        await clock.sleepers(1)
        await clock.advance(60)
        report = await team.finished()

    assert [one.state for one in report.tasks] == ["unclaimable", "unclaimable"]
    told = [line["event"] for line in read_journal(stage.layout.runs / "r1.jsonl")]
    assert not {"task.claimed", "task.released"} & set(told)


async def test_it_is_done_as_soon_as_the_agent_is_there(stage: Stage) -> None:
    stage.agent("builder")
    model = ScriptedModel(
        tasks={"1": [write_agent("late"), submit("made")], "2": [submit("done by late")]}
    )
    report = await run(
        stage, model, {"id": 1, "agent": "builder"}, {"id": 2, "agent": "late", "blockedBy": [1]}
    )

    assert report.exit_code == 0
    assert row(report, 2).agent == "late"


def write_agent(name: str) -> Step:
    text = f"---\\nname: {name}\\ndescription: d\\n---\\nWork.\\n"
    command = f"mkdir -p .xcsh/agents && printf %b '{text}' > .xcsh/agents/{name}.md"
    return call("bash", command=command)


@pytest.mark.parametrize(
    ("last", "error"),
    [
        ([give_up("I can only read")], "I can only read"),
        ([submit("written")] * 4, "test -f a.txt"),
    ],
    ids=["says so", "claims that it is done"],
)
async def test_an_agent_that_can_only_read_ends_a_change_with_a_stated_failure(
    stage: Stage, last: list[Step], error: str
) -> None:
    stage.agent("reader", tools="Read")
    model = ScriptedModel([WRITES, *last])
    report = await run(stage, model, {"id": 3, "agent": "reader", "verify": ["test -f a.txt"]})

    failed = row(report, 3)
    assert (failed.status, report.exit_code) == ("failed", 1)
    assert error in str(failed.error)
    assert not (stage.root / "a.txt").exists()
    assert "write" not in {tool.name for tool in model.requests[0].tools}
