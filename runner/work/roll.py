"""How many subagents a run may have, in all and at work at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from runner.core.settings import Limits
from runner.errors import ToolError


class Roll:
    """One for all attempts of a run: it counts subagents, numbers them and gives them slots."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.max_subagents
        self._started = 0
        self._numbers: Counter[Path] = Counter()
        self._slots = anyio.Semaphore(limits.max_parallel_subagents)

    def enlist(self, count: int, transcript: Path) -> range:
        """Numbers for so many more, all or none; `transcript` is that of whoever starts them.

        Raises: ToolError, when the run may not have that many.
        """
        if self._started + count > self._most:
            raise ToolError(
                f"{count} more would be too many subagents: a run may start {self._most} in all "
                f"(limits.max_subagents) and {self._started} were started; none of this call is"
            )
        self._started += count
        first = self._numbers[transcript] + 1
        self._numbers[transcript] += count
        return range(first, first + count)

    def slot(self) -> Slot:
        """The right to work beside the others, for one subagent."""
        return Slot(self._slots)


class Slot:
    """Held while a subagent works; an async context manager around its work.

    Whoever waits for subagents of its own lends it. So those that hold one never wait for those
    that have none, and a limit of one is enough for any depth.
    """

    def __init__(self, slots: anyio.Semaphore) -> None:
        self._slots = slots
        self._held = False
        self._borrowers = 0

    async def __aenter__(self) -> None:
        await self._slots.acquire()
        self._held = True

    async def __aexit__(self, *raised: object) -> None:
        self._give_up()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Free for others inside the block, or until the last of several such blocks ends.

        A block that is cancelled does not wait for it.
        """
        self._borrowers += 1
        self._give_up()
        try:
            yield
        finally:
            self._borrowers -= 1
        if not self._borrowers:
            await self._slots.acquire()
            self._held = True
        if self._borrowers:  # another such block began while this one waited
            self._give_up()

    def _give_up(self) -> None:
        if self._held:
            self._held = False
            self._slots.release()
