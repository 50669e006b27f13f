"""One shared look at the board for all teammates of a process."""

from __future__ import annotations

from dataclasses import dataclass

import anyio

from runner.board.board import Board
from runner.board.outlook import unfit
from runner.board.snapshot import Snapshot
from runner.board.task import Claimant, Key, Task

_TO_CLAIM = ("ready", "assigned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A snapshot and what everybody would otherwise work out from it again.

    `free` could be claimed by somebody, `stale` has to be returned first, `moving` is whether a
    task runs or waits for its `retryAt`.
    """

    snapshot: Snapshot
    free: tuple[Task, ...]
    stale: tuple[Task, ...]
    moving: bool

    def offers(
        self, claimant: Claimant, only: frozenset[Key] | None, taken: frozenset[Key]
    ) -> tuple[Task, ...]:
        """Tasks that this claimant could claim as far as the files say, without those `taken`."""
        return tuple(
            task
            for task in self.free
            if task.key not in taken and unfit(task, claimant, None, only) is None
        )


class Looks:
    """Takes looks; whoever asks while one is under way shares the next."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._turn = anyio.Lock()
        self._begun = 0
        self._latest: Look | None = None

    @property
    def latest(self) -> Look:
        if self._latest is None:
            raise AssertionError("unreachable: a look is taken before one is asked for")
        return self._latest

    async def fresh(self) -> Look:
        """A look that began after this call."""
        wanted = self._begun + 1
        async with self._turn:
            if self._begun < wanted:
                self._begun += 1
                self._latest = _look(await self._board.scan())
            return self.latest


def _look(snapshot: Snapshot) -> Look:
    free, stale, moving = [], [], False
    for task in snapshot.tasks.values():
        if task.status == "pending":
            state = snapshot.state(task)
            if state in _TO_CLAIM:
                free.append(task)
            moving = moving or task.retry_at is not None
        elif task.status == "in_progress":
            if snapshot.is_stale(task):
                stale.append(task)
            moving = moving or snapshot.is_running(task)
    return Look(snapshot=snapshot, free=tuple(free), stale=tuple(stale), moving=moving)
