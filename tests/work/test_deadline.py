"""The time of an attempt, which waits for a provider do not use up."""

from __future__ import annotations

import anyio

from runner.testing import FakeClock
from runner.work.deadline import Deadline


async def extended(*waits: tuple[float, float]) -> float:
    """How far waits, each as (seconds after the one before, its length), move the end."""
    clock = FakeClock()
    deadline = Deadline(clock)
    scope = deadline.begin(100)
    before = scope.deadline
    for later, seconds in waits:
        await clock.advance(later)
        deadline.extend(seconds)
    return round(scope.deadline - before, 6)


async def test_waits_one_after_the_other_add_up() -> None:
    assert await extended((0, 5), (5, 10), (20, 1)) == 16


async def test_waits_side_by_side_count_once() -> None:
    assert await extended((0, 10), (0, 10), (0, 10)) == 10
    assert await extended((0, 10), (4, 10)) == 14
    assert await extended((0, 10), (4, 2)) == 10


async def test_the_time_begins_when_the_scope_is_entered() -> None:
    with Deadline(FakeClock()).begin(0.01) as scope:
        await anyio.sleep_forever()
    assert scope.cancelled_caught
