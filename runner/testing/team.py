"""A whole team inside a test body."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import anyio

from runner.board.outlook import RefusesFor
from runner.core.clock import Clock
from runner.core.layout import Layout
from runner.core.settings import MemberSpec, Settings
from runner.team.team import Team
from runner.team.types import Work
from runner.testing.groups import first_error
from runner.work.agent_work import agent_work
from runner.work.messages import Model


@contextlib.asynccontextmanager
async def running_team(
    board: Layout | Path,
    *,
    work: Work | None = None,
    model: Model | None = None,
    members: Sequence[str | MemberSpec] | None = None,
    settings: Settings | None = None,
    clock: Clock | None = None,
    drain: bool = False,
    only: Iterable[int | str] | None = None,
    refuses_for: RefusesFor | None = None,
    run_id: str | None = None,
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[Team]:
    """Start a `Team` on the board and give it to the body; `await team.finished()` for its report.

    `work` does the assignments; without it agents do, thinking with `model`, or with what the
    settings say. `home` is the home directory whose agents count, by default this user's;
    `environ` has the keys and addresses of providers, by default the process's own variables.

    At the end of the body a team that still runs is stopped at once and awaited. An error of the
    body or of the team is raised as it is, not inside an exception group.
    """
    layout = board if isinstance(board, Layout) else Layout(root=board, workspace=board)
    settings = settings or Settings()
    if members is not None:
        specs = tuple(MemberSpec(name=one) if isinstance(one, str) else one for one in members)
        settings = replace(settings, members=specs)
    if work is None:
        work = agent_work(layout, settings, model=model, home=home, environ=environ)
        refuses_for = refuses_for or work.admission.refuses_for
    team = Team(
        layout,
        settings,
        work,
        refuses_for,
        clock=clock,
        drain=drain,
        only=only,
        run_id=run_id,
    )
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(team.run)
            try:
                yield team
            finally:
                team.stop()
                team.stop()
    except BaseExceptionGroup as errors:
        raise first_error(errors) from None
