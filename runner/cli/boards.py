"""The board as a command of a person opens it."""

from __future__ import annotations

import typer

from runner.board.reading import keys_of_name
from runner.board.snapshot import Snapshot
from runner.board.store import Store
from runner.board.task import Task, key_of
from runner.cli import here
from runner.core.clock import SystemClock
from runner.core.events import FileJournal
from runner.errors import TaskNotFound, TaskUnreadable


def open_store(context: typer.Context) -> Store:
    """The board of this command, written by hand: no run, and the journal of the commands.

    Raises: UsageError, BoardNotFound.
    """
    board = here.layout(context)
    clock = SystemClock()
    return Store(board, clock=clock, journal=FileJournal(board.cli_journal, run=None, clock=clock))


def find(store: Store, snapshot: Snapshot, task_id: str) -> Task:
    """The task that is meant by an id from the command line.

    Raises: TaskNotFound; TaskUnreadable, when a file of that id is no task.
    """
    key = key_of(task_id)
    if key is not None and key in snapshot.tasks:
        return snapshot.tasks[key]
    for problem in snapshot.problems:
        if problem.file is not None and key is not None and key in keys_of_name(problem.file):
            raise TaskUnreadable(store.layout.tasks / problem.file, problem.message)
    raise TaskNotFound(task_id)
