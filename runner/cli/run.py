"""`runner run`: a team on the board of this folder."""

from __future__ import annotations

import os
from pathlib import Path

import click

from runner.cli import here
from runner.core.ids import Key, key_of
from runner.core.layout import find_layout
from runner.core.settings import load_settings
from runner.errors import UsageError

_COMMAND = "--command"


def _keys(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> frozenset[Key] | None:
    """The ids of a comma list."""
    if text is None:
        return None
    keys = [key_of(part.strip()) for part in text.split(",") if part.strip()]
    if not keys or None in keys:
        raise click.BadParameter(f"found {text!r}, expected ids such as 1,2")
    return frozenset(key for key in keys if key is not None)


class _Run(click.Command):
    """A word before `--command` may be meant as DIR or as input: neither is guessed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        rest = super().parse_args(ctx, args)
        if ctx.params["command_name"] is not None:
            at = next(at for at, word in enumerate(given) if word.split("=")[0] == _COMMAND)
            before = self.make_context("run", given[:at], parent=ctx.parent, resilient_parsing=True)
            if words := before.params["words"]:
                ctx.fail(
                    f"{words[0]!r} stands before {_COMMAND}: name the folder of a board with "
                    f"`runner -C DIR run {_COMMAND} NAME`, and put the input behind NAME"
                )
        return rest


@click.command("run", cls=_Run)
@click.argument(
    "words",
    metavar="[DIR]",
    nargs=-1,
    help="Where the board is; default: here. With --command: its input.",
)
@click.option(
    _COMMAND, "command_name", metavar="NAME", help="First put this workflow command on the board."
)
@click.option("--drain", is_flag=True, help="End as soon as nothing is left to do.")
@click.option("--members", metavar="N", type=int, help="How many teammates.")
@click.option("--model", metavar="PROVIDER/NAME", help="The team's default model.")
@click.option("--max-usd", metavar="X", type=float, help="Stop before this is spent.")
@click.option("--max-tokens", metavar="N", type=int, help="Stop before these are used.")
@click.option("--max-time", metavar="S", type=float, help="Stop after so many seconds.")
@click.option("--only", metavar="IDS", callback=_keys, help="Work on these tasks only: 1,2.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; claim nothing.")
@click.option("--take-over", is_flag=True, help="Return claims of other places first.")
@click.option("--junit", metavar="FILE", type=Path, help="Also write a JUnit report.")
@here.as_json
@click.pass_context
def command(
    context: click.Context,
    words: tuple[str, ...],
    command_name: str | None,
    drain: bool,
    members: int | None,
    model: str | None,
    max_usd: float | None,
    max_tokens: int | None,
    max_time: float | None,
    only: frozenset[Key] | None,
    dry_run: bool,
    take_over: bool,
    junit: Path | None,
    as_json: bool,
) -> int:
    """Start a team that works on the board.

    It ends when nobody has found work for `idle_timeout` (60 s), with --drain as soon as nothing
    is left that it could do.

    \b
    Exit codes, judged on the whole board at the end:
    0  all done, or nothing to do
    1  something failed
    2  wrong usage or configuration, or no model is usable
    3  nothing failed, but something is left undone
    4  a budget or time limit was reached
    129, 130, 143  stopped by SIGHUP, SIGINT, SIGTERM

    With --command the task that it becomes is done like every other, and --only adds it to its
    IDS. Its input replaces $@ in its text. See `runner commands list`.

    With --dry-run: 0; 3 when this team cannot do some task; 2 when it needs a model for one and
    none is usable.
    """
    # the team and all that it needs is loaded only when the call itself is right
    from runner.cli.command_task import command_call
    from runner.cli.running import Order, plan_board, run_board

    directory = here.directory(context)
    layout = find_layout(_folder(directory, words) if command_name is None else directory)
    call = None if command_name is None else command_call(directory, command_name, words)
    overrides = {
        "members": members,
        "model": model,
        "budget.usd": max_usd,
        "budget.tokens": max_tokens,
        "budget.time": max_time,
    }
    file = directory / junit if junit else None
    order = Order(
        call=call, drain=drain, only=only, take_over=take_over, junit=file, as_json=as_json
    )
    settings = load_settings(layout, os.environ, overrides)
    return (plan_board if dry_run else run_board)(layout, settings, order)


def _folder(directory: Path, words: tuple[str, ...]) -> Path:
    """DIR, or where we are; `words` has no more than that. Raises: UsageError."""
    if len(words) > 1:
        raise UsageError(f"found {' '.join(words)!r}, expected one DIR (see `runner run --help`)")
    return here.existing(directory / words[0]) if words else directory
