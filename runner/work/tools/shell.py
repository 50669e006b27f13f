"""bash: commands in the workspace."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from runner.agents.effective import Patterns
from runner.errors import ToolError
from runner.work.messages import ToolSpec
from runner.work.processes.commands import run_command
from runner.work.tools.base import Tool, ToolContext, parameters
from runner.work.tools.command_rules import described, permitted

DEFAULT_TIMEOUT_S = 120
LONGEST_TIMEOUT_S = 3_600
_OUTPUT_LIMIT = 1_048_576  # bytes; what the history takes of it is bounded for all tools alike


async def _bash(arguments: Mapping[str, Any], context: ToolContext) -> str:
    timeout_s = min(arguments.get("timeout", DEFAULT_TIMEOUT_S), LONGEST_TIMEOUT_S)
    command, limits = arguments["command"], context.agent.commands
    result = await run_command(
        permitted(command, limits) if limits else command,
        cwd=context.workspace.root,
        timeout_s=timeout_s,
        processes=context.teammate.processes,
        leftovers=context.leftovers,
        output_limit=_OUTPUT_LIMIT,
        keep="ends",
        clock=context.teammate.clock,
    )
    output = result.output
    if result.timed_out:
        raise ToolError(f"{_line(output)}[stopped: not finished after {timeout_s:g} s]")
    if result.exit != 0:
        return f"{_line(output)}[exit status {result.exit}]"
    return output


def _line(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


BASH = Tool(
    run=_bash,
    spec=ToolSpec(
        name="bash",
        description=(
            "Run a shell command in the workspace; each call starts there anew. Standard input is "
            "empty: a program that asks gets no answer. A program started with & runs on until "
            "the attempt ends; redirect its output to a file to read it."
        ),
        parameters=parameters(
            "command",
            command={"type": "string"},
            timeout={
                "type": "number",
                "minimum": 1,
                "description": "Seconds; default 120, at most 3600.",
            },
        ),
    ),
)


def limited_bash(limits: tuple[Patterns, ...]) -> Tool:
    """`bash` as it is offered to an agent that may only run what each of these lists allows."""
    lists = " and in every case ".join(described(patterns) for patterns in limits)
    description = (
        f"Run one command in the workspace; {lists}. No shell stands behind it: no pipes, no "
        "redirection, no && or ;, no variables, no patterns of file names; quotes work as usual. "
        "Each call starts in the workspace anew; standard input is empty."
    )
    return dataclasses.replace(BASH, spec=dataclasses.replace(BASH.spec, description=description))
