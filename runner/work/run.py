"""Joining work and team: the one place where a run is put together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from runner.core.clock import Clock
from runner.core.layout import Layout, find_layout
from runner.core.settings import Settings, load_settings
from runner.team.report import Report
from runner.team.team import Team
from runner.work.agent_work import agent_work
from runner.work.messages import Model


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
    work = agent_work(layout, settings, model=model, home=home, environ=environ)
    return Team(
        layout,
        settings,
        work,
        work.admission.refuses_for,
        preflight=work.admission.preflight,
        clock=clock,
        drain=drain,
        only=only,
        run_id=run_id,
        take_over=take_over,
    )


async def run_team(
    directory: Path | str,
    *,
    settings: Settings | None = None,
    drain: bool = True,
    only: Iterable[int | str] | None = None,
    model: Model | None = None,
    home: Path | str | None = None,
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
        home=None if home is None else Path(home),
        environ=environ,
        clock=clock,
        drain=drain,
        only=only,
        run_id=run_id,
        take_over=take_over,
    )
    return await team.run()
