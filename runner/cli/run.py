"""`runner run`: a team on the board of this folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from runner.cli import here
from runner.core.layout import find_layout
from runner.core.settings import load_settings


def run(
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Where the board is; default: here.")
    ] = None,
    drain: Annotated[
        bool, typer.Option("--drain", help="End as soon as nothing is left to do.")
    ] = False,
    members: Annotated[int | None, typer.Option(metavar="N", help="How many teammates.")] = None,
    model: Annotated[
        str | None, typer.Option(metavar="PROVIDER/NAME", help="The team's default model.")
    ] = None,
    max_usd: Annotated[
        float | None, typer.Option(metavar="X", help="Stop before this is spent.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="Stop before these are used.")
    ] = None,
    max_time: Annotated[
        float | None, typer.Option(metavar="S", help="Stop after so many seconds.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="IDS", help="Work on these tasks only: 1,2.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; claim nothing.")
    ] = False,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Return claims of other places first.")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a JUnit report.")
    ] = None,
    as_json: here.AsJson = False,
) -> int:
    """Start a team that works on the board.

    Exit codes, judged on the whole board at the end:
    0  all done, or nothing to do
    1  something failed
    2  wrong usage or configuration
    3  nothing failed, but something is left undone
    4  a budget or time limit was reached
    129, 130, 143  stopped by SIGHUP, SIGINT, SIGTERM

    With --dry-run: 0, or 3 when this team cannot do some task.
    """
    # the team and all that it needs is loaded only when the call itself is right
    from runner.cli.running import Order, plan_board, run_board

    directory = here.directory(context)
    layout = find_layout(here.existing(directory / folder) if folder else directory)
    overrides = {
        "members": members,
        "model": model,
        "budget.usd": max_usd,
        "budget.tokens": max_tokens,
        "budget.time": max_time,
    }
    settings = load_settings(layout, os.environ, overrides)
    order = Order(
        drain=drain,
        only=only,
        take_over=take_over,
        junit=directory / junit if junit else None,
        as_json=as_json,
    )
    return (plan_board if dry_run else run_board)(layout, settings, order)
