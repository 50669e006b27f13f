"""The same loop against a real model, which cannot do tasks: the protocol is tested, no content.

Its server accepts anything, so what is sent is judged by our own check.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from runner import MemberSpec, Settings, run_team
from runner.core.model_settings import CatalogEntry, ProviderSettings
from runner.core.settings import Limits
from runner.errors import ContextOverflow
from runner.testing import make_board
from runner.work.histories.history import check
from runner.work.messages import Model, ModelReply, ModelRequest, ToolSpec, UserTurn
from runner.work.models import Models
from tests.live.conftest import ADDRESS

pytestmark = pytest.mark.timeout(600)
MODELS = ("openai/smol", "anthropic/smol")
LONGEST = 300  # tokens of a reply: this model would ramble for minutes
ENVIRON = {
    "OPENAI_BASE_URL": f"{ADDRESS}/v1",
    "ANTHROPIC_BASE_URL": ADDRESS,
    "ANTHROPIC_API_KEY": "none",
}
TASKS: list[dict[str, Any]] = [
    {"subject": "Greet", "description": "Say hello."},
    {"subject": "List", "description": "List the files.", "maxAttempts": 1},
    {"subject": "Count", "schema": {"properties": {"lines": {"type": "uint32"}}}},
    {"subject": "Check", "verify": "false"},
]
READ = ToolSpec(
    name="read",
    description="Read a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}},
)


class Checked:
    """A model whose every request is looked at; it counts how replies end."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.stops: Counter[str] = Counter()
        self._model = model

    async def reply(self, request: ModelRequest) -> ModelReply:
        check(request.turns)
        reply = await self._model.reply(request)
        self.stops[reply.stop] += 1
        return reply


@asynccontextmanager
async def opened(name: str, root: Path) -> AsyncIterator[Model]:
    settings = Settings(
        model=name,
        providers={"openai": ProviderSettings(api="chat")},
        catalog=dict.fromkeys(MODELS, CatalogEntry(max_output=LONGEST)),
    )
    models = Models(settings, base_dir=root, environ=ENVIRON)
    try:
        yield models.choose(None).model
    finally:
        await models.aclose()


def asking(text: str, *, tokens: int = 64) -> ModelRequest:
    turns = (UserTurn(text=text),)
    return ModelRequest(system="You are brief.", turns=turns, max_output_tokens=tokens)


@pytest.mark.parametrize("name", MODELS)
async def test_a_run_ends_by_itself_with_an_outcome_for_every_task(
    tmp_path: Path, name: str
) -> None:
    make_board(tmp_path, TASKS)
    agents = tmp_path / ".xcsh" / "agents"
    agents.mkdir(parents=True)
    front = "name: worker\ndescription: works\ntools: [read, write, ls]"
    (agents / "worker.md").write_text(f"---\n{front}\n---\nYou do small things.\n")
    (tmp_path / "home").mkdir()
    settings = Settings(
        members=(MemberSpec(name="ann"), MemberSpec(name="bob")),
        limits=Limits(max_turns=6, timeout_s=120),
    )

    async with opened(name, tmp_path) as model:
        checked = Checked(model)
        report = await run_team(tmp_path, settings=settings, model=checked, home=tmp_path / "home")

    ended = [json.loads(path.read_bytes()) for path in (tmp_path / ".tasks").iterdir()]
    print(name, report.exit_code, checked.stops, [task.get("error") for task in ended])
    assert report.exit_code in (0, 1)
    assert {task["status"] for task in ended} <= {"completed", "failed"}
    assert all(task.get("error") for task in ended if task["status"] == "failed")
    assert [row.attempts > 0 for row in report.tasks] == [True] * len(TASKS)


@pytest.mark.parametrize("name", MODELS)
async def test_a_reply_is_heard_bit_by_bit_and_its_tokens_are_counted(
    tmp_path: Path, name: str
) -> None:
    heard: list[str] = []
    request = ModelRequest(
        system="You are brief.",
        turns=(UserTurn(text="Tell me about the sea."),),
        max_output_tokens=64,
        on_text=heard.append,
    )
    async with opened(name, tmp_path) as model:
        reply = await model.reply(request)

    assert "".join(heard) == reply.text != ""
    assert len(heard) > 1
    assert reply.input_tokens > 0
    assert 0 < reply.output_tokens <= 64


@pytest.mark.parametrize("name", MODELS)
async def test_a_reply_that_reaches_its_limit_is_told_as_cut(tmp_path: Path, name: str) -> None:
    async with opened(name, tmp_path) as model:
        # few: it may end by itself after any of them
        reply = await model.reply(asking("Count from one to a hundred, in words.", tokens=2))

    assert (reply.stop, reply.output_tokens) == ("length", 2)


@pytest.mark.parametrize("name", MODELS)
async def test_a_forced_call_that_does_not_come_is_a_reply_all_the_same(
    tmp_path: Path, name: str
) -> None:
    request = ModelRequest(
        system="You are brief.",
        turns=(UserTurn(text="Read a.txt."),),
        tools=(READ,),
        tool_choice="required",
        max_output_tokens=48,
    )
    async with opened(name, tmp_path) as model:
        reply = await model.reply(request)

    print(name, reply.stop, reply.calls, repr(reply.text[:80]))
    assert reply.stop in ("end", "length", "tool_calls")
    assert reply.text or reply.calls


@pytest.mark.parametrize("name", MODELS)
async def test_a_request_longer_than_the_window_is_told_as_such(tmp_path: Path, name: str) -> None:
    async with opened(name, tmp_path) as model:
        with pytest.raises(ContextOverflow):
            await model.reply(asking("one two three four five six seven eight " * 4_000))


@pytest.mark.parametrize("name", MODELS)
async def test_after_a_reply_that_was_cancelled_the_next_one_comes(
    tmp_path: Path, name: str
) -> None:
    async with opened(name, tmp_path) as model:
        begun = anyio.Event()
        long = ModelRequest(
            system="You are wordy.",
            turns=(UserTurn(text="Tell me everything about rivers."),),
            max_output_tokens=LONGEST,
            on_text=lambda text: begun.set(),
        )
        async with anyio.create_task_group() as group:
            group.start_soon(model.reply, long)
            await begun.wait()
            group.cancel_scope.cancel()
        reply = await model.reply(asking("Say hello."))

    assert reply.text


async def test_the_window_is_asked_of_the_server(tmp_path: Path) -> None:
    async with opened("openai/smol", tmp_path) as model:
        await model.reply(asking("Say hello.", tokens=4))

    window = getattr(model, "window", None)
    print("window", window)
    assert isinstance(window, int)
    assert window <= 8192
