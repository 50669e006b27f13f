"""`runner tasks check`: what is wrong with the board, and what of it can be mended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from runner.board.problem import Problem
from runner.board.store import Store
from runner.cli import boards, here, output
from runner.cli.tables import print_table
from runner.core.clock import SystemClock
from runner.errors import UsageError

if TYPE_CHECKING:
    from runner.board.mending import Fix

Mended = Sequence[tuple["Fix", str | None]]
"""What was mended, each with the reason why it was not, if so."""


@click.command()
@click.option("--fix", is_flag=True, help="Mend what can be mended safely; each is shown first.")
@click.option("--dry-run", is_flag=True, help="With --fix: only show what would be mended.")
@here.as_json
@click.pass_context
def check(context: click.Context, fix: bool, dry_run: bool, as_json: bool) -> int:
    """Report what is wrong with the board.

    With --fix claims of dead runs go back, blockers that are done leave the lists, ids of file
    names are written into the files, leftovers of saves are removed. Exit 1 if anything is an
    error, or could not be mended.
    """
    if dry_run and not fix:
        raise UsageError("--dry-run: only --fix changes anything; add it, or leave this out")
    # team, agents and models are loaded for this command only
    from runner.cli.references import all_problems

    store = boards.open_store(context)
    mended = _mend(store, dry_run=dry_run, quiet=as_json) if fix else None
    problems = all_problems(store)
    if as_json:
        output.print_json(_as_data(problems, mended))
    else:
        _print(problems)
    failed = not dry_run and any(reason for _, reason in mended or ())
    return int(failed or any(problem.severity == "error" for problem in problems))


def _mend(store: Store, *, dry_run: bool, quiet: bool) -> Mended:
    """Show what can be mended, then mend it. Raises: BoardBusy."""
    from runner.board.mending import Mender

    mender = Mender(store, SystemClock())
    fixes = mender.fixes()
    if not quiet:
        for fix in fixes:
            output.say(output.one_line(f"{fix.file}: {fix.message}"))
        if not fixes:
            output.say("nothing to mend")
    if dry_run or not fixes:
        return [(fix, "dry run") for fix in fixes]
    refused = mender.make(fixes)
    for fix, reason in refused.items():
        output.note(output.one_line(f"not mended: {fix.file}: {reason}"))
    if not quiet:
        output.say(f"{len(fixes) - len(refused)} of {len(fixes)} mended\n")
    return [(fix, refused.get(fix)) for fix in fixes]


def _as_data(problems: Sequence[Problem], mended: Mended | None) -> Mapping[str, Any]:
    """`fixes` is there only where it was asked for; `made` tells whether each was."""
    found = {"problems": [problem.to_json() for problem in problems]}
    if mended is None:
        return found
    fixes = [{**fix.to_json(), "made": reason is None, "reason": reason} for fix, reason in mended]
    return {"fixes": fixes, **found}


def _print(problems: Sequence[Problem]) -> None:
    if not problems:
        output.say("no problems")
        return
    rows = [
        (p.severity, p.kind, p.file if p.file is not None else p.id, p.message) for p in problems
    ]
    print_table(("severity", "kind", "where", "message"), rows, wrap=True)
