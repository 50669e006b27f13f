"""A team of one that works through the real providers, over HTTP, with a strict fake server."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runner import MemberSpec, Report, Settings, Team, run_team
from runner.core.clock import Clock
from runner.core.model_settings import ProviderSettings
from runner.testing import FakeServer, ScriptedModel, make_board, running_team
from runner.testing.model import Step
from runner.work.histories.history import check
from runner.work.messages import Model, ModelRequest, UserTurn
from runner.work.models import Models

Json = dict[str, Any]
FORMS = ("anthropic", "openai-chat", "openai-responses")


@dataclass(slots=True)
class Line:
    """One API and the board at its end. `server` is there as soon as something was run."""

    form: str
    root: Path
    model: str = "fake-model"
    role: str = "worker"
    window: int | None = None
    api_key: str | None = None
    settings: Settings = field(default_factory=Settings)
    environ: dict[str, str] = field(default_factory=dict)
    _server: FakeServer | None = None

    def thinks(self) -> None:
        """From now on the model thinks when it is told to, and the agent `thinker` tells it."""
        self.model = "claude-haiku-4-5" if self.form == "anthropic" else "gpt-5"
        self.agent("thinker", thinkingLevel="medium")

    @property
    def server(self) -> FakeServer:
        assert self._server is not None
        return self._server

    def agent(self, name: str, body: str = "Do the work.", **fields: Any) -> None:
        """An agent of the project."""
        folder = self.root / ".xcsh" / "agents"
        folder.mkdir(parents=True, exist_ok=True)
        front = {"name": name, "description": "works", **fields}
        lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in front.items())
        (folder / f"{name}.md").write_text(f"---\n{lines}---\n{body}\n", encoding="utf-8")

    async def run(self, *steps: Step, **task: Any) -> Report:
        """A run over one task that has these fields."""
        make_board(self.root, [task])
        return await self.drain(ScriptedModel(steps))

    async def drain(self, model: Model) -> Report:
        """A run over the board that is there."""
        with self._serving(model):
            return await run_team(
                self.root, settings=self._of_form(), home=self._home(), environ=self._variables()
            )

    @contextlib.asynccontextmanager
    async def team(
        self, *steps: Step, clock: Clock, tasks: Iterable[Mapping[str, Any]] = ({},)
    ) -> AsyncIterator[Team]:
        """A team that works while the body of the test looks on."""
        board = make_board(self.root, tasks)
        with self._serving(ScriptedModel(steps)):
            async with running_team(
                board,
                settings=self._of_form(),
                clock=clock,
                drain=True,
                home=self._home(),
                environ=self._variables(),
            ) as team:
                yield team

    @contextlib.asynccontextmanager
    async def opened(self, *steps: Step) -> AsyncIterator[Model]:
        """The model alone, as a run would open it."""
        with self._serving(ScriptedModel(steps)):
            models = Models(self._of_form(), base_dir=self.root, environ=self._variables())
            try:
                yield models.choose(None).model
            finally:
                await models.aclose()

    @contextlib.contextmanager
    def _serving(self, model: Model) -> Iterator[None]:
        with FakeServer(model, window=self.window, api_key=self.api_key) as self._server:
            yield

    def _of_form(self) -> Settings:
        provider, _, api = self.form.partition("-")
        self.settings = Settings(
            **{
                **{name: getattr(self.settings, name) for name in Settings.__slots__},
                "model": f"{provider}/{self.model}",
                "members": (MemberSpec(name="ann", role=self.role),),
                "providers": {"openai": ProviderSettings(api=api)} if api else {},
            }
        )
        return self.settings

    def _home(self) -> Path:
        home = self.root / "home"
        home.mkdir(exist_ok=True)
        return home

    def _variables(self) -> dict[str, str]:
        return {**self.server.environ, **self.environ}

    def task(self, number: int = 1) -> Json:
        value: Json = json.loads((self.root / f".tasks/task_{number}.json").read_bytes())
        return value

    @property
    def requests(self) -> list[ModelRequest]:
        """What was asked and accepted, in no API's form."""
        assert isinstance(self.server.model, ScriptedModel)
        return self.server.model.requests

    def told(self, request: int = -1) -> UserTurn:
        """The last user turn of a request."""
        turn = self.requests[request].turns[-1]
        assert isinstance(turn, UserTurn)
        return turn

    def results(self, request: int = -1) -> list[str]:
        """The results in that turn."""
        return [result.text for result in self.told(request).results]

    def assert_all_valid(self) -> None:
        """The server refused nothing, and our own check finds every history whole."""
        assert self.server.refusals == []
        for request in self.requests:
            check(request.turns)


def written_arguments(form: str, body: Mapping[str, Any]) -> list[Any]:
    """The arguments of all calls in a request, just as they stand there."""
    if form == "openai-responses":
        return [one["arguments"] for one in body["input"] if one.get("type") == "function_call"]
    messages: list[Json] = body["messages"]
    if form == "openai-chat":
        calls = [call for message in messages for call in message.get("tool_calls") or ()]
        return [call["function"]["arguments"] for call in calls]
    blocks = [block for one in messages if one["role"] == "assistant" for block in one["content"]]
    return [block["input"] for block in blocks if block["type"] == "tool_use"]


def set_arguments(form: str, message: Json, arguments: Any) -> None:
    """Set the arguments of the first call of an answer; `...` takes them away."""
    holder, key = _arguments_at(form, message)
    if arguments is ...:
        del holder[key]
    else:
        holder[key] = arguments


def _arguments_at(form: str, message: Json) -> tuple[Json, str]:
    if form == "openai-responses":
        return next(one for one in message["output"] if one["type"] == "function_call"), "arguments"
    if form == "openai-chat":
        return message["choices"][0]["message"]["tool_calls"][0]["function"], "arguments"
    return next(one for one in message["content"] if one["type"] == "tool_use"), "input"


@pytest.fixture(params=FORMS)
def line(request: pytest.FixtureRequest, tmp_path: Path) -> Line:
    return Line(form=request.param, root=tmp_path)
