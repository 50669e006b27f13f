"""`runner tasks add|edit|claim|done|fail|release|retry|delete`: the board, changed by hand."""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path
from typing import Any

import click

from runner.board.task import Claimant, Task
from runner.cli import boards, here, output
from runner.core.ids import safe_name
from runner.core.layout import Layout
from runner.errors import NotClaimable, RunnerError, UsageError

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
}

_claim_id = click.option(
    "--claim", "claim_id", metavar="CID", help="The claim's id, as `claim` printed."
)
_owner = click.option("--owner", metavar="NAME", help="Who holds the task.")
_force = click.option("--force", is_flag=True, help="Also when somebody else holds it.")


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
    _print_task(task, f"added task {task.id}: {task.subject}", as_json=as_json)


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
@_force
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
    _print_task(task, f"task {task.id}: changed {', '.join(changes)}", as_json=as_json)


@click.command()
@click.argument("task_id", metavar="[ID]", required=False, help="Default: the next free task.")
@click.option("--owner", metavar="NAME", required=True, help="Who claims.")
@click.option("--role", metavar="ROLE", help="The role of who claims.")
@here.as_json
@click.pass_context
def claim(
    context: click.Context, task_id: str | None, owner: str, role: str | None, as_json: bool
) -> int:
    """Claim a task by hand; its claim id is printed.

    Exit 1 when there is none to have.
    """
    store = boards.open_store(context)
    claimant = Claimant(name=safe_name("owner", owner), role=role)
    reason = "no task can be claimed now"
    task = None
    if task_id is None:
        task = store.claim_next(claimant)
    else:
        try:
            task = store.claim(task_id, claimant)
        except NotClaimable as error:
            reason = str(error)
    if task is None:
        output.note(f"runner: {reason}")
        if as_json:
            output.print_json(None)
        return 1
    _print_task(task, f"{owner} has task {task.id}: {task.subject}", as_json=as_json)
    return 0


@click.command()
@here.task_id
@_claim_id
@_owner
@click.option("--result", metavar="JSON", help="The result.")
@click.option("--no-verify", is_flag=True, help="Skip the verify commands; this is recorded.")
@_force
@here.as_json
@click.pass_context
def done(
    context: click.Context,
    task_id: str,
    claim_id: str | None,
    owner: str | None,
    result: str | None,
    no_verify: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Complete a task by hand, after its verify commands."""
    _need_holder(claim_id, owner, force=force)
    store = boards.open_store(context)
    value = _json("--result", result) if result is not None else None
    store.scan()
    task = store.find(task_id)
    verified: dict[str, Any] = {}
    if task.verify and no_verify:
        verified = {"verify": "skipped"}
    elif task.verify:
        _verify(task, store.layout)
        verified = {"verify": "passed"}
    task = store.finish_by_hand(
        task_id, claim_id=claim_id, owner=owner, force=force, result=value, facts=verified
    )
    _print_task(task, f"task {task.id} is completed", as_json=as_json)


def _verify(task: Task, layout: Layout) -> None:
    """Raises: RunnerError, when a verify command fails; its output is in the message."""
    # the event loop costs more than all the rest of a command: only where it is needed
    from runner.cli.verifying import verify
    from runner.core.settings import load_settings

    limits = load_settings(layout, os.environ, {}).limits
    result = verify(task.verify, layout.workspace, timeout_s=limits.verify_timeout_s)
    if not result.ok:
        raise RunnerError(
            f"task {task.id} is not done: {result.report}\nMend it, or use --no-verify"
        )


@click.command()
@here.task_id
@click.option("--error", metavar="TEXT", required=True, help="Why it failed.")
@_claim_id
@_owner
@_force
@here.as_json
@click.pass_context
def fail(
    context: click.Context,
    task_id: str,
    error: str,
    claim_id: str | None,
    owner: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Mark a task as failed, with the reason."""
    _need_holder(claim_id, owner, force=force)
    task = boards.open_store(context).fail_by_hand(
        task_id, error=error, claim_id=claim_id, owner=owner, force=force
    )
    _print_task(task, f"task {task.id} is failed", as_json=as_json)


@click.command()
@here.task_id
@_claim_id
@_owner
@_force
@here.as_json
@click.pass_context
def release(
    context: click.Context,
    task_id: str,
    claim_id: str | None,
    owner: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Give a claimed task back, so that others may claim it."""
    task = boards.open_store(context).release_by_hand(
        task_id, claim_id=claim_id, owner=owner, force=force
    )
    _print_task(task, f"task {task.id} is pending again", as_json=as_json)


@click.command()
@here.task_id
@_force
@here.as_json
@click.pass_context
def retry(context: click.Context, task_id: str, force: bool, as_json: bool) -> None:
    """Open a failed, waiting or completed task again."""
    task = boards.open_store(context).retry(task_id, force=force)
    _print_task(task, f"task {task.id} is pending again", as_json=as_json)


@click.command()
@here.task_id
@_force
@here.as_json
@click.pass_context
def delete(context: click.Context, task_id: str, force: bool, as_json: bool) -> None:
    """Set a task's status to deleted; the file stays."""
    task = boards.open_store(context).delete(task_id, force=force)
    _print_task(task, f"task {task.id} is deleted", as_json=as_json)


def _print_task(task: Task, sentence: str, *, as_json: bool) -> None:
    if as_json:
        output.print_json(task.raw)
        return
    claim_id = f" (claim {task.claim.id})" if task.claim and task.status == "in_progress" else ""
    output.say(output.one_line(sentence) + claim_id)


def _need_holder(claim_id: str | None, owner: str | None, *, force: bool) -> None:
    if claim_id is None and owner is None and not force:
        raise UsageError("say who holds the task: --claim CID or --owner NAME (or --force)")


def _json(flag: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(
            f"{flag}: found {text!r}, expected JSON ({error}); quote a plain text: '\"text\"'"
        ) from error


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
        return json.loads((directory / file).read_bytes())
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
        return name, json.loads(value)
    except ValueError:
        return name, value


COMMANDS = (add, edit, claim, done, fail, release, retry, delete)
