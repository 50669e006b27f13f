"""A heartbeat inside one process: something changed, look again."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable

import anyio
import anyio.lowlevel

from runner.core.clock import Clock


class Pulse:
    """Wakes whoever waits. Made inside the event loop; `beat` may be called from any thread.

    A waiter says which `version` it has seen, so that a beat between its look and its wait is
    not lost.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._waiters: set[anyio.Event] = set()
        self._mutex = threading.Lock()
        self.version = 0

    def beat(self) -> None:
        with self._mutex:
            self.version += 1
        with contextlib.suppress(RuntimeError):  # a late event, when the loop is closed already
            self._loop.call_soon_threadsafe(self._wake)

    async def wait(self, seen: int, seconds: float | None) -> None:
        """Return when there was a beat after version `seen`, or `seconds` have passed."""
        if self.version != seen:
            await anyio.lowlevel.checkpoint()
            return
        woken = anyio.Event()
        self._waiters.add(woken)
        try:
            await self._wait(woken, seconds)
        finally:
            self._waiters.discard(woken)

    async def wait_until(self, holds: Callable[[], bool], seconds: float) -> None:
        """Return when `holds()` is true, asked at every beat, or `seconds` have passed."""
        end = self._clock.monotonic() + seconds
        while not holds() and self._clock.monotonic() < end:
            await self.wait(self.version, end - self._clock.monotonic())

    async def _wait(self, woken: anyio.Event, seconds: float | None) -> None:
        if seconds is None:
            await woken.wait()
            return
        nap = anyio.CancelScope()
        async with anyio.create_task_group() as group:
            group.start_soon(self._wake_after, seconds, woken, nap)
            await woken.wait()
            nap.cancel()

    async def _wake_after(self, seconds: float, woken: anyio.Event, nap: anyio.CancelScope) -> None:
        with nap:
            await self._clock.sleep(seconds)
            woken.set()

    def _wake(self) -> None:
        for woken in self._waiters:
            woken.set()
