"""One answer as it comes in, whatever the API: its events, and what their failures mean."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from runner.work.models.failures import of_error, understanding
from runner.work.models.provided import Asked
from runner.work.models.wire import Json


async def take_events(
    opening: Awaitable[Any], take: Callable[[Json], None], asked: Asked, api_error: type[Exception]
) -> str:
    """Hand every event of an SDK's stream to `take`; the content type of the answer.

    `api_error` is the family of the SDK's own errors. Raises: ModelError.
    """
    import httpx2

    try:
        async with await opening as stream:
            with understanding(asked.name):
                async for event in stream:
                    take(event.to_dict(warnings=False))
            return str(stream.response.headers.get("content-type", ""))
    except (api_error, httpx2.HTTPError, ValueError) as error:
        raise of_error(asked.name, error, key=asked.key) from error
