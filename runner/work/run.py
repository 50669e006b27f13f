"""Joining work and team: the one place where a run is put together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from runner.board.outlook import RefusesFor
from runner.board.task import Claimant, Key, key_of
from runner.core.clock import Clock
from runner.core.layout import Layout, find_layout
from runner.core.settings import Settings, load_settings
from runner.team.report import Report
from runner.team.team import Team
from runner.team.types import Work
from runner.work.admission import Admission
from runner.work.agent_work import agent_work
from runner.work.ledger import Ledger
from runner.work.messages import Model
from runner.work.models import Models


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """What a team needs from us: the work itself, and who may begin what."""

    work: Work
    admission: Admission

    @property
    def refuses_for(self) -> RefusesFor:
        return self.admission.refuses_for


def crew(
    layout: Layout,
    settings: Settings,
    *,
    model: Model | None = None,
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Crew:
    """Work and admission that share one set of models and one ledger.

    `model` serves every agent, whatever they ask for; without it models are chosen from the
    settings. `home` is the home directory whose agents count, by default this user's.
    """
    environ = os.environ if environ is None else environ
    models = Models(settings, base_dir=layout.root, given=model)
    admission = Admission(layout, settings, models, home=home)
    work = agent_work(layout, settings, models, admission, Ledger(settings.budget), environ)
    return Crew(work=work, admission=admission)


class CheckedTeam(Team):
    """A team that looks at every open task before its first claim."""

    admission: Admission
    wanted: frozenset[Key] | None = None

    async def run(self) -> Report:
        """As `Team.run`. Raises: NoModel too, with nothing claimed and nothing written."""
        claimants = [
            Claimant(name=member.name, role=member.role, agent=member.agent)
            for member in self.settings.members
        ]
        snapshot = await self.board.scan()
        await anyio.to_thread.run_sync(
            lambda: self.admission.preflight(snapshot, claimants, only=self.wanted)
        )
        return await super().run()


def build_team(
    layout: Layout,
    settings: Settings,
    *,
    model: Model | None = None,
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    drain: bool = False,
    only: Iterable[int | str] | None = None,
    run_id: str | None = None,
    take_over: bool = False,
) -> Team:
    """A team whose teammates work with agents, models and tools; `await team.run()` once."""
    ours = crew(layout, settings, model=model, home=home, environ=environ)
    wanted = None if only is None else tuple(only)
    team = CheckedTeam(
        layout,
        settings,
        ours.work,
        ours.refuses_for,
        clock=clock,
        drain=drain,
        only=wanted,
        run_id=run_id,
        take_over=take_over,
    )
    team.admission = ours.admission
    if wanted is not None:
        team.wanted = frozenset(key for key in map(key_of, wanted) if key is not None)
    return team


async def run_team(
    directory: Path | str,
    *,
    settings: Settings | None = None,
    drain: bool = True,
    only: Iterable[int | str] | None = None,
    model: Model | None = None,
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    run_id: str | None = None,
    take_over: bool = False,
) -> Report:
    """Run a team on the board of `directory` (or above it) to its end.

    Without `settings` they come from team.yaml and the environment. Raises: BoardNotFound,
    ConfigError, NoModel (nothing was claimed).
    """
    environ = os.environ if environ is None else environ
    layout = find_layout(Path(directory))
    if settings is None:
        settings = load_settings(layout, environ, {})
    team = build_team(
        layout,
        settings,
        model=model,
        home=home,
        environ=environ,
        clock=clock,
        drain=drain,
        only=only,
        run_id=run_id,
        take_over=take_over,
    )
    return await team.run()
