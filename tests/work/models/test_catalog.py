"""What is known of models, and what they cost."""

from __future__ import annotations

import pytest

from runner.core.model_settings import CatalogEntry, Price
from runner.core.settings import Budget
from runner.work.ledger import BudgetReached, Ledger
from runner.work.messages import ModelReply
from runner.work.models.catalog import known
from tests.work.models.canned import GO, asking, opened, serving
from tests.work.models.test_anthropic import HELLO, OPUS


@pytest.mark.parametrize(
    ("provider", "name", "window"),
    [
        ("anthropic", "claude-opus-4-5", 200_000),
        ("anthropic", "claude-opus-4-5-20251101", 200_000),
        ("anthropic", "claude-opus-4-5@20251101", 200_000),
        ("anthropic", "us.anthropic.claude-opus-4-5-20251101-v1:0", 200_000),
        ("anthropic", "anthropic.claude-opus-4-6-v1", 1_000_000),
        ("openai", "gpt-5-2025-08-07", 400_000),
        ("openai", "gpt-6.2-sol", 1_050_000),
    ],
)
def test_a_model_is_known_by_its_name_whatever_the_date_or_the_cloud(
    provider: str, name: str, window: int
) -> None:
    found = known(provider, name, {})

    assert found.window == window
    assert found.price is not None


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("claude-opus-9", 200_000),
        ("claude-fable-6", 1_000_000),
        ("gpt-5.4-pro", 400_000),
        ("my-model", None),
    ],
)
def test_a_relative_has_the_careful_window_of_its_family_and_no_price(
    name: str, window: int | None
) -> None:
    found = known("openai", name, {})

    assert found.window == window
    assert found.usd(1000, 1000) is None


def test_a_model_of_ones_own_machine_costs_nothing_and_one_in_the_cloud_is_unknown() -> None:
    assert known("ollama", "llama3.2:3b", {}).usd(10**6, 10**6) == 0
    assert known("ollama", "gpt-oss:120b-cloud", {}).usd(1, 1) is None


def test_the_settings_go_before_the_list() -> None:
    entry = CatalogEntry(window=9, usd_per_million=Price(input=1, output=2), efforts=("low",))
    catalog = {"openai/gpt-6-sol": entry}
    found = known("openai", "gpt-6-sol", catalog)

    assert (found.window, found.max_output, found.efforts) == (9, 128_000, ("low",))
    assert found.usd(10**6, 10**6) == 3


def test_cached_tokens_cost_what_others_do_unless_they_have_a_price() -> None:
    price = Price(input=1, output=0)
    found = known("x", "y", {"x/y": CatalogEntry(usd_per_million=price)})

    assert found.usd(10**6, 0, 400_000, 100_000) == pytest.approx(1)


def test_a_long_request_has_the_long_price_as_a_whole() -> None:
    reply = ModelReply(input_tokens=300_000, output_tokens=1000, cached_tokens=100_000)
    usd = known("openai", "gpt-6-sol", {}).usd_of(reply)

    assert usd == pytest.approx((200_000 * 4 + 100_000 * 0.4 + 1000 * 15) / 1e6)


@pytest.mark.parametrize(
    ("name", "level", "effort"),
    [
        ("gpt-6-sol", None, None),
        ("gpt-6-sol", "off", "none"),
        ("gpt-6-sol", "minimal", "none"),
        ("gpt-6.2-sol", "minimal", "low"),
        ("gpt-5", "minimal", "minimal"),
        ("gpt-5", "xhigh", "high"),
        ("gpt-4o", "high", None),
    ],
)
def test_a_level_becomes_the_effort_next_to_it(
    name: str, level: str | None, effort: str | None
) -> None:
    assert known("openai", name, {}).effort(level) == effort


async def test_a_ceiling_in_usd_is_kept_for_a_model_with_a_price_and_refused_without() -> None:
    ledger = Ledger(Budget(usd=1))
    with serving(HELLO) as canned:
        async with opened(canned, OPUS) as dear, opened(canned, "openai/stranger") as unknown:
            request = asking(GO)
            async with ledger.reserve(dear, request) as room:
                room.reply = await dear.reply(request)
            with pytest.raises(BudgetReached, match="the price of openai/stranger is unknown"):
                async with ledger.reserve(unknown, request):
                    raise AssertionError("unreachable: there is no room")
            with pytest.raises(BudgetReached, match="usd are spent and the next call may cost 2"):
                async with ledger.reserve(dear, asking(GO, max_output_tokens=100_000)):
                    raise AssertionError("unreachable: there is no room")

    assert ledger.spent.usd == pytest.approx((3 * 5 + 25) / 1e6)
