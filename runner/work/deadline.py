"""When the time of an attempt is over."""

from __future__ import annotations

import anyio

from runner.core.clock import Clock


class Deadline:
    """One for an attempt and its subagents."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._scope = anyio.CancelScope()
        self._waited_until = clock.monotonic()

    def begin(self, seconds: float) -> anyio.CancelScope:
        """The scope that is cancelled when the time is over, to be entered now."""
        self._scope.deadline = anyio.current_time() + seconds
        return self._scope

    def extend(self, seconds: float) -> None:
        """A wait that begins now, for a provider, is no time of the attempt.

        Waits side by side, as those of several subagents, count once.
        """
        now = self._clock.monotonic()
        self._scope.deadline += max(now + seconds - max(now, self._waited_until), 0.0)
        self._waited_until = max(now + seconds, self._waited_until)
