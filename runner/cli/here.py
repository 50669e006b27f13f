"""Where a command was asked to work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runner.core.layout import Layout, find_layout
from runner.errors import UsageError

TaskId = Annotated[str, typer.Argument(metavar="ID", help="The id of the task.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


def directory(context: typer.Context) -> Path:
    """The folder of `-C`, or the working directory. Raises: UsageError."""
    return existing(context.obj if isinstance(context.obj, Path) else Path.cwd())


def existing(folder: Path) -> Path:
    """`folder`, absolute. Raises: UsageError, when it is no folder."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    return folder.absolute()


def layout(context: typer.Context) -> Layout:
    """The board of this command. Raises: UsageError, BoardNotFound."""
    return find_layout(directory(context))
