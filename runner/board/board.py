"""The async face of a board: the verbs of `Store`, each one thread hop."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from anyio import from_thread

from runner.board.changes import DEFAULT_MAX_ATTEMPTS
from runner.board.holding import Source
from runner.board.outlook import RefusesFor
from runner.board.snapshot import Snapshot
from runner.board.store import Store
from runner.board.task import Claimant, Fence, Key, Task
from runner.core.clock import Clock, SystemClock
from runner.core.events import FileJournal, Journal
from runner.core.files import LOCK_TIMEOUT_S
from runner.core.layout import Layout

_T = TypeVar("_T")


def _scope_cancelled() -> bool:
    """Ends the wait for a lock when the awaiting scope is cancelled, by raising as that does."""
    with contextlib.suppress(anyio.NoEventLoopError):  # the store may be used without a loop
        from_thread.check_cancelled()
    return False


def _never() -> bool:
    return False


class Board:
    """One board. Calls run one after the other; a cancelled one never leaves a half-done claim.

    A cancelled scope, `cancelled` and (for claims) `stopping` end a wait for the lock. Once it is
    held the hop is finished and its result returned, so that a claim always has an owner who
    knows of it.
    """

    def __init__(
        self,
        layout: Layout | Path,
        *,
        clock: Clock | None = None,
        journal: Journal | None = None,
        run: str | None = None,
        stopping: Callable[[], bool] = _never,
        cancelled: Callable[[], bool] = _never,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
    ) -> None:
        self.layout = (
            layout if isinstance(layout, Layout) else Layout(root=layout, workspace=layout)
        )
        clock = clock or SystemClock()
        if journal is None:
            self.layout.ensure_team()
            journal = FileJournal(self.layout.cli_journal, run=run, clock=clock)
        self.store = Store(
            self.layout,
            clock=clock,
            journal=journal,
            run=run,
            stopping=stopping,
            cancelled=lambda: _scope_cancelled() or cancelled(),
            lock_timeout_s=lock_timeout_s,
        )
        self._limiter: anyio.CapacityLimiter | None = None

    @property
    def run(self) -> str | None:
        return self.store.run

    async def scan(self, *, settle: bool = False) -> Snapshot:
        return await self._hop(partial(self.store.scan, settle=settle))

    async def claim_next(
        self,
        claimant: Claimant,
        *,
        refuses_for: RefusesFor | None = None,
        only: Collection[Key] | None = None,
    ) -> Task | None:
        return await self._hop(
            partial(self.store.claim_next, claimant, refuses_for=refuses_for, only=only)
        )

    async def claim(
        self,
        task_id: object,
        claimant: Claimant,
        *,
        refuses_for: RefusesFor | None = None,
        source: Source = "run",
        owner_assigned_ok: bool = True,
    ) -> Task:
        return await self._hop(
            partial(
                self.store.claim,
                task_id,
                claimant,
                refuses_for=refuses_for,
                source=source,
                owner_assigned_ok=owner_assigned_ok,
            )
        )

    async def holds(self, fence: Fence) -> bool:
        return await self._hop(partial(self.store.holds, fence))

    async def complete(
        self,
        fence: Fence,
        *,
        result: Any = None,
        usage: Mapping[str, Any] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Task:
        return await self._hop(
            partial(self.store.complete, fence, result=result, usage=usage, facts=facts)
        )

    async def fail(
        self,
        fence: Fence,
        *,
        error: str,
        result: Any = None,
        usage: Mapping[str, Any] | None = None,
    ) -> Task:
        return await self._hop(
            partial(self.store.fail, fence, error=error, result=result, usage=usage)
        )

    async def release(
        self,
        fence: Fence,
        *,
        reason: str,
        fault: bool = False,
        usage: Mapping[str, Any] | None = None,
        max_attempts: int = DEFAULT_MAX_ATTEMPTS,
    ) -> Task:
        return await self._hop(
            partial(
                self.store.release,
                fence,
                reason=reason,
                fault=fault,
                usage=usage,
                max_attempts=max_attempts,
            )
        )

    async def release_unheld(self, live_fences: Collection[str]) -> list[Task]:
        return await self._hop(partial(self.store.release_unheld, live_fences))

    async def return_stale(self) -> list[Task]:
        return await self._hop(self.store.return_stale)

    async def take_over(self) -> list[Task]:
        return await self._hop(self.store.take_over)

    async def add(self, fields: Mapping[str, Any]) -> Task:
        return await self._hop(partial(self.store.add, fields))

    async def edit(
        self, task_id: object, changes: Mapping[str, Any], *, force: bool = False
    ) -> Task:
        return await self._hop(partial(self.store.edit, task_id, changes, force=force))

    async def delete(self, task_id: object, *, force: bool = False) -> Task:
        return await self._hop(partial(self.store.delete, task_id, force=force))

    async def retry(self, task_id: object, *, force: bool = False) -> Task:
        return await self._hop(partial(self.store.retry, task_id, force=force))

    async def tidy(self) -> list[Task]:
        return await self._hop(self.store.tidy)

    async def finish_by_hand(self, task_id: object, **how: Any) -> Task:
        return await self._hop(partial(self.store.finish_by_hand, task_id, **how))

    async def fail_by_hand(self, task_id: object, **how: Any) -> Task:
        return await self._hop(partial(self.store.fail_by_hand, task_id, **how))

    async def release_by_hand(self, task_id: object, **how: Any) -> Task:
        return await self._hop(partial(self.store.release_by_hand, task_id, **how))

    async def _hop(self, call: Callable[[], _T]) -> _T:
        """Run `call` in a worker thread; the limiter lets one call in at a time."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(1)
        return await anyio.to_thread.run_sync(call, limiter=self._limiter)
