"""The tools of the turn loop, and which of them an agent has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.work.tool_names import LOOP_TOOLS, canonical, missing
from runner.work.tools.base import Tool, Toolbox
from runner.work.tools.board import CLAIM_TASK, LIST_TASKS, create_task_tool
from runner.work.tools.files import EDIT, LS, READ, WRITE
from runner.work.tools.search import FIND, GREP
from runner.work.tools.shell import BASH
from runner.work.tools.talk import SEND_MESSAGE

if TYPE_CHECKING:
    from runner.agents.definition import AgentDefinition


def toolbox(agent: AgentDefinition) -> Toolbox:
    """The tools of `agent`: all when it lists none, else only what it lists and we have.

    A tool that may be used only in part (`bash(git:*)`) is left out whole: never more than was
    meant. The same in `disallowed_tools` takes the whole tool away.
    """
    dropped: list[str] = []
    names = set(ALL_TOOLS)
    listed = [name for name in agent.tools or () if canonical(name) not in LOOP_TOOLS]
    if agent.tools is not None:
        names = {canonical(name) for name in listed if not missing(name)}
        dropped += [f"{name}: {why}; left out" for name in listed if (why := missing(name))]
    names -= {canonical(name.partition("(")[0]) for name in agent.disallowed_tools}
    tools = {
        name: tool
        for name, tool in ALL_TOOLS.items()
        if name in names and (tool.read_only or not agent.plan_mode)
    }
    unusable = None
    if listed and not tools:
        unusable = (
            f"agent {agent.name!r} can use none of its tools here ({', '.join(listed)}); "
            f"there are: {', '.join(ALL_TOOLS)}"
        )
    warnings = tuple(f"agent {agent.name!r}: tool {text}" for text in dropped)
    return Toolbox(tools=tools, warnings=warnings, unusable=unusable)


ALL_TOOLS: dict[str, Tool] = {
    tool.spec.name: tool
    for tool in (
        *(READ, LS, FIND, GREP, WRITE, EDIT, BASH),
        *(create_task_tool(toolbox), LIST_TASKS, CLAIM_TASK, SEND_MESSAGE),
    )
}
