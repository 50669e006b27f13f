"""What is known of well-known models: how much they read and write, how they think, the price.

A list for the start, made on 2026-12-01 from the vendors' pages; `catalog:` in team.yaml goes
before it. A name that is not in it has no price, so that a ceiling in usd is never kept by guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from runner.core.model_settings import EFFORTS, CatalogEntry, Price
from runner.work.messages import ModelReply

_MILLION = 1_000_000
_LOW_HIGH = ("low", "medium", "high")
_TO_XHIGH = (*_LOW_HIGH, "xhigh")
_FROM_NONE = ("none", *_TO_XHIGH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One model. Tokens; None is not known.

    `efforts` are the levels of thinking it takes, weakest first; none: it cannot be told to think.
    `thinking`: how Anthropic's API is told: a `budget` of tokens, or an `effort`. `off`: the word
    by which thinking is switched off there; None: it cannot be. `forces`: a call can be required.
    `long`: from so many input tokens on, the whole request has another price. `guessed`: by the
    family only, so that the provider should be asked.
    """

    window: int | None = None
    max_output: int | None = None
    price: Price | None = None
    long: tuple[int, Price] | None = None
    efforts: tuple[str, ...] = ()
    thinking: Literal["budget", "effort"] = "effort"
    off: str | None = "disabled"
    forces: bool = True
    guessed: bool = False

    def effort(self, level: str | None) -> str | None:
        """The effort for a thinking level: the same or the next weaker one, else the weakest."""
        if level is None or not self.efforts:
            return None
        wanted = EFFORTS.index("none" if level == "off" else level)
        fitting = [one for one in self.efforts if EFFORTS.index(one) <= wanted]
        return fitting[-1] if fitting else self.efforts[0]

    def usd(
        self, input_tokens: int, output_tokens: int, cached: int = 0, written: int = 0
    ) -> float | None:
        """What a request costs; `cached` and `written` are parts of the input."""
        price = self.price
        if self.long is not None and input_tokens >= self.long[0]:
            price = self.long[1]
        if price is None:
            return None
        plain = max(input_tokens - cached - written, 0)
        return (
            plain * price.input
            + cached * price.for_cached
            + written * price.for_cache_write
            + output_tokens * price.output
        ) / _MILLION

    def usd_of(self, reply: ModelReply) -> float | None:
        return self.usd(
            reply.input_tokens, reply.output_tokens, reply.cached_tokens, reply.cache_write_tokens
        )

    def with_entry(self, entry: CatalogEntry) -> Known:
        """With what the settings say of this model."""
        return replace(
            self,
            window=entry.window or self.window,
            max_output=entry.max_output or self.max_output,
            price=entry.usd_per_million or self.price,
            long=None if entry.usd_per_million else self.long,
            efforts=self.efforts if entry.efforts is None else entry.efforts,
            guessed=self.guessed and entry.window is None,
        )


def known(provider: str, name: str, catalog: Mapping[str, CatalogEntry]) -> Known:
    """What is known of `provider/name`; all None for a stranger."""
    found = _FREE if provider == "ollama" and not name.endswith("cloud") else _found(name)
    entry = catalog.get(f"{provider}/{name}")
    return found if entry is None else found.with_entry(entry)


def provider_of(name: str) -> str | None:
    """The vendor of a model in the list; None for any other."""
    vendors = (("anthropic", _CLAUDE), ("openai", _GPT))
    return next((vendor for vendor, models in vendors if name in models), None)


def listed_names() -> tuple[str, ...]:
    return tuple(_TABLE)


def _found(name: str) -> Known:
    """The line of exactly this name, dates and versions aside, else that of its family."""
    bare = _DATED.sub("", _HOSTED.sub("", name))
    if bare in _TABLE:
        return _TABLE[bare]
    families = [family for family in _FAMILIES if bare.startswith(family)]
    return replace(_FAMILIES[max(families, key=len)], guessed=True) if families else Known()


_HOSTED = re.compile(r"^(?:[a-z-]+\.)?anthropic\.")  # names on Amazon Bedrock
_DATED = re.compile(r"(?:[-@]\d{4}-?\d{2}-?\d{2}|-latest)?(?:-v\d+(?::\d+)?)?$")


def _price(
    input_usd: float, output_usd: float, cached: float | None = None, write: float | None = None
) -> Price:
    return Price(input=input_usd, output=output_usd, cached=cached, cache_write=write)


def _claude(price: Price) -> Known:
    return Known(window=1_000_000, max_output=128_000, price=price, efforts=_TO_XHIGH)


def _gpt(price: Price, efforts: tuple[str, ...] = _FROM_NONE) -> Known:
    """Above 272,000 tokens of input, input costs twice and output one and a half times as much."""
    long = Price(
        input=2 * price.input,
        output=1.5 * price.output,
        cached=2 * price.for_cached,
        cache_write=2 * price.for_cache_write,
    )
    return Known(
        window=1_050_000,
        max_output=128_000,
        price=price,
        long=(272_001, long),
        efforts=efforts,
    )


_FREE = Known(price=_price(0, 0))
"""A model on a machine of one's own; the window is asked of its server."""

# Windows, limits, thinking: platform.claude.com/docs/en/models/NAME/overview, and the pages "What's
# new in" of the 5.5 models for what they refuse. Prices, with cache writes for five minutes:
# platform.claude.com/docs/en/about-claude/pricing.
_FABLE = replace(_claude(_price(10, 50, 0.25, 12.5)), off=None, forces=False)
_OPUS = _claude(_price(5, 25, 0.5, 6.25))
_BUDGET = Known(window=200_000, max_output=64_000, efforts=_LOW_HIGH, thinking="budget")
_HAIKU_LONG = (100_001, _price(0.5, 2.5, 0.05, 0.625))
_CLAUDE = {
    # what its cached tokens cost was not to be found; they count in full
    "claude-fable-5-2": replace(_FABLE, price=_price(8, 40, None, 10)),
    "claude-fable-5-1": _FABLE,
    "claude-fable-5": replace(_FABLE, price=_price(10, 50, 1, 12.5)),
    "claude-opus-5-5": replace(_OPUS, price=_price(4, 20, 0.2, 5), off=None, forces=False),
    "claude-sonnet-5-5": replace(
        _claude(_price(2, 10, 0.1, 2.5)), off="between_tools", forces=False
    ),
    "claude-haiku-5-5": replace(_claude(_price(0.1, 0.5, 0.01, 0.125)), long=_HAIKU_LONG),
    "claude-opus-5": _OPUS,
    "claude-sonnet-5": _claude(_price(2, 10, 0.2, 2.5)),
    "claude-opus-4-8": _OPUS,
    "claude-opus-4-7": _OPUS,
    "claude-opus-4-6": replace(_OPUS, efforts=_LOW_HIGH),
    "claude-sonnet-4-6": replace(
        _claude(_price(3, 15, 0.3, 3.75)), max_output=64_000, efforts=_LOW_HIGH
    ),
    "claude-opus-4-5": replace(_BUDGET, price=_price(5, 25, 0.5, 6.25)),
    "claude-sonnet-4-5": replace(_BUDGET, price=_price(3, 15, 0.3, 3.75)),
    "claude-haiku-4-5": replace(_BUDGET, price=_price(1, 5, 0.1, 1.25)),
}

# Windows, limits, efforts: developers.openai.com/api/docs/models/NAME. Prices:
# developers.openai.com/api/docs/pricing.
_GPT_5 = Known(window=400_000, max_output=128_000, efforts=("minimal", *_LOW_HIGH))
_GPT_4_1 = Known(window=1_047_576, max_output=32_768)
_GPT_4O = Known(window=128_000, max_output=16_384)
_O = Known(window=200_000, max_output=100_000, efforts=_LOW_HIGH)
_GPT = {
    "gpt-6.2-astra": _gpt(_price(8, 40, 0.4, 10), _TO_XHIGH),
    "gpt-6.2-sol": _gpt(_price(2, 10, 0.1, 2.5), _TO_XHIGH),
    "gpt-6.1-sol": _gpt(_price(2, 10, 0.1, 2.5), _TO_XHIGH),
    "gpt-6.1-terra": _gpt(_price(1, 5, 0.05, 1.25)),
    "gpt-6-astra": _gpt(_price(10, 50, 1, 12.5), _TO_XHIGH),
    "gpt-6-sol": _gpt(_price(2, 10, 0.2, 2.5)),
    "gpt-6-luna": _gpt(_price(0.1, 0.5, 0.01, 0.125)),
    "gpt-5.6-sol": _gpt(_price(4, 20, 0.4, 5)),
    "gpt-5.6-terra": _gpt(_price(2, 12, 0.2, 2.5)),
    "gpt-5.6-luna": _gpt(_price(0.2, 1.2, 0.02, 0.25)),
    "gpt-5.5": _gpt(_price(5, 30, 0.5)),
    "gpt-5.4": _gpt(_price(2.5, 15, 0.25)),
    "gpt-5.4-mini": replace(_GPT_5, price=_price(0.75, 4.5, 0.075), efforts=_FROM_NONE),
    "gpt-5.4-nano": replace(_GPT_5, price=_price(0.2, 1.25, 0.02), efforts=_FROM_NONE),
    "gpt-5.2": replace(_GPT_5, price=_price(1.75, 14, 0.175), efforts=_FROM_NONE),
    "gpt-5.1": replace(_GPT_5, price=_price(1.25, 10, 0.125), efforts=("none", *_LOW_HIGH)),
    "gpt-5": replace(_GPT_5, price=_price(1.25, 10, 0.125)),
    "gpt-5-mini": replace(_GPT_5, price=_price(0.25, 2, 0.025)),
    "gpt-5-nano": replace(_GPT_5, price=_price(0.05, 0.4, 0.005)),
    "gpt-4.1": replace(_GPT_4_1, price=_price(2, 8, 0.5)),
    "gpt-4.1-mini": replace(_GPT_4_1, price=_price(0.4, 1.6, 0.1)),
    "gpt-4.1-nano": replace(_GPT_4_1, price=_price(0.1, 0.4, 0.025)),
    "gpt-4o": replace(_GPT_4O, price=_price(2.5, 10, 1.25)),
    "gpt-4o-mini": replace(_GPT_4O, price=_price(0.15, 0.6, 0.075)),
    "o3": replace(_O, price=_price(2, 8, 0.5)),
    "o4-mini": replace(_O, price=_price(1.1, 4.4, 0.275)),
}
_TABLE = _CLAUDE | _GPT

# Later and unlisted members of a family: the careful guess, and never a price.
_FAMILIES = {
    "claude-fable": replace(_FABLE, price=None),
    "claude-mythos": replace(_FABLE, price=None),
    "claude-": Known(window=200_000, max_output=64_000, efforts=_LOW_HIGH),
    "gpt-6": Known(window=1_050_000, max_output=128_000, efforts=_LOW_HIGH),
    "gpt-5": replace(_GPT_5, efforts=_LOW_HIGH),
    "gpt-4.1": _GPT_4_1,
    "gpt-4o": _GPT_4O,
}
