"""What all attempts of a run have in common, and the means of one put together from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.agents.availability import explained_absence
from runner.agents.discovery import get_agent
from runner.agents.effective import EffectiveAgent
from runner.board.task import Task
from runner.core.layout import Layout
from runner.core.settings import Settings
from runner.errors import ToolError
from runner.team.types import Teammate
from runner.work.admission import Admission, Equipment
from runner.work.attempt import Means
from runner.work.checkout import Checkout
from runner.work.children import Children
from runner.work.deadline import Deadline
from runner.work.ledger import Ledger
from runner.work.models import Models
from runner.work.processes.leftovers import Leftovers
from runner.work.records.transcript import Transcript
from runner.work.redact import Redactor
from runner.work.results.contract import ResultContract
from runner.work.rights import Rights
from runner.work.roll import Roll
from runner.work.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """One for a whole run. `environ` is read whenever something is begun.

    `home` is the home directory whose files count, None for this user's.
    """

    layout: Layout
    settings: Settings
    models: Models
    admission: Admission
    ledger: Ledger
    redact: Redactor
    environ: Mapping[str, str]
    checkout: Checkout
    roll: Roll
    home: Path | None

    def means(
        self,
        equipment: Equipment,
        task: Task | None,
        teammate: Teammate,
        leftovers: Leftovers,
        transcript: Transcript,
        *,
        system: str,
        contract: ResultContract | None,
        children: Children,
        deadline: Deadline,
        subagent: str | None = None,
    ) -> Means:
        """What this agent works with, but for the `task` tool."""
        agent, model, limits = equipment.agent, equipment.choice.model, self.settings.limits
        rights = Rights(self.layout, self.models.script_files(), home=self.home)
        return Means(
            teammate=teammate,
            task=task,
            agent=agent,
            workspace=Workspace(
                self.layout.workspace,
                readable=(self.layout.output, self.layout.transcripts),
                locked=None if agent.runs_anything else rights.locked,
            ),
            leftovers=leftovers,
            find_agent=self._find_agent,
            output_dir=self.layout.output,
            model=model,
            gate=self.models.gate(model, teammate.clock),
            ledger=self.ledger,
            toolbox=equipment.toolbox,
            contract=contract,
            checkout=self.checkout,
            transcript=transcript,
            children=children,
            deadline=deadline,
            redact=self.redact,
            system=system,
            max_turns=agent.definition.max_turns or limits.max_turns,
            verify_timeout_s=limits.verify_timeout_s,
            subagent=subagent,
        )

    def _find_agent(self, name: str) -> EffectiveAgent:
        discovery = self.admission.discover()
        absence = explained_absence(name, discovery.names, self.settings.disabled_agents)
        if absence is not None:
            raise ToolError(absence)
        return self.admission.effective(get_agent(discovery, name))


async def open_record(means: Means, equipment: Equipment, **facts: Any) -> None:
    """Tell journal and transcript who begins with which model; `facts` are for the latter."""
    agent, choice = equipment.agent, equipment.choice
    means.emit(
        "agent.resolved",
        agent=agent.name,
        source=agent.definition.source,
        file=agent.definition.file,
        warnings=list(agent.warnings),
    )
    means.emit("model.chosen", model=choice.model.name, reason=choice.reason)
    task = means.task
    await means.transcript.write(
        "start",
        teammate=means.teammate.name,
        task=task.id if task else None,
        attempt=task.attempt if task else None,
        agent=agent.name,
        model=choice.model.name,
        workspace=str(means.workspace.root),
        system=means.system,
        **facts,
    )
