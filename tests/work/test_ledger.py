"""Ceilings are kept before a call is made."""

from __future__ import annotations

import anyio
import pytest

from runner.core.settings import Budget
from runner.testing import ScriptedModel
from runner.work.ledger import BudgetReached, Ledger, Spent, unpriced
from runner.work.messages import (
    AssistantTurn,
    Model,
    ModelReply,
    ModelRequest,
    ToolCall,
    ToolResult,
    UserTurn,
)

CALL = ToolCall(id="a", name="read", arguments={"path": "a"})
REQUEST = ModelRequest(
    system="x" * 400,
    turns=(
        UserTurn(text="go"),
        AssistantTurn(calls=(CALL,)),
        UserTurn(results=(ToolResult(call_id="a", name="read", text="y" * 400),)),
    ),
    max_output_tokens=100,
)
MODEL = ScriptedModel()


class Dear(ScriptedModel):
    def price_usd(self, input_tokens: int, output_tokens: int) -> float:
        return 0.4


class Unpriced:
    name = "other/one"

    async def reply(self, request: ModelRequest) -> ModelReply:
        return ModelReply()


async def spend(ledger: Ledger, model: Model, reply: ModelReply | None = None) -> None:
    async with ledger.reserve(model, REQUEST) as room:
        room.reply = reply


async def test_without_a_ceiling_everything_is_counted_and_nothing_refused() -> None:
    ledger = Ledger(Budget())
    await spend(ledger, MODEL, ModelReply(input_tokens=7, output_tokens=3, usd=0.5))

    assert ledger.spent == Spent(tokens=10, usd=0.5)


async def test_a_call_that_may_cross_the_token_ceiling_is_not_made() -> None:
    ledger = Ledger(Budget(tokens=500))
    await spend(ledger, MODEL, ModelReply(input_tokens=250, output_tokens=0, usd=0.0))

    with pytest.raises(BudgetReached, match="250 of 500 tokens are spent"):
        await spend(ledger, MODEL)


async def test_a_call_that_may_cross_the_money_ceiling_is_not_made() -> None:
    ledger = Ledger(Budget(usd=0.5))
    await spend(ledger, Dear(), ModelReply(usd=0.3))

    with pytest.raises(BudgetReached, match=r"0.3000 of 0.5 usd are spent"):
        await spend(ledger, Dear())


async def test_an_unknown_price_fails_closed_under_a_money_ceiling() -> None:
    mends = "price of other/one is unknown.* other/one under `catalog:` .* --max-tokens"
    with pytest.raises(BudgetReached, match=mends):
        await spend(Ledger(Budget(usd=9)), Unpriced())


def test_an_unknown_price_is_known_before_any_call_and_only_under_a_money_ceiling() -> None:
    assert "price of other/one is unknown" in (unpriced(Unpriced(), Budget(usd=9)) or "")
    assert unpriced(Unpriced(), Budget(tokens=9)) is None
    assert unpriced(Dear(), Budget(usd=9)) is None


async def test_a_reply_of_unknown_price_closes_the_money_ceiling() -> None:
    ledger = Ledger(Budget(usd=9))
    await spend(ledger, MODEL, ModelReply(usd=None))

    assert ledger.spent.usd is None
    with pytest.raises(BudgetReached):
        await spend(ledger, MODEL)


async def test_a_model_that_thinks_needs_room_for_its_thinking_too() -> None:
    class Thinking(ScriptedModel):
        def output_limit(self, request: ModelRequest) -> int:
            return 900

    with pytest.raises(BudgetReached, match=r"0 of 1000 tokens are spent .* may need 1\d\d\d"):
        await spend(Ledger(Budget(tokens=1000)), Thinking())


async def test_room_that_others_only_hold_is_waited_for() -> None:
    ledger = Ledger(Budget(usd=0.5))
    got = anyio.Event()

    async def second() -> None:
        async with ledger.reserve(Dear(), REQUEST):
            got.set()

    async with anyio.create_task_group() as tasks:
        async with ledger.reserve(Dear(), REQUEST):
            tasks.start_soon(second)
            await anyio.lowlevel.checkpoint()
            assert not got.is_set()
        await got.wait()


async def test_a_call_that_failed_gives_its_room_back() -> None:
    ledger = Ledger(Budget(tokens=500))
    with pytest.raises(OSError, match="cut"):
        async with ledger.reserve(MODEL, REQUEST):
            raise OSError("cut")

    assert ledger.spent == Spent()
    await spend(ledger, MODEL)
