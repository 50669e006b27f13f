"""Where a command was asked to work, and the parameters that many commands share."""

from __future__ import annotations

from pathlib import Path

import click

from runner.core.layout import Layout, find_layout
from runner.errors import UsageError

task_id = click.argument("task_id", metavar="ID", help="The id of the task.")
force = click.option("--force", is_flag=True, help="Also when somebody else holds it.")
as_json = click.option(
    "--json", "as_json", is_flag=True, help="One JSON document on standard output."
)


def directory(context: click.Context) -> Path:
    """The folder of `-C`, or the working directory. Raises: UsageError."""
    return existing(context.obj or Path.cwd())


def existing(folder: Path) -> Path:
    """`folder`, absolute. Raises: UsageError, when it is no folder."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    return folder.absolute()


def layout(context: click.Context) -> Layout:
    """The board of this command. Raises: UsageError, BoardNotFound."""
    return find_layout(directory(context))
