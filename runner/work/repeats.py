"""Noticing that a model goes round in circles."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Literal

NUDGE_AT = 3
FAIL_AT = 5
_PERIODS = (1, 2)  # A A A, and A B A B
NUDGE = (
    f"You have made the same calls {NUDGE_AT} times with the same results. Repeating them will "
    "not change anything: try another way, or end the task with `error` and the reason."
)


class Repeats:
    """The last turns by calls, arguments and outputs."""

    def __init__(self) -> None:
        self._seen: deque[Hashable] = deque(maxlen=FAIL_AT * max(_PERIODS))

    def note(self, turn: Hashable) -> Literal["nudge", "fail"] | None:
        """Add one turn; whether it closes the third or the fifth round of a circle."""
        self._seen.append(turn)
        runs = {period: self._run(period) for period in _PERIODS}
        if any(run >= FAIL_AT * period for period, run in runs.items()):
            return "fail"
        if any(run == NUDGE_AT * period for period, run in runs.items()):
            return "nudge"
        return None

    def _run(self, period: int) -> int:
        """How many of the last turns repeat with this period; 0 for a circle of one in disguise."""
        seen = list(self._seen)
        if len(seen) < period or (period > 1 and len(set(seen[-period:])) == 1):
            return 0
        run = period
        while run < len(seen) and seen[-1 - run] == seen[-1 - run + period]:
            run += 1
        return run
