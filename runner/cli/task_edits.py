"""`runner tasks add|edit`: what a person writes into a task."""

from __future__ import annotations

import difflib
import json
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

import click

from runner.board.saving import OWN_FIELDS
from runner.board.store import Store
from runner.board.task import Task
from runner.cli import boards, here, output
from runner.core.strict_json import read_json
from runner.errors import ConfigError, UsageError

FIELDS = (
    *("subject", "description", "owner", "agent", "required_role", "run", "verify"),
    *("blockedBy", "priority", "schema", "plan", "isolated", "timeout", "maxAttempts"),
    *("blocks", "metadata"),
)
"""What a person may set. Everything else of the format is written by the runner."""
_TEXTS = frozenset({"subject", "description", "owner", "agent", "required_role"})
_COMMANDS = frozenset({"run", "verify"})
"""A text or a list of texts: JSON of another type (`true`, `1`) is a command as it was typed."""
_METADATA = "metadata."
_REFERENCES = ("agent", "owner", "required_role")
_USE_INSTEAD = {
    "status": "`tasks done`, `fail`, `retry`, `release` or `delete`",
    "id": "nothing: an id stays; add a new task instead",
    "claim": "`tasks claim` and `tasks release`",
    "result": "`tasks done --result JSON`",
    "error": "`tasks fail --error TEXT`",
}


@click.command()
@click.argument("subject", metavar="SUBJECT", help="One line: what is to be done.")
@click.option("--description", metavar="TEXT", help="The assignment.")
@click.option("--blocked-by", metavar="IDS", multiple=True, help="Blockers: 1,2; may repeat.")
@click.option("--agent", metavar="NAME", help="Agent definition to use.")
@click.option("--role", metavar="ROLE", help="Only for teammates with this role.")
@click.option("--priority", metavar="P", help="A number; or urgent, high, medium, normal, low.")
@click.option("--run", metavar="CMD", help="A plain command; needs no model.")
@click.option("--verify", metavar="CMD", multiple=True, help="Must exit 0 at the end; may repeat.")
@click.option("--owner", metavar="NAME", help="Assign it to this teammate.")
@click.option("--schema", metavar="FILE", type=Path, help="JSON Schema or JTD of the result.")
@click.option("--timeout", metavar="S", type=float, help="Seconds of one attempt.")
@click.option("--max-attempts", metavar="N", type=int, help="So many faults set it aside.")
@click.option("--id", "task_id", metavar="ID", help="An id of your own.")
@here.as_json
@click.pass_context
def add(
    context: click.Context,
    subject: str,
    description: str | None,
    blocked_by: tuple[str, ...],
    agent: str | None,
    role: str | None,
    priority: str | None,
    run: str | None,
    verify: tuple[str, ...],
    owner: str | None,
    schema: Path | None,
    timeout: float | None,
    max_attempts: int | None,
    task_id: str | None,
    as_json: bool,
) -> None:
    """Add a task to the board."""
    fields = {
        "id": _id(task_id) if task_id is not None else None,
        "subject": subject,
        "description": description,
        "owner": owner,
        "blockedBy": _ids(blocked_by),
        "agent": agent,
        "required_role": role,
        "priority": _priority(priority),
        "schema": _schema(schema, here.directory(context)),
        "run": run,
        "verify": _checks(verify),
        "timeout": int(timeout) if timeout is not None and timeout.is_integer() else timeout,
        "maxAttempts": max_attempts,
    }
    store = boards.open_store(context)
    task = store.add({name: value for name, value in fields.items() if value is not None})
    boards.print_task(task, f"added task {task.id}: {task.subject}", as_json=as_json)
    if missing := [key for key in task.blocked_by if key not in store.scan().tasks]:
        named = ", ".join(missing)
        output.warn([f"task {task.id} waits for {named}: not on the board"])
    if {agent, owner, role} != {None}:
        _warn_of_references(task, store)


@click.command()
@here.task_id
@click.option(
    "--set",
    "assignments",
    metavar="KEY=VALUE",
    required=True,
    multiple=True,
    help="JSON or text; null removes; metadata.KEY sets one key; may repeat.",
)
@here.force
@here.as_json
@click.pass_context
def edit(
    context: click.Context, task_id: str, assignments: tuple[str, ...], force: bool, as_json: bool
) -> None:
    """Change fields of a task; all others stay as they are."""
    store = boards.open_store(context)
    store.scan()
    changes = _changes(assignments, store.find(task_id).raw)
    task = store.edit(task_id, changes, force=force)
    boards.print_task(task, f"task {task.id}: changed {', '.join(changes)}", as_json=as_json)
    if any(changes.get(name) is not None for name in _REFERENCES):
        _warn_of_references(task, store)


def _warn_of_references(task: Task, store: Store) -> None:
    """Say at once why nobody here can do the task as it is."""
    if task.status != "pending":
        return
    # team, agents and models are loaded only where a task names one of them
    from runner.cli.references import problems_of

    try:
        problems = problems_of(task, store.layout)
    except ConfigError as error:
        output.warn([f"agent, owner and role of task {task.id} are not checked: {error}"])
        return
    output.warn(f"task {task.id}: {problem.message}" for problem in problems)


def _changes(assignments: tuple[str, ...], there: Mapping[str, Any]) -> dict[str, Any]:
    """The new value of each field; None removes it. Raises: UsageError.

    `metadata.KEY` changes one key of what is in metadata.
    """
    changes: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        name = name.strip()
        if not equals or not name:
            raise UsageError(f"--set: found {assignment!r}, expected KEY=VALUE")
        key = name.removeprefix(_METADATA)
        if key == name:
            _check_field(name, there)
            changes[name] = _value(name, text)
            continue
        metadata = changes.get("metadata", there.get("metadata"))
        if not isinstance(metadata, dict | None):
            raise UsageError(f"--set {name}: the metadata of this task is no object")
        value = _value(name, text)
        others = {inner: kept for inner, kept in (metadata or {}).items() if inner != key}
        changes["metadata"] = others if value is None else {**others, key: value}
    return changes


def _id(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdecimal() else text


def _ids(texts: tuple[str, ...]) -> list[int | str] | None:
    parts = [part.strip() for text in texts for part in text.split(",")]
    return [_id(part) for part in parts if part] or None


def _priority(text: str | None) -> int | str | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return text


def _checks(commands: tuple[str, ...]) -> list[str] | None:
    """A blank one would check nothing: mostly a variable of the shell that is empty."""
    if any(not command.strip() for command in commands):
        raise UsageError("--verify: found nothing but blanks, expected a command")
    return list(commands) or None


def _schema(file: Path | None, directory: Path) -> Any:
    if file is None:
        return None
    try:
        return read_json((directory / file).read_bytes())
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"--schema {file}: expected a file of JSON: {why}") from error


def _check_field(name: str, there: Container[str]) -> None:
    """Only what a person may set, and what the file has already. Raises: UsageError."""
    if name in _USE_INSTEAD:
        raise UsageError(f"--set {name}: not set by hand; use {_USE_INSTEAD[name]}")
    if name in OWN_FIELDS:
        raise UsageError(f"--set {name}: written by the runner alone")
    if name not in FIELDS and name not in there:
        near = difflib.get_close_matches(name, FIELDS, n=1)
        hint = f"; did you mean {near[0]}?" if near else "."
        raise UsageError(
            f"--set {name}: no such field{hint} Known: {', '.join(FIELDS)}. "
            "Data of your own goes into metadata"
        )


def _value(name: str, text: str) -> Any:
    """The value as JSON, or the text as typed where it is none. Raises: UsageError."""
    if name in _TEXTS:
        return None if text == "null" else text
    try:
        value = read_json(text)
    except json.JSONDecodeError:
        return text
    except ValueError as error:
        raise UsageError(f"--set {name}: found {text[:80]!r}, expected JSON: {error}") from error
    if name in _COMMANDS and not isinstance(value, str | list | None):
        return text
    return value
