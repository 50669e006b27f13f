"""Which runs are alive: each holds an OS lock for its whole life."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import TYPE_CHECKING

from runner.core.ids import is_safe
from runner.core.layout import Layout
from runner.errors import BoardBusy

if TYPE_CHECKING:
    from filelock import FileLock

# a probe of another run holds the lock, shared, for microseconds
_START_TIMEOUT_S = 5.0


def lock_file(layout: Layout, run_id: str) -> Path:
    return layout.runs / f"{run_id}.lock"


class RunLock:
    """The sign of life of one run.

    Whoever inherits `descriptor` keeps the run alive too: the guardian does, until the tools of a
    dead run are gone.
    """

    def __init__(self, lock: FileLock, descriptor: int) -> None:
        self._lock = lock
        self.descriptor = descriptor

    @classmethod
    def start(cls, layout: Layout, run_id: str, *, timeout_s: float = _START_TIMEOUT_S) -> RunLock:
        """Take the lock of a new run. Raises: BoardBusy, when a run of that id lives."""
        # here: looking at a board takes no lock, and need not pay for the import
        from filelock import FileLock, Timeout

        layout.ensure_team()
        path = lock_file(layout, run_id)
        taken: list[int] = []
        lock = FileLock(
            path,
            timeout=timeout_s,
            poll_interval=0.01,
            thread_local=False,
            fallback_to_soft=False,
            preserve_lock_file=True,
            on_acquired=taken.append,
        )
        try:
            lock.acquire()
        except Timeout as error:
            raise BoardBusy(path, timeout_s, f"a live run {run_id}") from error
        return cls(lock, taken[-1])

    def release(self) -> None:
        """End the run's life; its lock file stays, so that nothing is unlinked under a probe."""
        self._lock.release()


def is_alive(layout: Layout, run_id: str) -> bool:
    """Whether a run other than the own one is alive. Looks without leaving anything behind."""
    if not is_safe(run_id):
        return False
    try:
        descriptor = os.open(lock_file(layout, run_id), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
