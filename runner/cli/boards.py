"""The board as the commands of a person open it: no run, and a journal of their own."""

from __future__ import annotations

import click

from runner.board.store import Store
from runner.board.task import Task
from runner.cli import here, output
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.layout import Layout


def journal(layout: Layout) -> Journal:
    """The journal of the commands. They share its file: emit only with the board lock held."""
    return Journal(layout.cli_journal, run=None, clock=SystemClock())


def store(layout: Layout) -> Store:
    """The board that lies at `layout`."""
    return Store(layout, clock=SystemClock(), journal=journal(layout))


def open_store(context: click.Context) -> Store:
    """The board of this command. Raises: UsageError, BoardNotFound."""
    return store(here.layout(context))


def print_task(task: Task, sentence: str, *, as_json: bool) -> None:
    """Tell what became of a task: its file's object, or the sentence and the id of its claim."""
    if as_json:
        output.print_json(task.raw)
        return
    claim_id = f" (claim {task.claim.id})" if task.claim and task.status == "in_progress" else ""
    output.say(output.one_line(sentence) + claim_id)
