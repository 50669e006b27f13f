"""The subagents of one attempt: a task group that they cannot outlive, and what they hand in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio

from runner.team.outcome import HandedBack, Outcome, Usage


@dataclass(slots=True, kw_only=True, eq=False)
class Child:
    """One subagent. `id` is `1`, or `1-2` for the second one of subagent 1.

    `spent` tells what it has used up to now; `outcome` is there when it has ended.
    """

    id: str
    agent: str
    transcript: Path
    spent: Callable[[], Usage] = Usage
    outcome: Outcome | None = None


class Children:
    """The subagents of one attempt or message turn; an async context around its turns.

    Its end cancels those that still run and waits for them. Those in the background are `awaited`
    until `take_ended` has handed them out, once. `lent` is entered around every wait for them: a
    subagent lends its own place to those that it waits for. `barred` is the outcome of one that
    found its key refused: going on would fail task after task.
    """

    def __init__(self, lent: Callable[[], AbstractAsyncContextManager[None]] = nullcontext) -> None:
        self.lent = lent
        self.barred: HandedBack | None = None
        self._all: list[Child] = []
        self._background: list[Child] = []
        self._changed = anyio.Event()

    async def __aenter__(self) -> Self:
        self._group = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._group.cancel_scope.cancel()
        if isinstance(error, Exception):
            # what the attempt raises goes on as itself, not as a group of one
            kind = error = trace = None
        await self._group.__aexit__(kind, error, trace)

    @property
    def awaited(self) -> tuple[Child, ...]:
        """Those in the background whose result was not handed out yet."""
        return tuple(self._background)

    def usage(self, own: Usage) -> Usage:
        """`own` and what all of them have used up to now."""
        for child in self._all:
            own = own.and_subagent(child.spent())
        return own

    def start(
        self, child: Child, run: Callable[[], Awaitable[Outcome]], *, background: bool
    ) -> None:
        """Run it from now on; `run` raises nothing."""
        self._all.append(child)
        if background:
            self._background.append(child)
        self._group.start_soon(self._see_through, child, run)

    async def _see_through(self, child: Child, run: Callable[[], Awaitable[Outcome]]) -> None:
        child.outcome = await run()
        if isinstance(child.outcome, HandedBack) and child.outcome.stop_claiming:
            reason = f"subagent {child.id} ({child.agent}): {child.outcome.reason}"
            self.barred = self.barred or HandedBack(reason=reason, stop_claiming=True)
        self._changed.set()
        self._changed = anyio.Event()

    def have_ended(self, children: Sequence[Child]) -> bool:
        return not _running(children)

    def one_has_ended(self) -> bool:
        """Whether one that is awaited has."""
        return len(_running(self._background)) < len(self._background)

    def next_end(self) -> anyio.Event:
        """Set when one more has ended."""
        return self._changed

    async def all_ended(self, children: Sequence[Child]) -> None:
        """Wait until every one of these has ended."""
        async with self.lent():
            while not self.have_ended(children):
                await self._changed.wait()

    def take_ended(self) -> tuple[Child, ...]:
        """Those that are awaited and have ended; from now on it is the caller's to tell them."""
        ended = tuple(child for child in self._background if child.outcome is not None)
        self._background = _running(self._background)
        return ended


def _running(children: Iterable[Child]) -> list[Child]:
    return [child for child in children if child.outcome is None]
