"""One shared look at the board for all teammates of a process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import anyio

from runner.board.board import Board
from runner.board.outlook import coming, unfit
from runner.board.snapshot import Snapshot
from runner.board.task import Claimant, Task
from runner.core.ids import Key

_TO_CLAIM = ("ready", "assigned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A snapshot and what everybody would otherwise work out from it again.

    `free` could be claimed by somebody, `stale` has to be returned first, `coming` can become free
    by itself. `own` are the claims of this run, but for those that it has given up. `until` is when
    the next `retryAt` is past: until then a look at an unchanged board finds the same.
    """

    snapshot: Snapshot
    free: tuple[Task, ...]
    stale: tuple[Task, ...]
    own: tuple[Task, ...]
    coming: tuple[Task, ...]
    until: datetime | None

    def offers(self, claimant: Claimant, only: frozenset[Key] | None) -> Iterator[Task]:
        """Tasks that this claimant could claim as far as the files say."""
        return (task for task in self.free if unfit(task, claimant, None, only) is None)

    def holds_for(self, now: Snapshot) -> bool:
        """Whether a later snapshot leads to the same look."""
        then = self.snapshot
        return (
            now.tasks is then.tasks
            and now.alive == then.alive
            and now.given_up == then.given_up
            and (self.until is None or now.now < self.until)
        )


class Looks:
    """Takes looks; whoever asks while one is under way shares the next. `taken` counts them.

    A drain run has to see the end of what other runs hold too: its exit code judges that.
    `given_up` is as in a snapshot, and may grow.
    """

    def __init__(self, board: Board, *, drain: bool, given_up: Mapping[str, str]) -> None:
        self._board = board
        self._drain = drain
        self._given_up = given_up
        self._under_way: anyio.Event | None = None
        self._latest: tuple[int, Look] | None = None
        self.taken = 0

    @property
    def latest(self) -> Look:
        if self._latest is None:
            raise AssertionError("unreachable: a look is taken before one is asked for")
        return self._latest[1]

    async def fresh(self) -> Look:
        """A look that began after this call."""
        wanted = self.taken + 1
        while self._latest is None or self._latest[0] < wanted:
            if self._under_way is not None:
                await self._under_way.wait()
            else:
                await self._take()
        return self._latest[1]

    async def _take(self) -> None:
        self.taken += 1
        number, self._under_way = self.taken, anyio.Event()
        try:
            found = replace(await self._board.scan(), given_up=dict(self._given_up))
            before = self._latest[1] if self._latest is not None else None
            if before is not None and before.holds_for(found):
                look = replace(before, snapshot=found)
            else:
                look = _look(found, drain=self._drain)
            self._latest = (number, look)
        finally:
            # also when cancelled: another of those who wait takes the look then
            self._under_way.set()
            self._under_way = None


def _look(snapshot: Snapshot, *, drain: bool) -> Look:
    pending = [task for task in snapshot.unfinished if task.status == "pending"]
    begun = [task for task in snapshot.unfinished if task.status == "in_progress"]
    own = [task for task in begun if task.claim and task.claim.run == snapshot.own_run]
    retries = [at for task in pending if (at := task.retry_at) is not None and at > snapshot.now]
    return Look(
        snapshot=snapshot,
        free=tuple(task for task in pending if snapshot.state(task) in _TO_CLAIM),
        stale=tuple(task for task in begun if snapshot.is_stale(task)),
        own=tuple(task for task in own if task.fence.claim_id not in snapshot.given_up),
        coming=coming(snapshot, held_elsewhere=drain),
        until=min(retries, default=None),
    )
