"""The async face of a board: the verbs of `Store`, each one thread hop."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial, update_wrapper
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import anyio
import anyio.to_thread

from runner.board.store import Store
from runner.core.cancelling import scope_cancelled
from runner.core.clock import Clock, SystemClock
from runner.core.events import Journal
from runner.core.files import LOCK_TIMEOUT_S
from runner.core.layout import Layout

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _never() -> bool:
    return False


def _hopped(
    verb: Callable[Concatenate[Store, _P], _T],
) -> Callable[Concatenate[Board, _P], Coroutine[Any, Any, _T]]:
    """`verb` of a store as a method of `Board`: same parameters, one hop."""

    async def call(self: Board, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await self._hop(partial(verb, self.store, *args, **kwargs))

    update_wrapper(call, verb)
    return call


class Board:
    """One board. Calls run one after the other; a cancelled one never leaves a half-done claim.

    A cancelled scope and (for claims) `stopping` end a wait for the lock. Once it is
    held the hop is finished and its result returned, so that a claim always has an owner who
    knows of it.
    """

    def __init__(
        self,
        layout: Layout | Path | str,
        *,
        clock: Clock | None = None,
        journal: Journal | None = None,
        run: str | None = None,
        stopping: Callable[[], bool] = _never,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
    ) -> None:
        if not isinstance(layout, Layout):
            layout = Layout(root=Path(layout), workspace=Path(layout))
        self.layout = layout
        clock = clock or SystemClock()
        if journal is None:
            self.layout.ensure_team()
            journal = Journal(self.layout.cli_journal, run=run, clock=clock)
        self.store = Store(
            self.layout,
            clock=clock,
            journal=journal,
            run=run,
            stopping=stopping,
            cancelled=scope_cancelled,
            lock_timeout_s=lock_timeout_s,
        )
        self._limiter: anyio.CapacityLimiter | None = None

    @property
    def run(self) -> str | None:
        return self.store.run

    scan = _hopped(Store.scan)
    claim_next = _hopped(Store.claim_next)
    claim = _hopped(Store.claim)
    holds = _hopped(Store.holds)
    find = _hopped(Store.find)
    complete = _hopped(Store.complete)
    fail = _hopped(Store.fail)
    release = _hopped(Store.release)
    return_stale = _hopped(Store.return_stale)
    take_over = _hopped(Store.take_over)
    add = _hopped(Store.add)
    edit = _hopped(Store.edit)
    delete = _hopped(Store.delete)
    retry = _hopped(Store.retry)
    tidy = _hopped(Store.tidy)
    held_by_hand = _hopped(Store.held_by_hand)
    finish_by_hand = _hopped(Store.finish_by_hand)
    fail_by_hand = _hopped(Store.fail_by_hand)
    release_by_hand = _hopped(Store.release_by_hand)

    async def _hop(self, call: Callable[[], _T]) -> _T:
        """Run `call` in a worker thread; the limiter lets one call in at a time."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(1)
        return await anyio.to_thread.run_sync(call, limiter=self._limiter)
