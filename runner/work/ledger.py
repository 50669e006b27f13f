"""What a run has spent, and its ceilings: reserved before each call, settled after it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import anyio

from runner.core.settings import Budget
from runner.work.histories.sizes import Room
from runner.work.messages import Model, ModelReply, ModelRequest

OUTPUT_RESERVE = 4096  # tokens kept free for a reply whose length is not limited


class BudgetReached(Exception):
    """The next call might cross a ceiling, so it is not made; the text says which."""


@runtime_checkable
class Priced(Protocol):
    """A model that knows its price. A ceiling in usd needs one."""

    def price_usd(self, input_tokens: int, output_tokens: int) -> float | None:
        """What so many tokens cost; None when the price is unknown."""
        ...


@runtime_checkable
class Limited(Protocol):
    """A model that knows how long a reply may get, thinking included."""

    def output_limit(self, request: ModelRequest) -> int:
        """The most tokens that it lets this request's reply have."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Tokens in and out together. `usd` is None once a price was unknown."""

    tokens: int = 0
    usd: float | None = 0.0


@dataclass(slots=True, kw_only=True, eq=False)
class Reservation:
    """Room for one call. `reply` is set by who makes the call."""

    tokens: int = 0
    usd: float = 0.0
    reply: ModelReply | None = None


def unpriced(model: Model, budget: Budget) -> str | None:
    """Why no call of this model could be made under the ceiling in usd; None when one could."""
    if budget.usd is None or _price_usd(model, 0, 0) is not None:
        return None
    return _unknown_price(model, budget.usd)


def _price_usd(model: Model, tokens_in: int, tokens_out: int) -> float | None:
    return model.price_usd(tokens_in, tokens_out) if isinstance(model, Priced) else None


def _unknown_price(model: Model, ceiling_usd: float) -> str:
    return (
        f"the price of {model.name} is unknown, so a ceiling of {ceiling_usd:g} usd cannot be "
        f"kept; set `usd_per_million` of {model.name} under `catalog:` in team.yaml, or use "
        "--max-tokens instead"
    )


class Ledger:
    """One for all teammates of a run; ceilings are judged on spent plus reserved."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._tokens = 0
        self._usd: float | None = 0.0
        self._reserved: list[Reservation] = []
        self._settled = anyio.Event()

    @property
    def spent(self) -> Spent:
        return Spent(tokens=self._tokens, usd=self._usd)

    @asynccontextmanager
    async def reserve(self, model: Model, request: ModelRequest) -> AsyncIterator[Reservation]:
        """Room for one call; waits while only the calls in flight take it up.

        The room is given back at the end of the block; `reply` is what the call really took.
        Raises: BudgetReached.
        """
        wanted = self._may_take(model, request)
        while not self._has_room(wanted):
            await self._settled.wait()
        self._reserved.append(wanted)
        try:
            yield wanted
        finally:
            self._settle(wanted)

    def _has_room(self, wanted: Reservation) -> bool:
        """Beside the calls in flight. Raises: BudgetReached, when not even without them."""
        if reason := self._over(wanted.tokens, wanted.usd):
            raise BudgetReached(reason)
        together = [wanted, *self._reserved]
        return not self._over(sum(one.tokens for one in together), sum(one.usd for one in together))

    def _may_take(self, model: Model, request: ModelRequest) -> Reservation:
        """What one call takes at most; not counted out where there is no ceiling."""
        if self._budget.tokens is None and self._budget.usd is None:
            return Reservation()
        tokens_in = Room(model).tokens(request)
        tokens_out = request.max_output_tokens or OUTPUT_RESERVE
        if isinstance(model, Limited):
            tokens_out = model.output_limit(request)
        if self._budget.usd is None:
            return Reservation(tokens=tokens_in + tokens_out)
        price = _price_usd(model, tokens_in, tokens_out)
        if price is None or self._usd is None:
            raise BudgetReached(_unknown_price(model, self._budget.usd))
        return Reservation(tokens=tokens_in + tokens_out, usd=price)

    def _over(self, tokens: int, usd: float) -> str | None:
        ceiling = self._budget.tokens
        if ceiling is not None and self._tokens + tokens > ceiling:
            return (
                f"budget: {self._tokens} of {ceiling} tokens are spent and the next call may need "
                f"{tokens}"
            )
        if self._budget.usd is not None and (self._usd or 0.0) + usd > self._budget.usd:
            return (
                f"budget: {self._usd or 0.0:.4f} of {self._budget.usd:g} usd are spent and the "
                f"next call may cost {usd:.4f}"
            )
        return None

    def _settle(self, reservation: Reservation) -> None:
        self._reserved.remove(reservation)
        if (reply := reservation.reply) is not None:
            self._tokens += reply.input_tokens + reply.output_tokens
            known = self._usd is not None and reply.usd is not None
            self._usd = (self._usd or 0.0) + (reply.usd or 0.0) if known else None
        self._settled.set()
        self._settled = anyio.Event()
