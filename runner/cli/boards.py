"""The board as a command of a person opens it."""

from __future__ import annotations

import typer

from runner.board.snapshot import Snapshot
from runner.board.store import Store
from runner.board.task import Task, key_of
from runner.cli import here
from runner.core.clock import SystemClock
from runner.core.events import FileJournal
from runner.errors import TaskNotFound


def open_store(context: typer.Context) -> Store:
    """The board of this command, written by hand: no run, and the journal of the commands.

    Raises: UsageError, BoardNotFound.
    """
    board = here.layout(context)
    clock = SystemClock()
    return Store(board, clock=clock, journal=FileJournal(board.cli_journal, run=None, clock=clock))


def find(snapshot: Snapshot, task_id: str) -> Task:
    """The task that is meant by an id from the command line. Raises: TaskNotFound."""
    key = key_of(task_id)
    task = snapshot.tasks.get(key) if key is not None else None
    if task is None:
        raise TaskNotFound(task_id)
    return task
