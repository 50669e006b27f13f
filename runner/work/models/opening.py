"""`provider/name` opened: whether it can be used here, over which client, in which form."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from runner.core.clock import Clock, SystemClock
from runner.core.settings import ProviderSettings, Settings
from runner.errors import ModelUnavailable
from runner.work.models import clients
from runner.work.models.anthropic import Messages
from runner.work.models.catalog import known
from runner.work.models.chat import ChatCompletions
from runner.work.models.clients import Place
from runner.work.models.connection import Connection
from runner.work.models.provided import FindWindow, ProvidedModel, WireForm
from runner.work.models.responses import Responses
from runner.work.models.window import AnthropicWindowQuestion, WindowQuestion

_PROBE_S = 0.5
_PROBED_FOR_S = 10.0  # every look at the board asks; a server does not come up in between


class Providers:
    """The providers of real models, as the settings and the environment have them.

    The models of a provider share one client, and a model is one object for the whole run.
    """

    def __init__(
        self, settings: Settings, environ: Mapping[str, str], clock: Clock | None = None
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._clock = clock or SystemClock()
        self._models: dict[str, ProvidedModel] = {}
        self._connections: dict[str, Connection] = {}
        self._absent: dict[str, float] = {}
        self._lock = threading.Lock()

    def open(self, provider: str, name: str) -> ProvidedModel:
        """The model `name` of one of `PROVIDERS`. Raises: ModelUnavailable."""
        if not name:
            raise ModelUnavailable(f"no model is named after {provider}/")
        with self._lock:  # teammates choose their models in threads
            full = f"{provider}/{name}"
            if full not in self._models:
                self._models[full] = self._opened(provider, name)
            if provider == "ollama":
                self._check_answers(clients.ollama_url(self._place(provider)))
            return self._models[full]

    async def aclose(self) -> None:
        """Close every client."""
        for connection in self._connections.values():
            await connection.aclose()

    def _opened(self, provider: str, name: str) -> ProvidedModel:
        place = self._place(provider)
        if provider not in self._connections:
            self._connections[provider] = PROVIDERS[provider](place)
        form, find_window = _form(provider, name, place)
        facts = known(provider, name, self._settings.catalog)
        if facts.window is not None and not facts.guessed:
            find_window = None
        return ProvidedModel(
            f"{provider}/{name}", self._connections[provider], form, facts, find_window
        )

    def _place(self, provider: str) -> Place:
        settings = self._settings.providers.get(provider, ProviderSettings())
        return Place(settings=settings, environ=self._environ)

    def _check_answers(self, url: str) -> None:
        """Raises: ModelUnavailable, when nothing listens at this address."""
        now = self._clock.monotonic()
        if now - self._absent.get(url, -_PROBED_FOR_S) >= _PROBED_FOR_S:
            self._absent.pop(url, None)
            if not _answers(url):
                self._absent[url] = now
        if url in self._absent:
            raise ModelUnavailable(
                f"no server answers at {url}: start it (ollama serve), or set OLLAMA_HOST"
            )


def _form(provider: str, name: str, place: Place) -> tuple[WireForm, FindWindow | None]:
    """The form of the API, and how the window of a server of one's own is found out.

    OpenAI's newest models call functions only over the Responses API; other servers that are
    called compatible speak chat completions.
    """
    if provider == "anthropic":
        in_a_cloud = place.settings.client is not None
        return Messages(), None if in_a_cloud else AnthropicWindowQuestion(name)
    if provider == "ollama":
        return ChatCompletions(), WindowQuestion(name, clients.ollama_url(place))
    azure = place.settings.client == "azure"
    base_url = None if azure else place.base_url("OPENAI_BASE_URL")
    find_window = WindowQuestion(name, base_url) if base_url else None
    usual = "chat" if azure or base_url else "responses"
    if (place.settings.api or usual) == "responses":
        return Responses(), find_window
    return ChatCompletions("max_tokens" if base_url else "max_completion_tokens"), find_window


def _answers(url: str) -> bool:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with socket.create_connection((parts.hostname or "", port), timeout=_PROBE_S):
            return True
    except OSError:
        return False


PROVIDERS: Mapping[str, Callable[[Place], Connection]] = {
    "anthropic": clients.anthropic_connection,
    "openai": clients.openai_connection,
    "ollama": clients.ollama_connection,
}
