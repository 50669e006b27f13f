"""Whatever happens to a history, each API accepts what is made of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import given, settings
from hypothesis import strategies as st

from runner import Settings
from runner.core.model_settings import ProviderSettings
from runner.testing import FakeServer, call, calls, say, think
from runner.work.histories.history import History, check
from runner.work.histories.turns import turns_as_json, turns_from_json
from runner.work.messages import Model, ModelReply, ModelRequest, ToolCall, ToolResult, ToolSpec
from runner.work.models import Models

NAMES = ("ls", "write", "unheard_of", "mcp.odd name!", "")
TOOLS = tuple(
    ToolSpec(name=name, description="works", parameters={"type": "object", "properties": {}})
    for name in ("ls", "write")
)
MODELS = {
    "a budget for thinking": "anthropic/claude-haiku-4-5",
    "thinking by itself": "anthropic/claude-opus-4-6",
    "chat": "openai/gpt-5",
    "responses": "openai/gpt-5",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied:
    """The model says this; so many of its calls get a result, a death takes the others."""

    reply: ModelReply
    answered: int
    result: str
    choice: Literal["auto", "required"] = "auto"
    level: str | None = "medium"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A message, a reminder, the next assignment."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """Only the end stays, behind a summary if there is one."""

    start: int
    summary: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """A death, after which the history is read back from a transcript of so many turns."""

    turns: int


Move = Replied | Told | Shortened | Resumed

texts = st.one_of(
    st.just(""),
    st.sampled_from(["\n ", "\u2028", "half \ud83d", "plain", "\0"]),
    st.text(max_size=30),
)
arguments = st.sampled_from(
    ["", " ", "null", "{}", "[]", '{"path": "a', '{"path": "half \\ud83d"}', '{"path": "a.txt"}']
)
made_calls = st.builds(
    ToolCall,
    id=st.sampled_from(["", "c1", "c2", "functions.ls:0", "x" * 90, "1_1_0"]),
    name=st.sampled_from(NAMES),
    arguments=st.none(),
    raw=arguments,
)
bare_replies = st.builds(
    ModelReply,
    text=texts,
    calls=st.lists(made_calls, max_size=3).map(tuple),
    stop=st.sampled_from(["end", "tool_calls", "length", "refusal", "other"]),
)
thoughts = st.builds(think, st.text(min_size=1, max_size=20), bare_replies)
replied = st.builds(
    Replied,
    reply=st.one_of(thoughts, bare_replies),
    answered=st.integers(0, 3),
    result=texts,
    choice=st.sampled_from(["auto", "auto", "auto", "required"]),
    level=st.sampled_from(["medium", "medium", "medium", "off", None]),
)
told = st.builds(Told, text=texts)
shortened = st.builds(Shortened, start=st.integers(0, 12), summary=st.one_of(st.none(), texts))
resumed = st.builds(Resumed, turns=st.integers(4, 16))
kinds: list[st.SearchStrategy[Move]] = [
    replied,
    replied,
    replied,
    replied,
    told,
    shortened,
    resumed,
]
moves = st.sampled_from(kinds).flatmap(lambda kind: kind)


class Parrot:
    """Says what it was told to say."""

    name = "parrot/test"

    def __init__(self) -> None:
        self.says = ModelReply()

    async def reply(self, request: ModelRequest) -> ModelReply:
        return self.says


async def converse(model: Model, parrot: Parrot, moves: Sequence[Move]) -> None:
    """Carry out all moves, with a request after each."""
    history = History()
    history.tell("Begin.")
    for move in [*moves, Replied(reply=say("Done."), answered=0, result="")]:
        match move:
            case Told():
                history.tell(move.text)
            case Shortened():
                kept = history.turns[move.start % len(history) :]
                history.replace(kept)
                if move.summary is not None:
                    summary = History()
                    summary.tell(move.summary)
                    history.replace([*summary.turns, *kept])
            case Resumed():
                saved = json.dumps(turns_as_json(history.turns[: move.turns + 1]))
                history = History(turns_from_json(json.loads(saved)))
            case Replied():
                parrot.says = move.reply
                await _reply(model, history, move)
        # the runner never asks without having something to say
        history.tell("Go on.")


async def _reply(model: Model, history: History, move: Replied) -> None:
    request = ModelRequest(
        system="You work.",
        turns=history.for_request(),
        tools=TOOLS,
        tool_choice=move.choice,
        thinking_level=move.level,
    )
    check(request.turns)
    heard = await model.reply(request)
    turn = history.hear(heard.text, heard.calls, heard.native)
    for one in turn.calls[: move.answered]:
        history.tell("", [ToolResult(call_id=one.id, name=one.name, text=move.result)])
    history.settle()


@pytest.mark.parametrize("kind", MODELS)
def test_any_turns_cancellations_messages_compactions_and_resumes_give_valid_requests(
    kind: str, tmp_path: Path
) -> None:
    parrot = Parrot()
    with FakeServer(parrot) as server, start_blocking_portal() as portal:
        models = opened(kind, server, tmp_path)
        model = models.choose(None).model

        @settings(max_examples=50, deadline=None)
        @given(st.lists(moves, min_size=3, max_size=15))
        def is_accepted(listed: list[Move]) -> None:
            before = len(server.refusals)
            portal.call(converse, model, parrot, listed)
            assert server.refusals[before:] == []

        is_accepted()
        portal.call(models.aclose)
    assert len(server.asked) > 120


def opened(kind: str, server: FakeServer, root: Path) -> Models:
    """The models of a run whose default is the one of this kind."""
    api = kind if kind in ("chat", "responses") else None
    chosen = Settings(model=MODELS[kind], providers={"openai": ProviderSettings(api=api)})
    return Models(chosen, base_dir=root, environ=server.environ)


@pytest.mark.parametrize("kind", MODELS)
async def test_a_history_cut_at_any_place_twice_keeps_calls_and_results_together(
    kind: str, tmp_path: Path
) -> None:
    history = History()
    history.tell("Begin.")
    both = calls(call("ls"), call("write", path="a"))
    for number in range(3):
        turn = history.hear(
            f"turn {number}", [replace(one, id=f"{one.id}{number}") for one in both.calls]
        )
        for one in turn.calls:
            history.tell("", [ToolResult(call_id=one.id, name=one.name, text="done")])
        history.tell(f"message {number}")
    with FakeServer(Parrot()) as server:
        models = opened(kind, server, tmp_path)
        model = models.choose(None).model
        for first in range(len(history)):
            once = History(history.turns[first:])
            for second in range(len(once)):
                again = History(once.turns[second:]).for_request()
                await model.reply(ModelRequest(system="You work.", turns=again, tools=TOOLS))
        await models.aclose()

    assert server.refusals == []
