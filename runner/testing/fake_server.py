"""A model's API on this machine: real HTTP, judged as strictly as the vendors do."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.from_thread import start_blocking_portal
from anyio.streams.buffered import BufferedByteReceiveStream

from runner.testing.answering import Answering, Asked
from runner.testing.bare_http import read_request, write_response
from runner.testing.groups import first_error
from runner.testing.model import ScriptedModel, Step
from runner.work.messages import Model
from runner.work.models.script import ScriptModel, load_script

API_KEY = "sk-fake-0123456789"
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError)


class FakeServer:
    """Anthropic's messages, OpenAI's chat completions and its responses, at one address.

    `model` says what is answered: a `ScriptedModel` or any other model, a list of steps, or the
    path of a script file. It is asked with what came over the wire; who asks is read from the
    system prompt. A step may also be a `Fault`: a cut stream, an error status and so on.

    A request that a vendor would refuse is answered with 400 and kept in `refusals`. `window` is
    how many tokens a request may have, by an estimate. Without `api_key` any key is good.

    Use it as a context manager. It runs in a thread of its own: processes can be its clients too.
    An error of the script itself, in a function of a test, ends the server and is raised at the end
    of the block.
    """

    def __init__(
        self,
        model: Model | Path | Iterable[Step],
        *,
        window: int | None = None,
        api_key: str | None = None,
    ) -> None:
        self.model = _model(model)
        self.port = 0
        self._key = api_key or API_KEY
        self._answering = Answering(self.model, window=window, api_key=api_key)
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            opened = portal.wrap_async_context_manager(self._open())
            self.port = stack.enter_context(opened)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._stack.close()
        except BaseExceptionGroup as errors:
            raise first_error(errors) from None

    @property
    def url(self) -> str:
        """The address without a path: the base URL for Anthropic's SDK."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def environ(self) -> dict[str, str]:
        """The variables that make `anthropic/NAME`, `openai/NAME` and `ollama/NAME` come here."""
        return {
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": self._key,
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_KEY": self._key,
            "OLLAMA_HOST": self.url,
        }

    @property
    def asked(self) -> list[Asked]:
        """All requests in the order in which they came."""
        return self._answering.asked

    @property
    def refusals(self) -> list[str]:
        """Why requests were not accepted, in their order."""
        return [asked.refused for asked in self.asked if asked.refused]

    def wait_asked(self, count: int, *, within_s: float = 10.0) -> None:
        """Block until so many requests have come. Raises: AssertionError, if they do not."""
        with self._answering.news:
            came = self._answering.news.wait_for(lambda: len(self.asked) >= count, within_s)
        if not came:
            raise AssertionError(f"{len(self.asked)} requests came, {count} were expected")

    @contextlib.asynccontextmanager
    async def _open(self) -> AsyncIterator[int]:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, self._serve)
            try:
                yield int(listener.extra(SocketAttribute.local_port))  # noqa: S610 - no Django here
            finally:
                group.cancel_scope.cancel()

    async def _serve(self, connection: SocketStream) -> None:
        """All requests of one connection, until one side closes it."""
        buffered = BufferedByteReceiveStream(connection)
        async with connection:
            with contextlib.suppress(anyio.EndOfStream, anyio.IncompleteRead, *_GONE):
                whole = True
                while whole:
                    response = await self._answering.answer(await read_request(buffered))
                    if response is None:
                        return
                    await write_response(connection, response)
                    whole = response.whole


def _model(said: Model | Path | Iterable[Step]) -> Model:
    if isinstance(said, Path):
        return ScriptModel(f"script/{said}", load_script(said))
    return ScriptedModel(list(said)) if isinstance(said, Iterable) else said
