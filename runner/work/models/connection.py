"""One client of a vendor's SDK, opened when the first request is made and shared from then on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread


class Connection:
    """The way to one server. `key` says for people where its key comes from.

    `open_client` imports the SDK, which takes up to a second: it runs in a thread. `login_errors`
    are what a cloud raises when a request cannot be signed.
    """

    def __init__(
        self,
        open_client: Callable[[], Any],
        *,
        key: str,
        login_errors: tuple[type[Exception], ...] = (),
    ) -> None:
        self.key = key
        self.login_errors = login_errors
        self._open_client = open_client
        self._client: Any = None
        self._opening = anyio.Lock()

    async def client(self) -> Any:
        """The client, an `AsyncAnthropic` or `AsyncOpenAI`."""
        async with self._opening:
            if self._client is None:
                self._client = await anyio.to_thread.run_sync(self._open_client)
            return self._client

    async def aclose(self) -> None:
        """Close what is open; a later request opens it again."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()
