"""Several attempts in one checkout: who is writing, and waiting until nobody else is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class Checkout:
    """What the attempts of one run know of each other's writing in the shared workspace.

    A tool that is not read-only, or a whole `run` command, counts as writing while it runs.
    """

    def __init__(self) -> None:
        self._writing: Counter[str] = Counter()
        self._finished: Counter[str] = Counter()
        self._changed = anyio.Event()

    @contextmanager
    def writing(self, who: str) -> Iterator[None]:
        """Inside the block `who` may change files."""
        self._writing[who] += 1
        try:
            yield
        finally:
            self._writing[who] -= 1
            self._finished[who] += 1
            self._changed.set()
            self._changed = anyio.Event()

    def finished(self, who: str) -> Counter[str]:
        """How many writes everybody but `who` has finished up to now."""
        return Counter({name: count for name, count in self._finished.items() if name != who})

    def writers(self, who: str) -> set[str]:
        """Everybody but `who` who is writing now."""
        return {name for name, count in self._writing.items() if count and name != who}

    async def quiet(self, who: str, *, at_most_s: float) -> None:
        """Wait until nobody else writes, or until the time is over."""
        with anyio.move_on_after(at_most_s):
            while self.writers(who):
                await self._changed.wait()
