"""Subagents: what a call of the `task` tool starts, and how one works from start to result."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import anyio
import anyio.to_thread

from runner.agents.availability import blocked_agents, startable
from runner.core.failures import in_one_line
from runner.core.log import get_logger
from runner.errors import ToolError
from runner.team.outcome import Faulted, Outcome, reason
from runner.team.types import Mail, Progress, Teammate
from runner.work.admission import Equipment, Refusal
from runner.work.attempt import Attempt, Means
from runner.work.children import Child, Children
from runner.work.histories.history import History
from runner.work.histories.identity import Identity
from runner.work.loop import run_with_children
from runner.work.prompt import subagent_assignment, subagent_prompt
from runner.work.records.transcript import Transcript, subagent_transcript
from runner.work.redact import redacted, redacting
from runner.work.results.contract import ResultContract
from runner.work.roll import Slot
from runner.work.shared import Shared, open_record
from runner.work.tools.base import Toolbox
from runner.work.tools.board import CLAIM_TASK
from runner.work.tools.subagent import TASK, Order, Piece, results, started, task_tool


def with_subagents(means: Means, equipment: Equipment, shared: Shared) -> Means:
    """`means` with the `task` tool, which tells of the agents as they are at this moment."""
    agent = equipment.agent
    blocked = blocked_agents(shared.environ) | {agent.name}
    listed = startable(
        equipment.discovery.agents,
        parent=agent,
        disabled=shared.settings.disabled_agents,
        blocked=blocked,
    )
    subagents = _Subagents(means=means, equipment=equipment, shared=shared, blocked=blocked)
    offered = TASK in agent.tools and not agent.spawns.is_empty
    tool = task_tool(listed, subagents.carry_out, offered=offered)
    return replace(means, toolbox=Toolbox(tools={**means.toolbox.tools, TASK: tool}))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subagents:
    """Those that one attempt, message turn or subagent starts; `means` are its own.

    Calls side by side start theirs one after the other, so that they are numbered in order.
    """

    means: Means
    equipment: Equipment
    shared: Shared
    blocked: Collection[str]
    starting: anyio.Lock = field(default_factory=anyio.Lock)

    async def carry_out(self, order: Order) -> str:
        """Start all that one call asks for, or nothing; their results or, in the background, ids.

        Raises: ToolError, with the reason of the refusal, or with the results if all have failed.
        """
        async with self.starting:
            equipment = await self._equip(order)
            background = order.background and not equipment.agent.definition.blocking
            numbers = self.shared.roll.enlist(len(order.pieces), self.means.transcript.path)
            children = [
                self._start(piece, number, equipment, background=background)
                for piece, number in zip(order.pieces, numbers, strict=True)
            ]
        if background:
            return started(children)
        await self.means.children.all_ended(children)
        return results(children)

    async def _equip(self, order: Order) -> Equipment:
        look = partial(
            self.shared.admission.equip_subagent,
            order.agent,
            parent=self.equipment,
            schema=order.schema,
            blocked=self.blocked,
        )
        try:
            return await anyio.to_thread.run_sync(look)
        except Refusal as refusal:
            raise ToolError(str(refusal)) from refusal

    def _start(self, piece: Piece, number: int, equipment: Equipment, *, background: bool) -> Child:
        own = self.means.subagent
        child = Child(
            id=str(number) if own is None else f"{own}-{number}",
            agent=equipment.agent.name,
            transcript=subagent_transcript(self.means.transcript.path, number),
        )
        run = partial(self._see_through, child, piece, equipment)
        self.means.children.start(child, run, background=background)
        return child

    async def _see_through(self, child: Child, piece: Piece, equipment: Equipment) -> Outcome:
        """Whatever goes wrong with one becomes its outcome."""
        redact = self.shared.redact
        try:
            with redacting(redact):
                outcome = await self._work(child, piece, equipment)
        except anyio.get_cancelled_exc_class():
            self._tell_end(child, "Cancelled", "ended with who started it")
            raise
        except Exception as error:  # noqa: BLE001 - part of a tool call: a broken one costs only itself
            get_logger(__name__).exception("subagent_failed", subagent=child.id)
            outcome = Faulted(error=in_one_line(error))
        outcome = redacted(outcome, redact)
        self._tell_end(child, type(outcome).__name__, reason(outcome))
        return outcome

    def _tell_end(self, child: Child, outcome: str, why: str | None) -> None:
        self.means.teammate.emit(
            "subagent.ended",
            self.means.task,
            subagent=child.id,
            agent=child.agent,
            outcome=outcome,
            error=why,
        )

    async def _work(self, child: Child, piece: Piece, equipment: Equipment) -> Outcome:
        """From a free slot to the last line of the transcript."""
        slot, clock = self.shared.roll.slot(), self.means.teammate.clock
        async with slot, Transcript(child.transcript, clock, self.shared.redact) as transcript:
            contract = ResultContract(equipment.schema)
            means = self._means(child, equipment, transcript, contract, slot)
            await open_record(means, equipment, subagent=child.id)
            attempt = Attempt(means=means, history=History())
            child.spent = attempt.usage
            await attempt.assign(subagent_assignment(piece, contract, means.workspace.root))
            outcome = await run_with_children(attempt)
            await transcript.write("end", outcome=type(outcome).__name__, why=reason(outcome))
            return outcome

    def _means(
        self,
        child: Child,
        equipment: Equipment,
        transcript: Transcript,
        contract: ResultContract,
        slot: Slot,
    ) -> Means:
        """The means of who starts it, with the rights, history and result of its own agent."""
        own = self.means
        who = Identity.of(own.teammate)
        means = self.shared.means(
            equipment,
            own.task,
            _without_mail(own.teammate),
            own.leftovers,
            transcript,
            system=subagent_prompt(equipment.agent, who, own.task, child.id),
            contract=contract,
            children=Children(slot.lent),
            deadline=own.deadline,
            subagent=child.id,
        )
        tools = {name: tool for name, tool in means.toolbox.tools.items() if tool is not CLAIM_TASK}
        return with_subagents(replace(means, toolbox=Toolbox(tools=tools)), equipment, self.shared)


def _without_mail(teammate: Teammate) -> Teammate:
    """The teammate as its subagents see it: what they do is not what it is at, nor its mail."""
    return replace(teammate, post=_Outbox(teammate), progress=Progress(), memory={})


class _Outbox:
    """The post of a subagent: it writes in the teammate's name and never takes its mail."""

    def __init__(self, teammate: Teammate) -> None:
        self._teammate = teammate

    async def receive(self) -> Mail | None:
        return None

    async def send(self, to: str, text: str, type_: str, extra: Mapping[str, Any]) -> str:
        return await self._teammate.send(to, text, type_, **extra)

    def members(self) -> tuple[str, ...]:
        return self._teammate.members()
