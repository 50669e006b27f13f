"""A clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread

_START = datetime(2026, 1, 1, tzinfo=UTC)
_ROUNDS = 8
_HOP_POLL_S = 0.0005
_PATIENCE_S = 5.0
_HOP_CODE = anyio.to_thread.run_sync.__code__
_AIOFILES = f"{os.sep}aiofiles{os.sep}"


class FakeClock:
    """Time as a test wants it; hand it to a `Team`, a `Board` or anything that takes a `Clock`.

    `await clock.sleepers(n)` waits until everything is quiet and at least `n` tasks sleep;
    `await clock.advance(seconds)` moves on, waking whoever is due in the order of the deadlines
    and letting everybody finish what the wake-up started before time goes on. Hops into worker
    threads (file work) are waited for in real time; processes and sockets only by `sleepers`, and
    for a few seconds.
    """

    def __init__(self, start: datetime = _START) -> None:
        self._start = start
        self._elapsed_s = 0.0
        self._waiting: dict[anyio.Event, float] = {}
        self._falls_asleep = anyio.Event()

    @property
    def sleeping(self) -> int:
        """How many tasks sleep now."""
        return len(self._waiting)

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        return self._elapsed_s

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await anyio.lowlevel.checkpoint()
            return
        wakes = anyio.Event()
        self._waiting[wakes] = self._elapsed_s + seconds
        self._falls_asleep.set()
        try:
            await wakes.wait()
        finally:
            self._waiting.pop(wakes, None)

    async def sleepers(self, count: int, *, patience_s: float = _PATIENCE_S) -> None:
        """Wait until all is quiet and at least `count` tasks sleep.

        When all is quiet and fewer sleep, only a process or a socket can still make one fall
        asleep: `patience_s` real seconds for each. Raises: AssertionError afterwards.
        """
        while True:
            await self.settle()
            if self.sleeping >= count:
                return
            self._falls_asleep = anyio.Event()
            with anyio.move_on_after(patience_s) as patience:
                await self._falls_asleep.wait()
            if patience.cancelled_caught and self.sleeping < count:
                some = "1 task sleeps" if self.sleeping == 1 else f"{self.sleeping} tasks sleep"
                raise AssertionError(f"{some}, {count} were expected")

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass, step by step from one deadline to the next."""
        target = self._elapsed_s + seconds
        await self.settle()
        while self._waiting and (due := min(self._waiting.values())) <= target:
            self._elapsed_s = max(self._elapsed_s, due)
            for wakes in [event for event, deadline in self._waiting.items() if deadline <= due]:
                del self._waiting[wakes]
                wakes.set()
            await self.settle()
        self._elapsed_s = target

    async def settle(self) -> None:
        """Wait until every other task waits for time, for an event or for the outside world."""
        before: set[tuple[int, ...]] | None = None
        while True:
            # whoever can run does so in the next round of the loop, and what that starts in the one
            # after; so a look every few rounds misses nobody
            for _ in range(_ROUNDS):
                await anyio.lowlevel.checkpoint()
            if _hops_under_way():
                await anyio.sleep(_HOP_POLL_S)
                before = None
                continue
            now = _positions()
            if now == before:
                return
            before = now


def _awaited(task: asyncio.Task[Any]) -> Iterator[Any]:
    """What a task is in the middle of, from the outermost coroutine inward."""
    link: Any = task.get_coro()
    while link is not None:
        yield link
        inner = "cr_await" if inspect.iscoroutine(link) else "gi_yieldfrom"
        link = getattr(link, inner, None)


def _others() -> list[asyncio.Task[Any]]:
    current = asyncio.current_task()
    return [task for task in asyncio.all_tasks() if task is not current]


def _hops_under_way() -> bool:
    return any(_is_hop(link) for task in _others() for link in _awaited(task))


def _is_hop(link: Any) -> bool:
    """Whether a worker thread does something for this: through anyio, or through aiofiles."""
    code = getattr(link, "cr_code", None) or getattr(link, "gi_code", None)
    return code is _HOP_CODE or (code is not None and _AIOFILES in code.co_filename)


def _positions() -> set[tuple[int, ...]]:
    """Where every other task stands; two equal answers in a row mean that nothing ran."""
    return {(id(task), *(_position(link) for link in _awaited(task))) for task in _others()}


def _position(link: Any) -> int:
    frame = getattr(link, "cr_frame", None) or getattr(link, "gi_frame", None)
    return frame.f_lasti if frame is not None else id(link)
