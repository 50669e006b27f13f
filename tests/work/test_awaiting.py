"""Waiting for subagents in the background: mail, a stop and a refused key are heard meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import pytest

from runner.core.clock import Clock
from runner.core.settings import Limits, Settings
from runner.errors import ModelRejected
from runner.team.outcome import Done, HandedBack, Outcome
from runner.team.pulse import Pulse
from runner.testing import ScriptedModel, call, calls, make_board, running_team, say, submit
from runner.testing.model import Step
from runner.work.messages import ModelReply, ModelRequest
from tests.team.helpers import write

if TYPE_CHECKING:
    from tests.work.conftest import Stage


@pytest.fixture
def boss(stage: Stage) -> Stage:
    """Ann's agent is `coder`, who may start everybody; `helper` is there to be started."""
    stage.agent("coder", spawns="*")
    stage.agent("helper")
    return stage


def start(*names: str, background: bool = True) -> ModelReply:
    pieces = [{"assignment": name} for name in names]
    return call("task", agent="helper", tasks=pieces, background=background)


@dataclass(slots=True)
class Patient:
    """Ann's turns are those of `script`; her subagents end when she has been told `word`."""

    script: ScriptedModel
    word: str
    name: str = "scripted/patient"
    asked: anyio.Event = field(default_factory=anyio.Event)
    told: anyio.Event = field(default_factory=anyio.Event)

    async def reply(self, request: ModelRequest) -> ModelReply:
        if request.asker.subagent is not None:
            self.asked.set()
            await self.told.wait()
            return submit("found it")
        if self.word in str(request.turns[-1]):
            self.told.set()
        return await self.script.reply(request)


class Bell(Pulse):
    """`heeded` is set as soon as somebody listens to it."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.heeded = anyio.Event()

    async def wait(self, seen: int, seconds: float | None) -> None:
        self.heeded.set()
        await super().wait(seen, seconds)


async def disturbed(stage: Stage, happen: Callable[[], None], *own: Step) -> Outcome:
    """Do a task of these turns; something happens while a subagent is waited for."""
    stage.model = Patient(ScriptedModel(own), "hurry up")
    task = await stage.claim()
    stage.mate.bell = bell = Bell(stage.clock)
    outcomes: list[Outcome] = []

    async def work() -> None:
        outcomes.append(await stage.work(task))

    async with anyio.create_task_group() as group:
        group.start_soon(work)
        await bell.heeded.wait()
        bell.beat()  # nothing is there: the wait goes on
        await anyio.wait_all_tasks_blocked()
        happen()
        bell.beat()
    return outcomes[0]


@pytest.mark.parametrize("waits", [say("wait"), call("idle"), submit("early")])
async def test_mail_is_told_while_a_subagent_is_still_at_work(
    boss: Stage, waits: ModelReply
) -> None:
    own = [start("a"), waits, say("I hurry"), submit("end")]

    outcome = await disturbed(boss, lambda: boss.post.arrive("hurry up"), *own)

    assert isinstance(outcome, Done)
    assert outcome.result == "end"
    told = [line for line in boss.transcript() if line.get("mail") or line.get("subagent")]
    assert ["mail" if line.get("mail") else "result" for line in told] == ["mail", "result"]
    if waits.calls:
        said = [line["text"] for line in boss.transcript() if line["kind"] == "result"]
        assert "A message came; it follows. Subagent 1 is still at work." in said[1]


async def test_in_a_run_mail_of_the_lead_reaches_who_waits_for_a_subagent(boss: Stage) -> None:
    make_board(boss.root, [{"agent": "coder"}])
    model = Patient(ScriptedModel([start("a"), say("wait"), say("I hurry"), submit(1)]), "hurry up")
    settings = Settings(limits=Limits(poll_interval_s=0.05))
    async with running_team(
        boss.layout,
        model=model,
        members=["ann"],
        settings=settings,
        drain=True,
        home=boss.root / "home",
    ) as team:
        await model.asked.wait()
        await anyio.to_thread.run_sync(write, boss.layout, "ann", "hurry up")
        report = await team.finished()
    assert report.exit_code == 0


async def test_a_stop_does_not_wait_for_subagents_in_the_background(boss: Stage) -> None:
    def stop() -> None:
        boss.stopping = True

    outcome = await disturbed(boss, stop, start("a"), say("wait"))

    assert isinstance(outcome, HandedBack)
    assert (outcome.reason, outcome.stop_claiming) == ("stopped", False)


REFUSED = ModelRejected("401: no such key", status=401)


@pytest.mark.parametrize(
    "own",
    [
        [start("a", background=False)],
        [start("a"), say("wait")],
        [start("a"), submit("early")],
        [start("a"), call("idle"), submit("without it")],
    ],
)
async def test_a_key_refused_to_a_subagent_ends_the_claims_of_the_run(
    boss: Stage, own: list[Step]
) -> None:
    boss.model = ScriptedModel(tasks={"1": own}, agents={"helper": [REFUSED]})

    outcome = await boss.work(await boss.claim())

    assert isinstance(outcome, HandedBack)
    assert (outcome.reason, outcome.stop_claiming) == (
        "subagent 1 (helper): 401: no such key",
        True,
    )


async def test_a_key_refused_to_a_subagent_of_a_subagent_counts_as_well(boss: Stage) -> None:
    boss.agent("helper", spawns="*")
    boss.agent("deep")
    below = call("task", agent="deep", tasks=[{"assignment": "b"}])
    own = {"1": [calls(start("a", background=False), call("ls"))]}
    boss.model = ScriptedModel(tasks=own, agents={"helper": [below], "deep": [REFUSED]})

    outcome = await boss.work(await boss.claim())

    assert isinstance(outcome, HandedBack)
    assert outcome.stop_claiming
    assert "subagent 1 (helper): subagent 1-1 (deep): 401" in outcome.reason
