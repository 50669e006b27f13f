"""A heartbeat inside one process: something changed, look again."""

from __future__ import annotations

import asyncio
import contextlib
import threading

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
        self._beats = anyio.Event()
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
        if seconds is None:
            await self._beats.wait()
            return
        async with anyio.create_task_group() as group:
            group.start_soon(self._cancel_after, seconds, group.cancel_scope)
            await self._beats.wait()
            group.cancel_scope.cancel()

    async def _cancel_after(self, seconds: float, scope: anyio.CancelScope) -> None:
        await self._clock.sleep(seconds)
        scope.cancel()

    def _wake(self) -> None:
        beats, self._beats = self._beats, anyio.Event()
        beats.set()
