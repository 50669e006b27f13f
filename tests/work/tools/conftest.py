"""One teammate with real tools on a real board and workspace."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from runner.agents.definition import AgentDefinition
from runner.agents.effective import EffectiveAgent, effective_agent
from runner.errors import UnknownAgent
from runner.testing import make_board
from runner.work.processes.leftovers import Leftovers
from runner.work.tools import toolbox
from runner.work.tools.base import ToolContext
from runner.work.workspace import Workspace
from tests.work.conftest import Post, make_teammate


def make_agent(name: str, tools: tuple[str, ...] | None = None, **more: Any) -> EffectiveAgent:
    definition = AgentDefinition(
        name=name,
        description="helps",
        system_prompt="Help.",
        source="project",
        file=f"{name}.md",
        tools=tools,
        **more,
    )
    return effective_agent(definition, max_depth=2)


@dataclass(slots=True)
class Bench:
    """Runs tools by name, as the turn loop does."""

    context: ToolContext
    post: Post

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
    "chief": make_agent("chief", spawns="*", has_spawns=True),
    "picky": make_agent("picky", spawns=("reader",), has_spawns=True),
    "coder": make_agent("coder", ("read", "write", "create_task", "submit_result")),
    "reader": make_agent("reader", ("read", "submit_result")),
    "git": make_agent("git", ("bash(git:*)", "create_task", "submit_result")),
    "gitlog": make_agent("gitlog", ("bash(git log:*)", "submit_result")),
    "lost": make_agent("lost", ("no_such_tool", "submit_result")),
    "starter": make_agent("starter", ("read", "submit_result"), spawns="*", has_spawns=True),
}


def find_agent(name: str) -> EffectiveAgent:
    if name not in AGENTS:
        raise UnknownAgent(name, sorted(AGENTS))
    return AGENTS[name]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    layout, post = make_board(tmp_path / "root"), Post()
    teammate = make_teammate(layout, post=post)
    async with Leftovers(teammate.processes) as leftovers:
        context = ToolContext(
            workspace=Workspace(layout.workspace, readable=(layout.output,)),
            teammate=teammate,
            leftovers=leftovers,
            agent=AGENTS["task"],
            task=None,
            find_agent=find_agent,
            output_dir=layout.output,
        )
        yield Bench(context, post)
