"""The clock that tests move."""

from __future__ import annotations

import sys
import threading
from datetime import UTC, datetime, timedelta

import anyio
import anyio.to_thread
import pytest
from anyio.abc import TaskGroup

from runner.testing.clock import FakeClock


async def test_time_stands_still_until_it_is_moved() -> None:
    clock = FakeClock(datetime(2030, 5, 1, tzinfo=UTC))
    await clock.advance(90)
    assert clock.monotonic() == 90
    assert clock.now() == datetime(2030, 5, 1, tzinfo=UTC) + timedelta(seconds=90)


async def test_sleepers_wake_in_the_order_of_their_deadlines() -> None:
    clock, woken = FakeClock(), list[tuple[str, float]]()

    async def nap(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.monotonic()))

    async with anyio.create_task_group() as group:
        group.start_soon(nap, "late", 9)
        group.start_soon(nap, "early", 2)
        group.start_soon(nap, "later", 30)
        await clock.sleepers(3)
        await clock.advance(10)
        assert woken == [("early", 2), ("late", 9)]
        assert clock.sleeping == 1
        await clock.advance(20)
    assert woken[-1] == ("later", 30)


async def test_a_task_that_sleeps_again_is_woken_again_within_one_advance() -> None:
    clock, ticks = FakeClock(), list[float]()

    async def tick() -> None:
        for _ in range(12):
            await clock.sleep(5)
            ticks.append(clock.monotonic())

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        await clock.advance(60)
    assert ticks == [5.0 * number for number in range(1, 13)]


async def test_advance_waits_for_file_work_in_threads() -> None:
    clock, seen = FakeClock(), list[float]()

    async def work() -> None:
        for _ in range(3):
            await clock.sleep(1)
            await anyio.to_thread.run_sync(_spin)
            seen.append(clock.monotonic())

    async with anyio.create_task_group() as group:
        group.start_soon(work)
        await clock.advance(3)
        assert seen == [1, 2, 3]


async def test_sleepers_waits_for_those_who_are_still_in_a_thread() -> None:
    clock, gate = FakeClock(), threading.Event()

    async def open_gate_then_sleep() -> None:
        await anyio.to_thread.run_sync(gate.wait)
        await clock.sleep(1)

    async with anyio.create_task_group() as group:
        group.start_soon(open_gate_then_sleep)
        group.start_soon(_after_a_moment, group, gate)
        await clock.sleepers(1)
        assert gate.is_set()
        await clock.advance(1)


async def test_sleepers_waits_for_a_task_that_comes_later() -> None:
    clock, wakes = FakeClock(), anyio.Event()

    async def wait_for_both() -> None:
        await clock.sleepers(2)
        wakes.set()

    async with anyio.create_task_group() as group:
        group.start_soon(clock.sleep, 1)
        group.start_soon(wait_for_both)
        await clock.sleepers(1)
        assert not wakes.is_set()
        group.start_soon(clock.sleep, 1)
        await wakes.wait()
        await clock.advance(1)


async def test_sleepers_waits_for_a_task_that_the_outside_world_holds_up() -> None:
    clock = FakeClock()

    async def late() -> None:
        async with await anyio.open_process([sys.executable, "-S", "-c", "1"]) as process:
            await process.wait()
        await clock.sleep(1)

    async with anyio.create_task_group() as group:
        group.start_soon(late)
        await clock.sleepers(1)
        await clock.advance(1)


@pytest.mark.parametrize(
    ("asleep", "said"),
    [(0, "0 tasks sleep, 5 were expected"), (1, "1 task sleeps, 5 were expected")],
)
async def test_sleepers_that_never_come_are_an_error(asleep: int, said: str) -> None:
    clock = FakeClock()
    async with anyio.create_task_group() as group:
        for _ in range(asleep):
            group.start_soon(clock.sleep, 1)
        with pytest.raises(AssertionError, match=said):
            await clock.sleepers(5, patience_s=0.05)
        await clock.advance(1)


async def test_a_cancelled_sleeper_is_gone() -> None:
    clock = FakeClock()
    async with anyio.create_task_group() as group:
        group.start_soon(clock.sleep, 5)
        await clock.sleepers(1)
        group.cancel_scope.cancel()
    assert clock.sleeping == 0


async def test_sleeping_for_no_time_lets_others_run() -> None:
    clock, order = FakeClock(), list[str]()

    async def other() -> None:
        order.append("other")

    async with anyio.create_task_group() as group:
        group.start_soon(other)
        await clock.sleep(0)
        order.append("self")
    assert order == ["other", "self"]


def _spin() -> int:
    return sum(range(20_000))


async def _after_a_moment(group: TaskGroup, gate: threading.Event) -> None:
    await anyio.to_thread.run_sync(_spin)
    gate.set()
