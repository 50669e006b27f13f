"""`runner demo`: the example board in a scratch folder, worked on at once."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import click

from runner.cli import here, output
from runner.core.data import data_dir
from runner.core.layout import Layout
from runner.core.settings import load_settings
from runner.errors import UsageError


@click.command("demo")
@click.argument(
    "folder", metavar="[DIR]", required=False, type=Path, help="An empty or new folder."
)
@here.as_json
@click.pass_context
def command(context: click.Context, folder: Path | None, as_json: bool) -> int:
    """Run the example board: no key, no network.

    It is copied to a scratch folder, or to DIR. The model's turns come from a script; every tool
    call in it is really carried out.
    """
    # the run and all that it needs is loaded only when there is something to run
    from runner.cli.running import Order, run_board

    target = scratch_folder(here.directory(context), folder)
    copy_example(data_dir("tasks_example"), target)
    layout = Layout(root=target, workspace=target)
    # what the environment says about a person's own boards is not meant for this one
    settings = load_settings(layout, {}, {})
    code = run_board(layout, settings, Order(drain=True, as_json=as_json))
    output.note(f"the demo is in {target}: `runner -C {target} events` tells what happened")
    return code


def scratch_folder(directory: Path, folder: Path | None) -> Path:
    """The folder to fill. Raises: UsageError, when it is not empty."""
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="runner-demo-"))
    target = directory / folder
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise UsageError(f"{target}: there is something already; name an empty or a new folder")
    return target.resolve()


def copy_example(source: Path, target: Path) -> None:
    """Copy the files, not their modes: an installed package may be read-only."""
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.rglob("*")):
        inside = path.relative_to(source)
        if {"__pycache__", ".team"}.intersection(inside.parts):
            continue
        if path.is_dir():
            (target / inside).mkdir(exist_ok=True)
        else:
            shutil.copyfile(path, target / inside)
