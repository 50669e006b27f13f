"""The window of a model is asked of its server."""

from __future__ import annotations

import socket
from typing import Any

import openai
import pytest

from runner.core.model_settings import CatalogEntry
from runner.work.models.window import WindowQuestion
from tests.work.models.canned import GO, asking, opened, serving
from tests.work.models.test_anthropic import HELLO as MESSAGE
from tests.work.models.test_anthropic import OPUS
from tests.work.models.test_chat import HELLO

PAGES: list[tuple[str, Any, int | None]] = [
    ("/api/ps", {"models": [{"name": "m:latest", "context_length": 4096}]}, 4096),
    ("/api/ps", {"models": [{"name": "another", "context_length": 4096}]}, None),
    ("/props", {"default_generation_settings": {"n_ctx": 2048}}, 2048),
    ("/v1/models", {"data": [{"id": "n"}, {"id": "m", "max_model_len": 9000}]}, 9000),
    ("/v1/models", {"data": [{"id": "m", "context_length": True}]}, None),
    ("/v1/models", ["no", "object"], None),
    ("/elsewhere", {}, None),
]


@pytest.mark.parametrize("provider", ["openai", "ollama"])
@pytest.mark.parametrize(("path", "page", "window"), PAGES)
async def test_each_kind_of_server_tells_it_in_its_own_way(
    provider: str, path: str, page: Any, window: int | None
) -> None:
    with serving(HELLO) as canned:
        canned.pages[path] = page
        async with opened(canned, f"{provider}/m") as model:
            assert model.window is None
            await model.reply(asking(GO))

            assert model.window == window


@pytest.mark.parametrize(
    ("page", "window"), [({"max_input_tokens": 3_000_000}, 3_000_000), ({}, 200_000)]
)
async def test_anthropic_tells_it_for_models_that_are_newer_than_the_list(
    page: dict[str, Any], window: int
) -> None:
    with serving(MESSAGE) as canned:
        canned.pages["/v1/models/claude-opus-9"] = page
        async with opened(canned, "anthropic/claude-opus-9") as model:
            await model.reply(asking(GO))

            assert model.window == window


async def test_a_model_of_the_list_is_not_asked_for() -> None:
    with serving(MESSAGE) as canned:
        canned.pages["/v1/models/claude-opus-4-8"] = {"max_input_tokens": 1}
        async with opened(canned, OPUS) as model:
            await model.reply(asking(GO))

            assert model.window == 1_000_000


async def test_it_is_asked_once() -> None:
    with serving(HELLO) as canned:
        async with opened(canned, "openai/m") as model:
            await model.reply(asking(GO))
            canned.pages["/props"] = {"default_generation_settings": {"n_ctx": 2048}}
            await model.reply(asking(GO))

            assert model.window is None


async def test_what_the_settings_say_is_not_asked() -> None:
    catalog = {"openai/m": CatalogEntry(window=8000)}
    with serving(HELLO) as canned:
        canned.pages["/props"] = {"default_generation_settings": {"n_ctx": 2048}}
        async with opened(canned, "openai/m", catalog=catalog) as model:
            await model.reply(asking(GO, max_output_tokens=8192))

            assert model.window == 8000

    assert canned.bodies[0]["max_tokens"] == 2000  # a quarter of the window


async def test_a_server_that_does_not_answer_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        async with openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0) as client:
            assert await WindowQuestion("m", url, patience_s=0.05)(client) is None
