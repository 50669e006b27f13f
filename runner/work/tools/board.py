"""create_task, list_tasks, claim_task: the board as a model may use it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import anyio.to_thread

from runner.agents.effective import SpawnPolicy, excess
from runner.board.snapshot import State
from runner.core.files import encode_json
from runner.core.ids import key_of, order_key, safe_name
from runner.core.tool_names import TOOLS
from runner.errors import RunnerError, ToolError
from runner.work.json_values import as_json
from runner.work.messages import ToolSpec
from runner.work.results.jtd import SchemaInvalid
from runner.work.results.schema import read_schema
from runner.work.tools.base import Tool, ToolContext, parameters

if TYPE_CHECKING:
    from runner.agents.effective import EffectiveAgent
    from runner.board.snapshot import Snapshot
    from runner.board.task import Task


async def _create_task(arguments: Mapping[str, Any], context: ToolContext) -> str:
    own = context.agent
    if "verify" in arguments and not own.runs_anything:
        raise ToolError(
            "verify holds commands; only an agent that has bash without limits may set it"
        )
    fields = {**arguments, "subject": arguments["subject"].strip()}
    _check_schema(fields)
    await _check_blockers(fields, context)
    if "owner" in fields:
        safe_name("owner", fields["owner"])
    if "agent" in fields or _is_limited(own):
        choose = partial(_agent_for, fields, context)
        fields["agent"] = await anyio.to_thread.run_sync(choose)
    task = await context.teammate.board.add(fields, by=context.teammate.name)
    return f"created task #{task.id}: {task.subject}"


def _is_limited(agent: EffectiveAgent) -> bool:
    return (
        bool(agent.commands)
        or set(agent.tools) != set(TOOLS)
        or SpawnPolicy(allowed="*").exceeds(agent.spawns)
    )


def _agent_for(fields: Mapping[str, Any], context: ToolContext) -> str:
    """The agent that the new task names: without a name it would run with that of its claimer.

    Where none is asked for that is the one named like the role, else the creator's own. Raises:
    ToolError, when it cannot be used or may do more than the creator.
    """
    own, role = context.agent, fields.get("required_role")
    if "agent" not in fields and role:
        with contextlib.suppress(RunnerError):
            named = context.find_agent(role)
            if not (named.unusable or excess(named, own)):
                return named.name
    named = context.find_agent(fields.get("agent", own.name))
    if named.unusable:
        raise ToolError(f"no task can use this agent: {named.unusable}")
    if more := excess(named, own):
        raise ToolError(
            f"a created task never has more rights than its creator: agent {named.name!r} may "
            f"use {more}, which you may not; name an agent without it"
        )
    return named.name


def _check_schema(fields: Mapping[str, Any]) -> None:
    """One that cannot be used would make the task a refused one. Raises: ToolError."""
    if "schema" in fields:
        try:
            read_schema(fields["schema"])
        except SchemaInvalid as error:
            raise ToolError(f"the schema cannot be used: {error}") from error


async def _check_blockers(fields: Mapping[str, Any], context: ToolContext) -> None:
    """One that is not there would block for ever. Raises: ToolError."""
    if fields.get("blockedBy"):
        snapshot = await context.teammate.board.scan()
        unknown = [one for one in fields["blockedBy"] if key_of(one) not in snapshot.tasks]
        if unknown:
            raise ToolError(f"blockedBy: there is no task {', '.join(map(as_json, unknown))}")


async def _list_tasks(arguments: Mapping[str, Any], context: ToolContext) -> str:
    snapshot = await context.teammate.board.scan()
    if "id" in arguments:
        return _whole(snapshot, arguments["id"])
    wanted = arguments.get("state")
    lines = [
        _line(snapshot, task)
        for task in sorted(snapshot.tasks.values(), key=lambda task: order_key(task.key))
        if (snapshot.state(task) == wanted if wanted else snapshot.state(task) != "deleted")
    ]
    return "\n".join(lines) or "[no tasks]"


def _whole(snapshot: Snapshot, task_id: int | str) -> str:
    key = key_of(task_id)
    task = snapshot.tasks.get(key) if key is not None else None
    if task is None:
        raise ToolError(f"there is no task {task_id!r}; list_tasks without id shows all")
    return encode_json(task.raw).decode()


def _line(snapshot: Snapshot, task: Task) -> str:
    facts = [f"owner {task.owner}"] if task.owner else []
    facts += [f"role {task.required_role}"] if task.required_role else []
    facts += [f"agent {task.agent}"] if task.agent else []
    reason = snapshot.reason(task)
    facts += [reason] if reason else []
    line = f"#{task.id} [{snapshot.state(task)}] {task.subject}"
    return (f"{line} ({'; '.join(facts)})" if facts else line).translate(_ESCAPES)


_ESCAPES = {
    code: chr(code).encode("unicode_escape").decode()
    for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
}
"""What would end a line of the list, or forge another one."""


async def _claim_task(arguments: Mapping[str, Any], context: ToolContext) -> str:
    if context.task is not None:
        raise ToolError(f"task #{context.task.id} is open; hand in its result first")
    task = await context.teammate.claim_task(arguments["id"])
    return f"task #{task.id} is yours: {task.subject}. End this turn; the task comes next."


_ID = {"type": ["integer", "string"], "description": "Id of a task."}

CREATE_TASK = Tool(
    run=_create_task,
    spec=ToolSpec(
        name="create_task",
        description=(
            "Put a new task on the board for a teammate to claim. It runs with an agent that has "
            "no more rights than yours."
        ),
        parameters=parameters(
            "subject",
            subject={"type": "string", "description": "One line."},
            description={"type": "string", "description": "The whole assignment."},
            blockedBy={
                "type": "array",
                "items": _ID,
                "description": "Tasks that must be completed before.",
            },
            agent={
                "type": "string",
                "description": (
                    "Agent definition to use; without it one that may do no more than you."
                ),
            },
            required_role={"type": "string", "description": "Only this role may claim it."},
            owner={"type": "string", "description": "Only this teammate may claim it."},
            priority={
                "type": ["integer", "string"],
                "description": "Higher comes first; default 0. Or urgent, high, normal, low.",
            },
            verify={
                "type": "array",
                "items": {"type": "string"},
                "description": "Commands that must exit 0 before it counts as completed.",
            },
            schema={"type": "object", "description": "JSON Schema of its result."},
            timeout={"type": "number", "minimum": 1, "description": "Seconds an attempt may take."},
        ),
    ),
)

LIST_TASKS = Tool(
    read_only=True,
    run=_list_tasks,
    spec=ToolSpec(
        name="list_tasks",
        description=(
            "List the tasks of the board with their state. With id: that task whole, its result "
            "included."
        ),
        parameters=parameters(
            "",
            id=_ID,
            state={
                "type": "string",
                "enum": list(get_args(State)),
                "description": "Only tasks in this state.",
            },
        ),
    ),
)

CLAIM_TASK = Tool(
    run=_claim_task,
    spec=ToolSpec(
        name="claim_task",
        description="Claim a task, to work on it after this turn. Not while a task is open.",
        parameters=parameters("id", id=_ID),
    ),
)
