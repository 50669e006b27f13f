"""The work of a teammate: a task or mail goes to the engine that can do it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio.to_thread

from runner.board.task import Task
from runner.core.layout import Layout
from runner.core.settings import Settings
from runner.team.outcome import HandedBack, LimitReached, Outcome, reason
from runner.team.types import Assignment, Mail, Teammate
from runner.work.admission import Admission, Equipment, Refusal
from runner.work.attempt import Attempt, Means
from runner.work.checkout import Checkout
from runner.work.children import Children
from runner.work.command_engine import run_command_task
from runner.work.deadline import Deadline
from runner.work.histories.history import History
from runner.work.histories.identity import Identity, with_identity
from runner.work.histories.turns import turns_as_json
from runner.work.ledger import Ledger
from runner.work.loop import run_attempt
from runner.work.messages import Model
from runner.work.models import Models
from runner.work.processes.leftovers import Leftovers
from runner.work.prompt import assignment, system_prompt
from runner.work.records.carry import keep, recall
from runner.work.records.resume import look_back, take_up
from runner.work.records.transcript import Transcript, message_transcript, task_transcript
from runner.work.redact import Redactor, redacted, redacting
from runner.work.results.contract import ResultContract
from runner.work.roll import Roll
from runner.work.shared import Shared, open_record
from runner.work.subagents import with_subagents


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWork:
    """A `Work`: called with an assignment and a teammate. One instance serves a whole run."""

    shared: Shared

    @property
    def admission(self) -> Admission:
        return self.shared.admission

    async def aclose(self) -> None:
        """Close the connections to the providers of models."""
        await self.shared.models.aclose()

    async def __call__(self, assigned: Assignment, teammate: Teammate) -> Outcome:
        redact = self.shared.redact
        with redacting(redact):
            return redacted(await self._work(assigned, teammate), redact)

    async def _work(self, assigned: Assignment, teammate: Teammate) -> Outcome:
        task = assigned if isinstance(assigned, Task) else None
        if task is not None and task.run is not None:
            return await self._run_command(task, teammate)
        try:
            equipment = await anyio.to_thread.run_sync(
                self.admission.equip, task, teammate.claimant
            )
        except Refusal as refusal:
            return HandedBack(reason=str(refusal))
        path, redact = self._transcript_path(task, teammate), self.shared.redact
        async with (
            Transcript(path, teammate.clock, redact) as transcript,
            Leftovers(teammate.processes) as leftovers,
        ):
            means = self.means(equipment, task, teammate, leftovers, transcript)
            attempt = await self.begin(means, equipment)
            teammate.progress.spent = attempt.usage
            try:
                return await self._see_through(attempt, assigned)
            finally:
                keep(means, attempt.history)
                teammate.progress.turn = None

    async def _see_through(self, attempt: Attempt, assigned: Assignment) -> Outcome:
        """From the first request to the last line of the transcript."""
        if isinstance(assigned, Mail):
            await attempt.tell_mail(assigned)
        task = attempt.means.task
        timeout_s = (task.timeout_s if task else None) or self.shared.settings.limits.timeout_s
        outcome = await run_attempt(attempt, timeout_s)
        limit = {"limit": outcome.limit} if isinstance(outcome, LimitReached) else {}
        await attempt.means.transcript.write(
            "end", outcome=type(outcome).__name__, why=reason(outcome), **limit
        )
        return outcome

    def _transcript_path(self, task: Task | None, teammate: Teammate) -> Path:
        if task is not None:
            return task_transcript(self.shared.layout, task)
        return message_transcript(self.shared.layout, teammate.name, teammate.run)

    async def _run_command(self, task: Task, teammate: Teammate) -> Outcome:
        shared = self.shared
        return await run_command_task(
            task, teammate, shared.layout.workspace, shared.settings.limits, shared.checkout
        )

    def means(
        self,
        equipment: Equipment,
        task: Task | None,
        teammate: Teammate,
        leftovers: Leftovers,
        transcript: Transcript,
    ) -> Means:
        """What this agent works with on this task, or in a message turn."""
        means = self.shared.means(
            equipment,
            task,
            teammate,
            leftovers,
            transcript,
            system=system_prompt(equipment.agent, Identity.of(teammate), task),
            contract=ResultContract(equipment.schema) if task else None,
            children=Children(),
            deadline=Deadline(teammate.clock),
        )
        return with_subagents(means, equipment, self.shared)

    async def begin(self, means: Means, equipment: Equipment) -> Attempt:
        """An attempt whose history holds all that goes before the first request.

        That is what an earlier attempt or the last task has left, the identity, the assignment.
        """
        past = await anyio.to_thread.run_sync(look_back, self.shared.layout, means)
        if past.resumed is not None:
            await open_record(means, equipment, carried=0)
            attempt = await take_up(means, past.resumed)
        else:
            attempt = await self._begin_anew(means, equipment)
        if means.task is not None and means.contract is not None:
            wording = partial(
                assignment,
                contract=means.contract,
                workspace=means.workspace.root,
                earlier=past.words,
            )
            await attempt.assign(wording(means.task), again=wording)
        return attempt

    async def _begin_anew(self, means: Means, equipment: Equipment) -> Attempt:
        """With the history of the last task, if that is carried on, and the identity if short."""
        carried = recall(means, self.shared.settings)
        history = carried.history if carried else History()
        await open_record(
            means,
            equipment,
            carried=len(history),
            carriedFrom=str(carried.transcript) if carried else None,
            carriedBytes=carried.size if carried else None,
        )
        known = with_identity(history.turns, Identity.of(means.teammate)) if means.task else ()
        if len(known) > len(history):
            means.emit("identity.injected", messages=len(history))
            await means.transcript.write("identity", turns=turns_as_json(known))
            history = History(known)
        return Attempt(means=means, history=history)


def agent_work(
    layout: Layout,
    settings: Settings,
    *,
    model: Model | None = None,
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> AgentWork:
    """The work of a run; its `admission` says who may begin what.

    `model` serves every agent, whatever they ask for; without it models are chosen from the
    settings. `home` is the home directory whose agents count, by default this user's.
    """
    environ = os.environ if environ is None else environ
    models = Models(settings, base_dir=layout.root, given=model, environ=environ)
    return AgentWork(
        shared=Shared(
            layout=layout,
            settings=settings,
            models=models,
            admission=Admission(layout, settings, models, home=home),
            ledger=Ledger(settings.budget),
            redact=Redactor(environ),
            environ=environ,
            checkout=Checkout(),
            roll=Roll(settings.limits),
            home=home,
        )
    )
