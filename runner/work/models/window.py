"""How much a model reads at once, asked of its server.

Nothing here may cost a run anything: a server that does not know the question, or is slow to
answer, leaves the window unknown.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import anyio

from runner.work.models.wire import as_object

PATIENCE_S = 3.0
_KEYS = ("max_model_len", "context_length", "max_context_length", "loaded_context_length")
"""What servers call the window in their list of models: vLLM, gateways, LM Studio."""


class WindowQuestion:
    """Asks a compatible server for the window of `model`. `base_url` ends before `/chat/...`."""

    def __init__(self, model: str, base_url: str, *, patience_s: float = PATIENCE_S) -> None:
        self._model = model
        self._patience_s = patience_s
        self._base = base_url.rstrip("/")
        self._root = self._base.removesuffix("/v1")

    async def __call__(self, client: Any) -> int | None:
        with anyio.move_on_after(self._patience_s):
            return (
                await self._ollama(client)
                or await self._llama_cpp(client)
                or await self._listed(client)
            )
        return None

    async def _ollama(self, client: Any) -> int | None:
        """What it has loaded the model with, which is often far less than the model could."""
        answer = await _get(client, f"{self._root}/api/ps")
        names = {self._model, f"{self._model}:latest"}
        for loaded in map(as_object, answer.get("models") or ()):
            if loaded.get("name") in names:
                return _tokens(loaded.get("context_length"))
        return None

    async def _llama_cpp(self, client: Any) -> int | None:
        answer = await _get(client, f"{self._root}/props")
        return _tokens(as_object(answer.get("default_generation_settings")).get("n_ctx"))

    async def _listed(self, client: Any) -> int | None:
        answer = await _get(client, f"{self._base}/models")
        for model in map(as_object, answer.get("data") or ()):
            if model.get("id") == self._model:
                found = [_tokens(model.get(key)) for key in _KEYS]
                return next((tokens for tokens in found if tokens), None)
        return None


class AnthropicWindowQuestion:
    """Asks Anthropic for the window of `model`."""

    def __init__(self, model: str) -> None:
        self._model = model

    async def __call__(self, client: Any) -> int | None:
        with anyio.move_on_after(PATIENCE_S):
            answer = await _get(client, f"/v1/models/{quote(self._model, safe='')}")
            return _tokens(answer.get("max_input_tokens"))
        return None


async def _get(client: Any, url: str) -> Mapping[str, Any]:
    """The answer as an object; empty for any other and for every failure."""
    import httpx2

    sdk = sys.modules[type(client).__module__.partition(".")[0]]
    try:
        return as_object(await client.get(url, cast_to=object))
    except (sdk.APIError, httpx2.HTTPError, ValueError):
        return {}


def _tokens(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
