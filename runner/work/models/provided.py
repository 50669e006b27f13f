"""A model behind an API: what is the same for all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from runner.errors import ContextOverflow, ModelRejected
from runner.work.messages import ModelReply, ModelRequest
from runner.work.models.catalog import Known
from runner.work.models.connection import Connection
from runner.work.models.terms import Terms

DEFAULT_OUTPUT = 8192
_SHARE_FOR_OUTPUT = 4  # at most this part of the window
_ALLOWANCE = {"off": 0, "minimal": 1024, "low": 4096, "medium": 8192, "high": 16384, "xhigh": 32768}
"""Tokens of thinking by level. They count as output, and must not eat up the room of the answer."""
_BY_ITSELF = "medium"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as a form sends it. `max_tokens` limits the reply, thinking included."""

    name: str
    request: ModelRequest
    known: Known
    terms: Terms
    max_tokens: int
    key: str

    @property
    def model(self) -> str:
        """The name at the provider."""
        return self.name.partition("/")[2]

    @property
    def forced(self) -> bool:
        """Whether the server is told that there must be a call."""
        wanted = self.request.tool_choice == "required" and bool(self.request.tools)
        return wanted and self.terms.force and self.known.forces

    @property
    def effort(self) -> str | None:
        """The level of thinking in the words of the provider; None is left to the model."""
        return self.known.effort(self.request.thinking_level) if self.terms.effort else None


class WireForm(Protocol):
    """The form of one API."""

    async def ask(self, client: Any, asked: Asked) -> ModelReply:
        """Send it, read the stream. Raises: ModelError."""
        ...


FindWindow = Callable[[Any], Awaitable[int | None]]
"""Asks a server, by its client, how much its model reads at once; None when it does not tell."""


class ProvidedModel:
    """A `Model` that is `Windowed`, `Priced` and `Limited`; one instance serves a whole run."""

    def __init__(
        self,
        name: str,
        connection: Connection,
        form: WireForm,
        known: Known,
        find_window: FindWindow | None = None,
    ) -> None:
        self.name = name
        self._connection = connection
        self._form = form
        self._known = known
        self._find_window = find_window
        self._terms = Terms()

    @property
    def window(self) -> int | None:
        return self._known.window

    def price_usd(self, input_tokens: int, output_tokens: int) -> float | None:
        """The price without any cache: what it costs at most."""
        return self._known.usd(input_tokens, output_tokens)

    def output_limit(self, request: ModelRequest) -> int:
        """The most tokens that a reply may have, thinking included."""
        known = self._known
        level = request.thinking_level
        if level is None and known.thinking == "effort":
            level = _BY_ITSELF
        allowance = _ALLOWANCE[level] if level is not None and known.efforts else 0
        limit = (request.max_output_tokens or DEFAULT_OUTPUT) + allowance
        if known.max_output is not None:
            limit = min(limit, known.max_output)
        if known.window is not None:
            limit = min(limit, max(known.window // _SHARE_FOR_OUTPUT, 1))
        return limit

    async def reply(self, request: ModelRequest) -> ModelReply:
        """One reply; what the server does not take is left out, here and in later requests."""
        client = await self._connection.client()
        while True:
            terms = self._terms
            try:
                reply = await self._form.ask(client, self._asked(request, terms))
            except ModelRejected as error:
                less = terms.without(error, request)
                if less is None:
                    raise
                self._terms = self._terms.also(less)
            except ContextOverflow:
                await self._ask_window(client)  # a smaller reply may be all that it takes
                raise
            except self._connection.login_errors as error:
                where = self._connection.key
                text = f"{self.name}: {where} cannot be used: {error}"
                raise ModelRejected(text, status=401) from error
            else:
                await self._ask_window(client)
                return replace(reply, usd=self._known.usd_of(reply))

    def _asked(self, request: ModelRequest, terms: Terms) -> Asked:
        return Asked(
            name=self.name,
            request=request,
            known=self._known,
            terms=terms,
            max_tokens=self.output_limit(request),
            key=self._connection.key,
        )

    async def _ask_window(self, client: Any) -> None:
        """Once, after the first answer: only then a local server has surely loaded the model."""
        find, self._find_window = self._find_window, None
        if find is not None and (window := await find(client)) is not None:
            self._known = replace(self._known, window=window)
