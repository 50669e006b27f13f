"""Asking a model again when it says "later": back-off behind one gate per provider."""

from __future__ import annotations

import random
from collections.abc import Callable

from runner.core.clock import Clock
from runner.errors import ModelOverloaded
from runner.work.messages import Model, ModelReply, ModelRequest

MAX_TRIES = 6
FIRST_WAIT_S = 1.0
MAX_WAIT_S = 60.0
JITTER = 0.25  # share of the wait


class Gate:
    """Shut for all teammates of a provider while it has asked for a pause; `why` is its reason."""

    def __init__(self, clock: Clock, *, jitter: Callable[[], float] = random.random) -> None:
        self._clock = clock
        self._jitter = jitter
        self._opens_at = clock.monotonic()
        self.why = ""

    @property
    def shut_for(self) -> float:
        """Seconds until it opens; 0 when open."""
        return max(self._opens_at - self._clock.monotonic(), 0.0)

    def shut(self, seconds: float, why: str = "") -> None:
        """Keep it shut for at least this long from now."""
        self.why = why
        self._opens_at = max(self._opens_at, self._clock.monotonic() + seconds)

    async def passed(self, waiting: Callable[[float], None] = lambda seconds: None) -> None:
        """Wait until it is open. `waiting` is told the seconds before each wait.

        Everybody adds a share of their own, so that not all call at the same instant.
        """
        while (seconds := self.shut_for) > 0:
            seconds = min(seconds * (1 + JITTER * self._jitter()), MAX_WAIT_S)
            waiting(seconds)
            await self._clock.sleep(seconds)


async def ask(
    model: Model,
    request: ModelRequest,
    gate: Gate,
    *,
    waiting: Callable[[float], None] = lambda seconds: None,
) -> ModelReply:
    """One reply, with up to `MAX_TRIES` tries.

    Raises: ModelOverloaded, when all were used up; any other ModelError at once.
    """
    for tried in range(1, MAX_TRIES + 1):
        await gate.passed(waiting)
        try:
            return await model.reply(request)
        except ModelOverloaded as error:
            if tried == MAX_TRIES:
                raise
            gate.shut(wait_after(tried, error.retry_after_s), str(error))
    raise AssertionError("unreachable: the last try returns or raises")


def wait_after(tried: int, wished_s: float | None) -> float:
    """Seconds to wait after this many tries: the server's wish or doubling, capped."""
    doubling = FIRST_WAIT_S * 2 ** (tried - 1)
    return float(min(wished_s if wished_s is not None else doubling, MAX_WAIT_S))
