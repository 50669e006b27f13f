"""The commands as one application, of which only the named part is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import click

from runner import __version__
from runner.errors import UsageError

# Each word is a module of runner.cli, in which the command is called `command`.
WORDS = ("demo", "run", "init", "tasks", "agents", "commands", "team", "events")


class _OnDemand(click.Group):
    """Imports a command when it is asked for; the help asks for all of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(WORDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        if cmd_name not in WORDS:
            raise click.NoSuchCommand(cmd_name, possibilities=WORDS, ctx=ctx)
        command: click.Command = import_module(f"runner.cli.{cmd_name}").command
        return command


@click.group(cls=_OnDemand, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-C", "--directory", metavar="DIR", type=Path, help="Work as if started in DIR.")
@click.version_option(__version__, message="runner %(version)s")
@click.pass_context
def _root(context: click.Context, directory: Path | None) -> None:
    """Run a team of autonomous teammates on the board of a repository."""
    context.obj = directory


def execute(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. Raises: RunnerError."""
    words = list(arguments) or ["--help"]
    try:
        with _root.make_context("runner", words) as context:
            return _root.invoke(context) or 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "runner"
        message = error.format_message().removesuffix(".")
        raise UsageError(f"{message} (see `{path} --help`)") from error
