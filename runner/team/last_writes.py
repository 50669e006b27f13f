"""Writes to the board that no cancellation cuts off, and how long the last ones may take."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import anyio

LAST_WRITE_S = 1.0
"""So long may the last writes of a run wait for a lock."""


class LastWrites:
    """The shielded writes of one run. `hurried`: nothing is waited for any more."""

    def __init__(self) -> None:
        self.hurried = False
        self._under_way: set[anyio.CancelScope] = set()
        self._last_moment = 0.0

    @contextlib.contextmanager
    def shielded(self) -> Iterator[None]:
        """Inside, a write to the board is not cut off by a cancellation.

        Each hop has the lock's own timeout. Once hurried, what is not written by the last moment
        is given up: it is stale as soon as this process is gone.
        """
        with anyio.CancelScope(shield=True) as scope:
            self._under_way.add(scope)
            if self.hurried:
                scope.deadline = self._last_moment
            try:
                yield
            finally:
                self._under_way.discard(scope)

    def hurry(self) -> float:
        """From now on there is one second for all writes together; when it ends, as anyio counts.

        Real time, whatever the clock: this is about other processes.
        """
        self.hurried = True
        self._last_moment = anyio.current_time() + LAST_WRITE_S
        for scope in self._under_way:
            scope.deadline = self._last_moment
        return self._last_moment
