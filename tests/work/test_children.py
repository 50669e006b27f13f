"""The task group of an attempt's subagents, and the slots that they work in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from runner.core.settings import Limits
from runner.team.outcome import Done, Outcome
from runner.work.children import Child, Children
from runner.work.roll import Roll


def child(name: str) -> Child:
    return Child(id=name, agent="helper", transcript=Path(f"{name}.jsonl"))


async def done() -> Outcome:
    return Done()


async def test_waiting_for_what_has_ended_ends_at_once_and_hands_it_out_once() -> None:
    async with Children() as children:
        first = child("1")
        children.start(first, done, background=True)
        await children.all_ended([first])
        assert children.one_has_ended()
        assert children.take_ended() == (first,)
        assert children.take_ended() == ()
        assert children.awaited == ()


async def test_an_error_of_the_attempt_comes_out_as_itself_and_ends_them() -> None:
    cancelled = []

    async def never() -> Outcome:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.append(True)
        raise AssertionError("unreachable: it sleeps for ever")

    async def fail() -> None:
        async with Children() as children:
            children.start(child("1"), never, background=False)
            await anyio.lowlevel.checkpoint()
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await fail()
    assert cancelled == [True]


async def test_a_slot_that_is_lent_is_free_for_others_and_comes_back() -> None:
    roll = Roll(replace(Limits(), max_parallel_subagents=1))
    outer, inner = roll.slot(), roll.slot()
    async with outer:
        async with outer.lent(), inner:
            pass
        with anyio.move_on_after(0) as scope:
            async with inner:
                raise AssertionError("unreachable: the only slot is taken again")
        assert scope.cancelled_caught


async def test_a_cancelled_wait_leaves_the_slot_to_others() -> None:
    roll = Roll(replace(Limits(), max_parallel_subagents=1))
    outer = roll.slot()
    with anyio.CancelScope() as scope:
        async with outer, outer.lent():
            scope.cancel()
            await anyio.lowlevel.checkpoint()
    with anyio.fail_after(1):
        async with roll.slot():
            pass
