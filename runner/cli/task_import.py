"""`runner tasks import`: tasks of other tools become tasks of this board."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli import boards, here

if TYPE_CHECKING:
    from runner.board.importing import Tool

TOOLS = ("task-master", "beads", "backlog.md", "claude-code")


@click.command("import")
@click.argument("path", metavar="FILE|DIR", type=Path, help="What the other tool has saved.")
@click.option("--from", "tool", type=click.Choice(TOOLS), help="Which tool, if several fit.")
@click.option("--tag", "tags", metavar="NAME", multiple=True, help="Of Task Master; may repeat.")
@click.option("--dry-run", is_flag=True, help="Only show what would be added.")
@here.as_json
@click.pass_context
def import_tasks(
    context: click.Context,
    path: Path,
    tool: Tool | None,
    tags: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
) -> int:
    """Add the tasks of another tool; --dry-run shows them first.

    Task Master, beads, Backlog.md and task folders of Claude Code are read. Ids are kept where they
    are free. What has no field here is kept in the task's metadata. Run again, it adds only what is
    new. Exit 1 if anything could not be read or added.
    """
    # every other command of the board starts without it
    from runner.cli.import_sources import find_source
    from runner.cli.importing import import_from

    store = boards.open_store(context)
    named = os.path.abspath(here.directory(context) / path)  # noqa: PTH100 - links are kept
    source = find_source(Path(named), tool)
    return import_from(store, source, tags=tags, dry_run=dry_run, as_json=as_json)
