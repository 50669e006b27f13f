"""The work of a teammate: a task or mail goes to the engine that can do it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio.to_thread

from runner.agents.discovery import get_agent
from runner.agents.effective import EffectiveAgent
from runner.board.task import Task
from runner.core.layout import Layout
from runner.core.settings import Settings
from runner.team.outcome import Done, HandedBack, Lost, Outcome
from runner.team.types import Assignment, Mail, Teammate
from runner.work.admission import Admission, Equipment, Refusal
from runner.work.attempt import Attempt, Means
from runner.work.carry import keep, recall
from runner.work.checkout import Checkout
from runner.work.command_engine import run_command_task
from runner.work.history import History
from runner.work.identity import Identity, with_identity
from runner.work.ledger import Ledger
from runner.work.loop import run_attempt
from runner.work.messages import Model
from runner.work.models import Models
from runner.work.processes.commands import Leftovers
from runner.work.prompt import assignment, system_prompt
from runner.work.redact import Redactor, redacted, redacting
from runner.work.results.contract import ResultContract
from runner.work.rights import Rights
from runner.work.transcript import Transcript, message_transcript, task_transcript
from runner.work.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWork:
    """A `Work`: called with an assignment and a teammate. One instance serves a whole run."""

    layout: Layout
    settings: Settings
    models: Models
    admission: Admission
    ledger: Ledger
    redact: Redactor
    checkout: Checkout = field(default_factory=Checkout)
    home: Path | None = None

    async def __call__(self, assigned: Assignment, teammate: Teammate) -> Outcome:
        with redacting(self.redact):
            return redacted(await self._work(assigned, teammate), self.redact)

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
        async with (
            Transcript(
                self._transcript_path(task, teammate), teammate.clock, self.redact
            ) as transcript,
            Leftovers(teammate.processes) as leftovers,
        ):
            means = self.means(equipment, task, teammate, leftovers, transcript)
            _report_choice(means, equipment)
            attempt = await self.begin(means)
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
        timeout_s = (task.timeout_s if task else None) or self.settings.limits.timeout_s
        outcome = await run_attempt(attempt, timeout_s)
        await attempt.means.transcript.write(
            "end", outcome=type(outcome).__name__, why=_why(outcome)
        )
        return outcome

    def _transcript_path(self, task: Task | None, teammate: Teammate) -> Path:
        if task is not None:
            return task_transcript(self.layout, task)
        return message_transcript(self.layout, teammate.name, teammate.run)

    async def _run_command(self, task: Task, teammate: Teammate) -> Outcome:
        return await run_command_task(
            task, teammate, self.layout.workspace, self.settings.limits, self.checkout
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
        agent, limits = equipment.agent, self.settings.limits
        rights = Rights(self.layout, self.models.script_files(), home=self.home)
        return Means(
            teammate=teammate,
            task=task,
            agent=agent,
            workspace=Workspace(
                self.layout.workspace,
                readable=(self.layout.output,),
                locked=None if agent.runs_anything else rights.locked,
            ),
            leftovers=leftovers,
            find_agent=self._find_agent,
            output_dir=self.layout.output,
            model=equipment.choice.model,
            gate=self.models.gate(equipment.choice.model, teammate.clock),
            ledger=self.ledger,
            toolbox=equipment.toolbox,
            contract=ResultContract(equipment.schema) if task else None,
            checkout=self.checkout,
            transcript=transcript,
            redact=self.redact,
            system=system_prompt(agent, _identity(teammate), task),
            max_turns=agent.definition.max_turns or limits.max_turns,
            verify_timeout_s=limits.verify_timeout_s,
        )

    def _find_agent(self, name: str) -> EffectiveAgent:
        return self.admission.effective(get_agent(self.admission.discover(), name))

    async def begin(self, means: Means) -> Attempt:
        """An attempt whose history holds all that goes before the first request.

        That is carried turns, the identity, the assignment.
        """
        carried = recall(means, self.settings)
        history = carried.history if carried else History()
        await means.transcript.write(
            "start",
            teammate=means.teammate.name,
            task=means.task.id if means.task else None,
            attempt=means.task.attempt if means.task else None,
            agent=means.agent.name,
            model=means.model.name,
            system=means.system,
            carried=len(history),
            carriedFrom=str(carried.transcript) if carried else None,
        )
        if means.task is None or means.contract is None:
            return Attempt(means=means, history=history)
        known = with_identity(history.turns, _identity(means.teammate))
        inserted = len(known) > len(history)
        if inserted:
            means.emit("identity.injected", messages=len(history))
            history = History(known)
        attempt = Attempt(means=means, history=history)
        text = assignment(means.task, means.contract, means.workspace.root)
        await attempt.tell(means.redact(text))
        return attempt


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
    models = Models(settings, base_dir=layout.root, given=model)
    return AgentWork(
        layout=layout,
        settings=settings,
        models=models,
        admission=Admission(layout, settings, models, home=home),
        ledger=Ledger(settings.budget),
        redact=Redactor(os.environ if environ is None else environ),
        home=home,
    )


def _why(outcome: Outcome) -> str | None:
    """The error or reason of an outcome that has one."""
    match outcome:
        case Done():
            return None
        case HandedBack():
            return outcome.reason
        case Lost():
            return outcome.found
        case _:
            return outcome.error


def _identity(teammate: Teammate) -> Identity:
    return Identity(name=teammate.name, role=teammate.role, team=teammate.team)


def _report_choice(means: Means, equipment: Equipment) -> None:
    agent, choice = equipment.agent, equipment.choice
    means.emit(
        "agent.resolved",
        agent=agent.name,
        source=agent.definition.source,
        file=agent.definition.file,
        warnings=list(agent.warnings),
    )
    means.emit("model.chosen", model=choice.model.name, reason=choice.reason)
