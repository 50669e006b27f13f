"""The shortcut beside the poll: task files and inboxes are watched, and who is idle is woken."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import anyio
import anyio.to_thread

from runner.board.reading import is_task_file
from runner.core.cancelling import scope_cancelled
from runner.core.clock import Clock
from runner.core.layout import Layout
from runner.core.log import get_logger
from runner.core.mounts import MOUNTS, shared_file_system

# watchfiles looks every _STEP_MS whether something came, and hands it on once nothing more comes,
# or after _TOGETHER_MS
_STEP_MS = 10
_TOGETHER_MS = 50
_CHECK_MS = 250
_AGAIN_AFTER_S = 1.0
# only where the system has no events at all, and watchfiles polls by itself
_OWN_POLL_MS = 5000

_MAIL = ".jsonl"

Heard = Callable[[Collection[str], Collection[str]], None]
"""Told on a worker thread: names of task files that changed, and whose inboxes did."""


class Watcher:
    """Watches `.tasks/` and `.team/inbox/` of one board, for one process.

    `on_live(True)` is called once everything that happens from then on is told to `heard`, and
    `on_live(False)` when that ends; both on a worker thread.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        clock: Clock,
        heard: Heard,
        on_live: Callable[[bool], None],
        mounts: Path = MOUNTS,
    ) -> None:
        self._tasks = layout.tasks
        self._inbox = layout.inbox
        self._clock = clock
        self._heard = heard
        self._on_live = on_live
        self._mounts = mounts

    async def keep(self) -> None:
        """Watch until cancelled; where that is not possible, log why, once, and return.

        A folder that is replaced, or goes and comes back, is watched again.
        """
        limiter = anyio.CapacityLimiter(1)  # of its own: the threads of the pool are for hops
        while True:
            reason = await anyio.to_thread.run_sync(self._watch, limiter=limiter)
            if reason is not None:
                get_logger(__name__).warning("files_not_watched", reason=reason, instead="polling")
                return
            await self._clock.sleep(_AGAIN_AFTER_S)

    def _watch(self) -> str | None:
        """Watch the folders that are there, until they are not; or say why that cannot be."""
        try:
            for folder in (self._tasks, self._inbox):
                kind = shared_file_system(folder, self._mounts)
                if kind is not None:
                    return f"{folder} lies on a network file system ({kind})"
            self._follow()
        except FileNotFoundError:
            return None  # a folder is gone, and may come back
        # RuntimeError: how watchfiles says that the watcher of the system broke
        except (ImportError, OSError, RuntimeError) as error:
            return str(error) or type(error).__name__
        return None

    def _follow(self) -> None:
        # here: 20 ms, in this thread, that looking at a board need not pay
        from watchfiles import watch

        folders = _identities(self._tasks, self._inbox)
        tasks, inbox = self._tasks.resolve(), self._inbox.resolve()
        batches = watch(
            tasks,
            inbox,
            watch_filter=None,
            debounce=_TOGETHER_MS,
            step=_STEP_MS,
            stop_event=_Stop(),
            rust_timeout=_CHECK_MS,
            yield_on_timeout=True,
            force_polling=False,
            poll_delay_ms=_OWN_POLL_MS,
            recursive=False,
        )
        live = False
        try:
            for batch in batches:
                if _identities(self._tasks, self._inbox) != folders:
                    return
                if not live:
                    live = True
                    self._on_live(True)
                self._tell({Path(path) for _, path in batch}, tasks, inbox)
        finally:
            if live:
                self._on_live(False)

    def _tell(self, paths: Collection[Path], tasks: Path, inbox: Path) -> None:
        files = {one.name for one in paths if one.parent == tasks and is_task_file(one.name)}
        mail = {one.stem for one in paths if one.parent == inbox and one.suffix == _MAIL}
        if files or mail:
            self._heard(files, mail)


class _Stop:
    """What watchfiles asks at each step: it raises as the cancellation of the scope does."""

    def is_set(self) -> bool:
        return scope_cancelled()


def _identities(*folders: Path) -> list[tuple[int, int]]:
    """What tells a folder from another one that came to its place. Raises: FileNotFoundError."""
    found = [folder.stat() for folder in folders]
    return [(one.st_dev, one.st_ino) for one in found]
