"""What a tool is, what it gets to work with, and the box of tools that one agent has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from runner.core.files import clean_text
from runner.core.ids import random_id
from runner.errors import RunnerError, ToolError
from runner.work.messages import ToolSpec
from runner.work.processes.leftovers import Leftovers
from runner.work.tools.arguments import checked_arguments
from runner.work.workspace import Workspace

if TYPE_CHECKING:
    from runner.agents.effective import EffectiveAgent
    from runner.board.task import Task
    from runner.team.types import Teammate

OUTPUT_LIMIT = 40_000  # characters of one result that enter the history of a large model
NOTHING = "(no output)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What the tools of one attempt (or message turn) work with.

    `task` is the open task, None in a message turn. `find_agent` reads files and gives an agent
    as a teammate would run it; it raises ToolError. `output_dir` takes the whole text of
    results that are too long for the history; make it `readable` in the workspace. `redact` takes
    keys out of whatever a tool says.
    """

    workspace: Workspace
    teammate: Teammate
    leftovers: Leftovers
    agent: EffectiveAgent
    task: Task | None
    find_agent: Callable[[str], EffectiveAgent]
    output_dir: Path
    redact: Callable[[str], str] = str

    @property
    def output_limit(self) -> int:
        """Characters of one result that enter the history."""
        return OUTPUT_LIMIT


ToolFunction = Callable[[Mapping[str, Any], ToolContext], Awaitable[str]]


def in_thread(function: Callable[..., str]) -> ToolFunction:
    """A tool that is one thread hop: the workspace, then the arguments by their names."""

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> str:
        call = partial(function, context.workspace, **arguments)
        return await anyio.to_thread.run_sync(call)

    return run


def parameters(required: str = "", **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """A JSON Schema of type object; `required` are names between blanks."""
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool: how it is offered, and the function behind it.

    `run` gets arguments that fit `spec.parameters` and returns text; it raises RunnerError for
    what the model can do something about. One that is not `offered` is known only to whoever
    calls it unasked, and says why it cannot be used. One that is not `limited` waits for agents
    with limits of their own, so its call takes as long as the attempt has time.
    """

    spec: ToolSpec
    run: ToolFunction
    read_only: bool = False
    offered: bool = True
    limited: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The tools that one agent has; `submit_result` and `idle` are added by the turn loop."""

    tools: Mapping[str, Tool] = field(default_factory=dict)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools.values() if tool.offered)

    async def run(self, name: str, arguments: Mapping[str, Any], context: ToolContext) -> str:
        """Run one tool; the text is valid Unicode, never empty, bounded.

        Raises: ToolError, whose text is for the model.
        """
        tool = self.tools.get(name)
        if tool is None:
            names = ", ".join(spec.name for spec in self.specs) or "none"
            raise ToolError(f"there is no tool {name!r}; yours: {names}")
        fitting = checked_arguments(name, tool.spec.parameters, arguments)
        try:
            text = await tool.run(fitting, context)
        except RunnerError as error:
            raise ToolError(await presentable(str(error), context)) from error
        return await presentable(text, context)


async def presentable(text: str, context: ToolContext) -> str:
    """Text from outside as it may enter a history: no keys, never empty, bounded."""
    text = context.redact(clean_text(text))
    if not text.strip():
        return NOTHING
    if len(text) <= context.output_limit:
        return text
    file = output_file(context)
    await anyio.to_thread.run_sync(save_output, file, text)
    return both_ends(text, context.output_limit, file)


def output_file(context: ToolContext) -> Path:
    """A new name for what a history has no room for; the model can read it there."""
    about = f"task_{context.task.key}" if context.task else "message"
    return context.output_dir / f"{about}-{random_id()}.txt"


def save_output(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="")


def both_ends(text: str, length: int, file: Path) -> str:
    """Both ends of `text`, of this length together, and where the whole of it can be read."""
    half = length // 2
    note = f"[... {len(text) - 2 * half} characters left out; the whole output is in {file} ...]"
    return f"{text[:half]}\n{note}\n{text[len(text) - half :]}"
