"""The board as a command of a person opens it."""

from __future__ import annotations

import typer

from runner.board.store import Store
from runner.cli import here
from runner.core.clock import SystemClock
from runner.core.events import Journal


def open_store(context: typer.Context) -> Store:
    """The board of this command, written by hand: no run, and the journal of the commands.

    Raises: UsageError, BoardNotFound.
    """
    board = here.layout(context)
    clock = SystemClock()
    return Store(board, clock=clock, journal=Journal(board.cli_journal, run=None, clock=clock))
