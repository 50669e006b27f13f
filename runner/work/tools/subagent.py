"""task: subagents, each with its own history and a result of its own."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.errors import ToolError
from runner.team.outcome import Done, reason
from runner.work.json_values import kind_of
from runner.work.messages import ToolSpec
from runner.work.tags import neutralised
from runner.work.tools.base import Tool, ToolContext, parameters

if TYPE_CHECKING:
    from runner.agents.definition import AgentDefinition
    from runner.work.children import Child

TASK = "task"
MOST_BYTES = 500_000
MOST_LINES = 5_000
_LONGEST_DESCRIPTION = 300  # characters of an agent's description that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The work of one subagent.

    `description` is a short name for it, `context` what all of the call are told; either may be
    empty.
    """

    assignment: str
    description: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One call: pieces of work for subagents of one agent."""

    agent: str
    pieces: tuple[Piece, ...]
    schema: Mapping[str, Any] | None = None
    background: bool = False


CarryOut = Callable[[Order], Awaitable[str]]


def task_tool(startable: Sequence[AgentDefinition], carry_out: CarryOut, *, offered: bool) -> Tool:
    """The tool for one attempt. `startable` are told in its description, as they are now.

    `carry_out` decides by the files of the moment of the call.
    """

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> str:
        return await carry_out(read_order(arguments))

    return Tool(
        spec=ToolSpec(name=TASK, description=_description(startable), parameters=_PARAMETERS),
        run=run,
        read_only=True,  # what changes files are the tools of the subagents
        limited=False,
        offered=offered,
    )


def read_order(arguments: Mapping[str, Any]) -> Order:
    """The call as an order. Raises: ToolError, naming the item that is wrong."""
    items = arguments["tasks"]
    if not items:
        raise ToolError(f"{TASK}: `tasks` is empty: give an item with an `assignment` for each")
    context = arguments.get("context", "")
    return Order(
        agent=arguments["agent"],
        pieces=tuple(_piece(number, item, context) for number, item in enumerate(items, 1)),
        schema=arguments.get("schema"),
        background=arguments.get("background", False),
    )


def _piece(number: int, item: Mapping[str, Any], context: str) -> Piece:
    what = f"{TASK}: item {number} of `tasks`"
    given = {key: value for key, value in item.items() if value is not None}
    for key, value in given.items():
        if key not in _ITEM["properties"]:
            raise ToolError(f"{what}: there is no {key!r}; known: {', '.join(_ITEM['properties'])}")
        if not isinstance(value, str):
            raise ToolError(f"{what}: {key!r} must be string, not {kind_of(value)}")
    if not given.get("assignment", "").strip():
        raise ToolError(f"{what}: the `assignment` is missing or empty")
    return Piece(**given, context=context)


def started(children: Iterable[Child]) -> str:
    """What a call in the background is answered with."""
    lines = [f"{_name(child)}: started; transcript: {child.transcript}" for child in children]
    return "\n".join(
        [
            *lines,
            "Each result is told to you in the turn after it is there. Go on with other work, or "
            "end your turn without a call to wait for the next result.",
        ]
    )


def results(children: Sequence[Child]) -> str:
    """The results of one call in its order. Raises: ToolError with them, if all have failed."""
    text = "\n\n".join(result(child) for child in children)
    if not any(isinstance(child.outcome, Done) for child in children):
        raise ToolError(text)
    return text


def result(child: Child) -> str:
    """How one ended: its data as JSON or its error, bounded, and where the whole of it is."""
    outcome = child.outcome
    if outcome is None:
        raise AssertionError("unreachable: only what has ended has a result")
    if isinstance(outcome, Done):
        data = json.dumps(outcome.result, ensure_ascii=False, indent=2, default=str)
        lines = [f"{_name(child)}: done", *outcome.usage.warnings, _bounded(data, child)]
    else:
        # further lines are set in, so that they cannot pass for another subagent's
        why = _bounded((reason(outcome) or "").replace("\n", "\n  "), child)
        lines = [f"{_name(child)}: failed: {why}"]
    return "\n".join([*lines, f"transcript: {child.transcript}"])


def _name(child: Child) -> str:
    return f"subagent {child.id} ({child.agent})"


def _bounded(text: str, child: Child) -> str:
    data = text.encode("utf-8", "replace")
    lines = data.split(b"\n")
    if len(data) <= MOST_BYTES and len(lines) <= MOST_LINES:
        return text
    kept = b"\n".join(lines[:MOST_LINES])[:MOST_BYTES].decode("utf-8", "ignore")
    return (
        f"{kept}\n[... cut at {MOST_BYTES:,} bytes or {MOST_LINES:,} lines of {len(data):,} bytes "
        f"in {len(lines):,} lines; the whole result is in {child.transcript} ...]"
    )


def _description(startable: Sequence[AgentDefinition]) -> str:
    return f"{_ABOUT}\n\nAgents:\n" + ("\n".join(_listed(startable)) or "none")


def _listed(startable: Iterable[AgentDefinition]) -> Iterator[str]:
    for agent in startable:
        about = " ".join(neutralised(agent.description).split())
        if len(about) > _LONGEST_DESCRIPTION:
            about = f"{about[:_LONGEST_DESCRIPTION]}..."
        waited = " (always waited for)" if agent.blocking else ""
        yield f"- {agent.name}{waited}: {about}"


_ABOUT = (
    "Start subagents and get their results. Each works on one item of `tasks` with a history of "
    "its own, with the tools of its agent and never with more than you have. It sees neither your "
    "conversation nor the other items: put all that it needs into `assignment`, or into `context` "
    "for all of them. The items of one call run side by side; they share the workspace, so give "
    "no two of them the same file.\n"
    "The call waits for all results. With `background` it returns at once, and each result is "
    "told to you in a later turn; end a turn without a call to wait for the next one. What you "
    "hand in counts only when all have ended and were told to you.\n"
    "Do not ask for an output format in prose: format instructions in `assignment` or `context` "
    "clash with the schemas of `explore` and `reviewer` and give null results. `schema` is the "
    "shape of the results of an agent that has none of its own."
)
_ITEM: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "assignment": {"type": "string", "description": "The whole assignment."},
        "description": {"type": "string", "description": "A few words that name it."},
    },
    "required": ["assignment"],
    "additionalProperties": False,
}
_PARAMETERS = parameters(
    "agent tasks",
    agent={"type": "string", "description": "Name of the agent that does each item."},
    tasks={"type": "array", "items": _ITEM, "description": "One subagent for each item."},
    context={"type": "string", "description": "What all of them need to know."},
    schema={"type": "object", "description": "JSON Schema (or JTD) of each result."},
    background={"type": "boolean", "description": "Do not wait for the results."},
)
