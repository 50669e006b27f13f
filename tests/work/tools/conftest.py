"""One teammate with real tools on a real board and workspace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from runner.agents.definition import AgentDefinition
from runner.board.board import Board
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.layout import Layout
from runner.errors import UnknownAgent, UnknownRecipient
from runner.team.guardian import ProcessGroups
from runner.team.types import Mail, Teammate
from runner.testing.board import make_board
from runner.work.commands import Leftovers
from runner.work.tools import toolbox
from runner.work.tools.base import ToolContext
from runner.work.workspace import Workspace


def make_agent(name: str, tools: tuple[str, ...] | None = None, **more: Any) -> AgentDefinition:
    return AgentDefinition(
        name=name,
        description="helps",
        system_prompt="Help.",
        source="project",
        file=f"{name}.md",
        tools=tools,
        **more,
    )


@dataclass(slots=True)
class Letters:
    """A post that keeps what was sent; alice and bob can be written to."""

    sent: list[tuple[str, str]] = field(default_factory=list)

    async def receive(self) -> Mail | None:
        return None

    async def send(self, to: str, text: str, type_: str, extra: Mapping[str, Any]) -> str:
        if to not in self.members():
            raise UnknownRecipient(to, self.members())
        self.sent.append((to, text))
        return "m-1"

    def members(self) -> tuple[str, ...]:
        return ("alice", "bob")


@dataclass(slots=True)
class Bench:
    """Runs tools by name, as the turn loop does."""

    context: ToolContext
    letters: Letters

    @property
    def root(self) -> Path:
        return self.context.workspace.root

    async def __call__(self, tool: str, **arguments: Any) -> str:
        return await toolbox(self.context.agent).run(tool, arguments, self.context)

    def change(self, **fields: Any) -> None:
        """Let the context differ in some fields."""
        self.context = replace(self.context, **fields)


AGENTS = {
    "task": make_agent("task"),
    "coder": make_agent("coder", ("read", "write", "create_task", "submit_result")),
    "reader": make_agent("reader", ("read", "submit_result")),
    "starter": make_agent("starter", ("read", "submit_result"), spawns="*"),
}


def find_agent(name: str) -> AgentDefinition:
    if name not in AGENTS:
        raise UnknownAgent(name, sorted(AGENTS))
    return AGENTS[name]


def make_teammate(layout: Layout, letters: Letters | None = None) -> Teammate:
    """alice in run-1 on this board, with real files and the real clock."""
    layout.ensure_team()
    clock = SystemClock()
    journal = Journal(layout.runs / "run-1.jsonl", run="run-1", clock=clock)
    return Teammate(
        name="alice",
        role="worker",
        agent=None,
        team="team",
        run="run-1",
        board=Board(layout, clock=clock, journal=journal, run="run-1"),
        clock=clock,
        journal=journal,
        processes=ProcessGroups(),
        post=letters or Letters(),
    )


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    layout, letters = make_board(tmp_path / "root"), Letters()
    teammate = make_teammate(layout, letters)
    with closing(Leftovers(teammate.processes)) as leftovers:
        context = ToolContext(
            workspace=Workspace(layout.workspace, readable=(layout.output,)),
            teammate=teammate,
            leftovers=leftovers,
            agent=AGENTS["task"],
            task=None,
            find_agent=find_agent,
            output_dir=layout.output,
        )
        yield Bench(context, letters)
