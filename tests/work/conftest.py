"""A teammate with a claimed task on a real board, and a model that says what a test wrote down."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runner.board.board import Board
from runner.board.task import Task
from runner.core.clock import Clock, SystemClock
from runner.core.events import Journal, read_journal
from runner.core.layout import Layout
from runner.core.settings import Settings
from runner.errors import UnknownRecipient
from runner.team.guardian import ProcessGroups
from runner.team.message import Message
from runner.team.outcome import Outcome
from runner.team.types import Mail, Teammate
from runner.testing import ScriptedModel, make_board
from runner.testing.model import Step
from runner.work.agent_work import AgentWork, agent_work
from runner.work.messages import Model


@dataclass(slots=True)
class Post:
    """An inbox that a test fills; `read` has the ids of the messages that count as read.

    What is sent to `bob` or `lead` is kept in `sent`.
    """

    waiting: list[Message] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    sent: list[tuple[str, str]] = field(default_factory=list)

    def arrive(self, text: str, *, sender: str = "lead", message_id: str = "m1") -> None:
        self.waiting.append(
            Message(
                id=message_id,
                type="message",
                sender=sender,
                content=text,
                timestamp="2026-01-01T00:00:00.000Z",
            )
        )

    async def receive(self) -> Mail | None:
        if not self.waiting:
            return None
        messages = tuple(self.waiting)
        self.waiting.clear()

        async def commit() -> None:
            self.read.extend(message.id for message in messages)

        return Mail(messages=messages, commit=commit)

    async def send(self, to: str, text: str, type_: str, extra: Mapping[str, Any]) -> str:
        if to not in self.members():
            raise UnknownRecipient(to, self.members())
        self.sent.append((to, text))
        return f"sent-{len(self.sent)}"

    def members(self) -> tuple[str, ...]:
        return ("ann", "bob", "lead")


def make_teammate(layout: Layout, **more: Any) -> Teammate:
    """`ann`, a coder in run r1 on this board, with real files; the clock is real by default."""
    layout.ensure_team()
    clock = more.setdefault("clock", SystemClock())
    journal = Journal(layout.runs / "r1.jsonl", run="r1", clock=clock)
    about = {"name": "ann", "role": "coder", "agent": None, "team": "red", "post": Post()}
    return Teammate(
        run="r1",
        board=Board(layout, clock=clock, journal=journal, run="r1"),
        journal=journal,
        processes=ProcessGroups(),
        **(about | more),
    )


class Stage:
    """One teammate, `ann`, who claims tasks of the board and works on them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.layout = make_board(root)
        self.layout.ensure_team()
        (root / "home").mkdir()
        self.settings = Settings(team="red")
        self.environ: dict[str, str] = {}
        self.post = Post()
        self.clock: Clock = SystemClock()
        self.stopping = False
        self.model: Model = ScriptedModel()
        self._mate: Teammate | None = None

    def agent(self, name: str, body: str = "Do the work.", **fields: Any) -> None:
        """Write an agent file of the project."""
        folder = self.root / ".xcsh" / "agents"
        folder.mkdir(parents=True, exist_ok=True)
        front = {"name": name, "description": "works", **fields}
        lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in front.items())
        (folder / f"{name}.md").write_text(f"---\n{lines}---\n{body}\n", encoding="utf-8")

    @property
    def mate(self) -> Teammate:
        if self._mate is None:
            self._mate = make_teammate(
                self.layout,
                team=self.settings.team,
                clock=self.clock,
                post=self.post,
                asked_to_stop=lambda: self.stopping,
            )
        return self._mate

    async def claim(self, task_id: int = 1, **fields: Any) -> Task:
        make_board(self.root, [{"id": task_id, **fields}])
        return await self.mate.board.claim(task_id, self.mate.claimant)

    async def do(self, *steps: Step, task_id: int = 1, **fields: Any) -> Outcome:
        """Claim a new task with these fields and work on it with these turns."""
        task = await self.claim(task_id, **fields)
        return await self.work(task, *steps)

    async def work(self, assigned: Task | Mail, *steps: Step) -> Outcome:
        if steps:
            self.model = ScriptedModel(steps)
        return await self.agent_work(self.model)(assigned, self.mate)

    def agent_work(self, model: Model | None) -> AgentWork:
        """What does the work of a run here; without a model, the settings say which."""
        return agent_work(
            self.layout,
            self.settings,
            model=model,
            home=self.root / "home",
            environ=self.environ,
        )

    @property
    def scripted(self) -> ScriptedModel:
        assert isinstance(self.model, ScriptedModel)
        return self.model

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = read_journal(self.layout.runs / "r1.jsonl")
        return [line for line in lines if line["event"] == name]

    def transcript(self, task_id: int = 1, attempt: int = 1) -> list[dict[str, Any]]:
        path = self.layout.transcripts / f"task_{task_id}" / f"{attempt}.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def told(model: ScriptedModel, request: int = -1) -> str:
    """All text of the last user turn of a request."""
    turn = model.requests[request].turns[-1]
    results: Sequence[Any] = getattr(turn, "results", ())
    return "\n".join([*(result.text for result in results), turn.text])
