"""`runner tasks add|edit`: what a person writes into a task."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

import click

from runner.board.saving import OWN_FIELDS
from runner.cli import boards, here
from runner.core.strict_json import read_json
from runner.errors import UsageError

FIELDS = (
    *("subject", "description", "owner", "agent", "required_role", "run", "verify"),
    *("blockedBy", "priority", "schema", "plan", "isolated", "timeout", "maxAttempts"),
    *("blocks", "metadata"),
)
"""What a person may set. Everything else of the format is written by the runner."""
_TEXTS = frozenset({"subject", "description", "owner", "agent", "required_role"})
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
@click.option("--priority", metavar="P", help="A number, or urgent, high, medium, low.")
@click.option("--run", metavar="CMD", help="A plain command; needs no model.")
@click.option("--verify", metavar="CMD", multiple=True, help="Must exit 0 at the end; may repeat.")
@click.option("--owner", metavar="NAME", help="Assign it to this teammate.")
@click.option("--schema", metavar="FILE", type=Path, help="JSON Schema or JTD of the result.")
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
        "verify": list(verify) or None,
    }
    task = boards.open_store(context).add(
        {name: value for name, value in fields.items() if value is not None}
    )
    boards.print_task(task, f"added task {task.id}: {task.subject}", as_json=as_json)


@click.command()
@here.task_id
@click.option(
    "--set",
    "assignments",
    metavar="KEY=VALUE",
    required=True,
    multiple=True,
    help="JSON or text; null removes; may repeat.",
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
    there = store.find(task_id).raw
    changes = dict(_assignment(text, set(there)) for text in assignments)
    task = store.edit(task_id, changes, force=force)
    boards.print_task(task, f"task {task.id}: changed {', '.join(changes)}", as_json=as_json)


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


def _schema(file: Path | None, directory: Path) -> Any:
    if file is None:
        return None
    try:
        return read_json((directory / file).read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"--schema {file}: expected a file of JSON: {error}") from error


def _assignment(text: str, there: set[str]) -> tuple[str, Any]:
    """The field and its new value; None removes it. Raises: UsageError."""
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise UsageError(f"--set: found {text!r}, expected KEY=VALUE")
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
    if name in _TEXTS:
        return name, None if value == "null" else value
    try:
        return name, read_json(value)
    except json.JSONDecodeError:
        return name, value
    except ValueError as error:
        raise UsageError(f"--set {name}: found {value[:80]!r}, expected JSON: {error}") from error
