"""The tools of the turn loop, and which of them an agent has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.work.tools.base import Tool, Toolbox
from runner.work.tools.board import CLAIM_TASK, CREATE_TASK, LIST_TASKS
from runner.work.tools.files import EDIT, LS, READ, WRITE
from runner.work.tools.finding import REPORT_FINDING
from runner.work.tools.search import FIND, GREP
from runner.work.tools.shell import BASH, limited_bash
from runner.work.tools.talk import SEND_MESSAGE

if TYPE_CHECKING:
    from runner.agents.effective import EffectiveAgent

STANDING_TOOLS: dict[str, Tool] = {
    tool.spec.name: tool
    for tool in (
        *(READ, LS, FIND, GREP, LIST_TASKS),
        *(WRITE, EDIT, BASH, CREATE_TASK, CLAIM_TASK, SEND_MESSAGE, REPORT_FINDING),
    )
}
"""Every tool but `task`, whose description depends on who may be started."""


def toolbox(agent: EffectiveAgent, *built: Tool) -> Toolbox:
    """The tools of `agent`; `built` are those made for it alone."""
    if agent.commands:
        built = (*built, limited_bash(agent.commands))
    known = STANDING_TOOLS | {tool.spec.name: tool for tool in built}
    return Toolbox(tools={name: known[name] for name in agent.tools if name in known})
