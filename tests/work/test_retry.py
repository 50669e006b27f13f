"""Asking a model again."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from runner.errors import ModelOverloaded, ModelRejected
from runner.testing import FakeClock, ScriptedModel, say
from runner.work.messages import ModelReply, ModelRequest, UserTurn
from runner.work.retry import MAX_TRIES, Gate, ask, wait_after

REQUEST = ModelRequest(system="", turns=(UserTurn(text="go"),))


def busy(wish_s: float | None = None) -> ModelOverloaded:
    return ModelOverloaded("later", retry_after_s=wish_s)


async def waits_of(steps: Sequence[ModelReply | Exception], jitter: float = 0.0) -> list[float]:
    """Seconds waited between the tries until the reply or the error."""
    clock = FakeClock()
    gate = Gate(clock, jitter=lambda: jitter)
    waits: list[float] = []
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            with pytest.raises(ModelOverloaded) if steps[-1] is not DONE else _nothing():
                await ask(ScriptedModel(list(steps)), REQUEST, gate, waiting=waits.append)
            tasks.cancel_scope.cancel()

        tasks.start_soon(run)
        while True:
            await clock.sleepers(1)
            await clock.advance(61)
    return waits


DONE = say("done")


class _nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


async def test_the_wait_doubles_until_the_tries_are_used_up() -> None:
    assert await waits_of([busy()] * MAX_TRIES) == [1, 2, 4, 8, 16]


async def test_the_servers_wish_is_honoured_and_capped() -> None:
    assert await waits_of([busy(2), busy(86_400), DONE]) == [2, 60]


async def test_waits_are_jittered_upward_and_never_above_the_cap() -> None:
    assert await waits_of([busy(2), busy(59), DONE], jitter=1.0) == [2.5, 60]


async def test_a_refusal_is_not_tried_again() -> None:
    model = ScriptedModel([ModelRejected("no", status=400), DONE])

    with pytest.raises(ModelRejected):
        await ask(model, REQUEST, Gate(FakeClock()))

    assert len(model.requests) == 1


async def test_one_gate_holds_back_everybody_and_a_wait_can_be_cancelled() -> None:
    clock = FakeClock()
    gate = Gate(clock, jitter=lambda: 0.0)
    gate.shut(30)
    model = ScriptedModel([DONE])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, model, REQUEST, gate)
        await clock.sleepers(1)
        assert model.requests == []
        tasks.cancel_scope.cancel()

    assert gate.shut_for == 30


def test_a_shorter_wish_does_not_open_a_shut_gate() -> None:
    gate = Gate(FakeClock())
    gate.shut(30)
    gate.shut(1)

    assert gate.shut_for == 30


def test_a_wish_of_zero_means_at_once() -> None:
    assert wait_after(4, 0) == 0
