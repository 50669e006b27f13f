"""What a run has spent, and its ceilings: reserved before each call, settled after it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, runtime_checkable

import anyio

from runner.core.settings import Budget
from runner.work.messages import AssistantTurn, Model, ModelReply, ModelRequest, Turn

OUTPUT_RESERVE = 4096  # tokens kept free for a reply whose length is not limited
_CHARACTERS_PER_TOKEN = 4


class BudgetReached(Exception):
    """The next call might cross a ceiling, so it is not made; the text says which."""


@runtime_checkable
class Priced(Protocol):
    """A model that knows its price. A ceiling in usd needs one."""

    def price_usd(self, input_tokens: int, output_tokens: int) -> float | None:
        """What so many tokens cost; None when the price is unknown."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Tokens in and out together. `usd` is None once a price was unknown."""

    tokens: int = 0
    usd: float | None = 0.0


class Ledger:
    """One for all teammates of a run; ceilings are judged on spent plus reserved."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._tokens = 0
        self._usd: float | None = 0.0
        self._reserved: dict[Reservation, None] = {}
        self._settled = anyio.Event()

    @property
    def spent(self) -> Spent:
        return Spent(tokens=self._tokens, usd=self._usd)

    async def reserve(self, model: Model, request: ModelRequest) -> Reservation:
        """Room for one call; waits while only the calls in flight take it up.

        Raises: BudgetReached.
        """
        tokens, usd = self._may_take(model, request)
        wanted = Reservation(self, tokens, usd)
        while True:
            if reason := self._over(tokens, usd):
                raise BudgetReached(reason)
            in_flight = list(self._reserved)
            if not self._over(
                tokens + sum(one.tokens for one in in_flight),
                usd + sum(one.usd for one in in_flight),
            ):
                self._reserved[wanted] = None
                return wanted
            await self._settled.wait()

    def _may_take(self, model: Model, request: ModelRequest) -> tuple[int, float]:
        """(tokens, usd) of one call at most; not counted out where there is no ceiling."""
        if self._budget.tokens is None and self._budget.usd is None:
            return 0, 0.0
        tokens_in = _tokens_in(request)
        tokens_out = request.max_output_tokens or OUTPUT_RESERVE
        if self._budget.usd is None:
            return tokens_in + tokens_out, 0.0
        price = model.price_usd(tokens_in, tokens_out) if isinstance(model, Priced) else None
        if price is None or self._usd is None:
            raise BudgetReached(
                f"the price of {model.name} is unknown, so a ceiling of "
                f"{self._budget.usd:g} usd cannot be kept; use --max-tokens instead"
            )
        return tokens_in + tokens_out, price

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

    def _settle(self, reservation: Reservation, reply: ModelReply | None) -> None:
        del self._reserved[reservation]
        if reply is not None:
            self._tokens += reply.input_tokens + reply.output_tokens
            known = self._usd is not None and reply.usd is not None
            self._usd = (self._usd or 0.0) + (reply.usd or 0.0) if known else None
        self._settled.set()
        self._settled = anyio.Event()


class Reservation(AbstractContextManager["Reservation"]):
    """Room that is given back at the end of the block; `reply` is what the call really took."""

    def __init__(self, ledger: Ledger, tokens: int, usd: float) -> None:
        self.tokens, self.usd = tokens, usd
        self.reply: ModelReply | None = None
        self._ledger = ledger

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ledger._settle(self, self.reply)


def _tokens_in(request: ModelRequest) -> int:
    characters = len(request.system) + sum(_characters(turn) for turn in request.turns)
    return characters // _CHARACTERS_PER_TOKEN


def _characters(turn: Turn) -> int:
    if isinstance(turn, AssistantTurn):
        return len(turn.text) + sum(len(str(call.arguments)) for call in turn.calls)
    return len(turn.text) + sum(len(result.text) for result in turn.results)
