"""`runner tasks add|edit|claim|done|fail|release|retry|delete`: the board, changed by hand."""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

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
_VERBS = {
    "status": "`tasks done`, `fail`, `retry`, `release` or `delete`",
    "id": "nothing: an id stays; add a new task instead",
    "claim": "`tasks claim` and `tasks release`",
}

Claim = Annotated[
    str | None, typer.Option("--claim", metavar="CID", help="The claim's id, as `claim` printed.")
]
Owner = Annotated[str | None, typer.Option("--owner", metavar="NAME", help="Who holds the task.")]
Force = Annotated[bool, typer.Option("--force", help="Also when somebody else holds it.")]
Result = Annotated[str | None, typer.Option("--result", metavar="JSON", help="The result.")]


def register(app: typer.Typer) -> None:
    """Put the commands of this module under `app`."""
    for command in (add, edit, claim, done, fail, release, retry, delete):
        app.command()(command)


def add(
    context: typer.Context,
    subject: Annotated[str, typer.Argument(help="One line: what is to be done.")],
    description: Annotated[str | None, typer.Option(help="The assignment.")] = None,
    blocked_by: Annotated[
        list[str] | None, typer.Option(metavar="IDS", help="Blockers: 1,2; may repeat.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Agent definition to use.")] = None,
    role: Annotated[str | None, typer.Option(help="Only for teammates with this role.")] = None,
    priority: Annotated[
        str | None, typer.Option(help="A number, or urgent, high, medium, low.")
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="CMD", help="A plain command; needs no model.")
    ] = None,
    verify: Annotated[
        list[str] | None, typer.Option(metavar="CMD", help="Must exit 0 at the end; may repeat.")
    ] = None,
    owner: Annotated[str | None, typer.Option(help="Assign it to this teammate.")] = None,
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON Schema or JTD of the result.")
    ] = None,
    task_id: Annotated[str | None, typer.Option("--id", help="An id of your own.")] = None,
    as_json: here.AsJson = False,
) -> None:
    """Add a task to the board."""
    fields = {
        "id": _id(task_id) if task_id is not None else None,
        "subject": subject,
        "description": description,
        "owner": safe_name("owner", owner) if owner is not None else None,
        "blockedBy": _ids(blocked_by),
        "agent": agent,
        "required_role": role,
        "priority": _priority(priority),
        "schema": _schema(schema, here.directory(context)),
        "run": run,
        "verify": verify or None,
    }
    task = boards.open_store(context).add(
        {name: value for name, value in fields.items() if value is not None}
    )
    _told(task, f"added task {task.id}: {task.subject}", as_json=as_json)


def edit(
    context: typer.Context,
    task_id: here.TaskId,
    assignments: Annotated[
        list[str],
        typer.Option("--set", metavar="KEY=VALUE", help="JSON or text; null removes; may repeat."),
    ],
    force: Force = False,
    as_json: here.AsJson = False,
) -> None:
    """Change fields of a task; all other fields stay as they are."""
    store = boards.open_store(context)
    store.scan()
    there = store.find(task_id).raw
    changes = dict(_assignment(text, set(there)) for text in assignments)
    task = store.edit(task_id, changes, force=force)
    _told(task, f"task {task.id}: changed {', '.join(changes)}", as_json=as_json)


def claim(
    context: typer.Context,
    owner: Annotated[str, typer.Option("--owner", metavar="NAME", help="Who claims.")],
    task_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="Default: the next free task.")
    ] = None,
    role: Annotated[str | None, typer.Option(help="The role of who claims.")] = None,
    as_json: here.AsJson = False,
) -> int:
    """Claim a task by hand; its claim id is printed. Exit 1 when there is none to have."""
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
    _told(task, f"{owner} has task {task.id}: {task.subject}", as_json=as_json)
    return 0


def done(
    context: typer.Context,
    task_id: here.TaskId,
    claim_id: Claim = None,
    owner: Owner = None,
    result: Result = None,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Skip the verify commands; this is recorded.")
    ] = False,
    force: Force = False,
    as_json: here.AsJson = False,
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
    _told(task, f"task {task.id} is completed", as_json=as_json)


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


def fail(
    context: typer.Context,
    task_id: here.TaskId,
    error: Annotated[str, typer.Option("--error", metavar="TEXT", help="Why it failed.")],
    claim_id: Claim = None,
    owner: Owner = None,
    force: Force = False,
    as_json: here.AsJson = False,
) -> None:
    """Mark a task as failed, with the reason."""
    _need_holder(claim_id, owner, force=force)
    task = boards.open_store(context).fail_by_hand(
        task_id, error=error, claim_id=claim_id, owner=owner, force=force
    )
    _told(task, f"task {task.id} is failed", as_json=as_json)


def release(
    context: typer.Context,
    task_id: here.TaskId,
    claim_id: Claim = None,
    owner: Owner = None,
    force: Force = False,
    as_json: here.AsJson = False,
) -> None:
    """Give a claimed task back, so that others may claim it."""
    task = boards.open_store(context).release_by_hand(
        task_id, claim_id=claim_id, owner=owner, force=force
    )
    _told(task, f"task {task.id} is pending again", as_json=as_json)


def retry(
    context: typer.Context, task_id: here.TaskId, force: Force = False, as_json: here.AsJson = False
) -> None:
    """Open a failed, waiting or completed task again."""
    task = boards.open_store(context).retry(task_id, force=force)
    _told(task, f"task {task.id} is pending again", as_json=as_json)


def delete(
    context: typer.Context, task_id: here.TaskId, force: Force = False, as_json: here.AsJson = False
) -> None:
    """Set a task's status to deleted; the file stays."""
    task = boards.open_store(context).delete(task_id, force=force)
    _told(task, f"task {task.id} is deleted", as_json=as_json)


def _told(task: Task, sentence: str, *, as_json: bool) -> None:
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


def _ids(texts: list[str] | None) -> list[int | str] | None:
    parts = [part.strip() for text in texts or () for part in text.split(",")]
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
    if name in _VERBS:
        raise UsageError(f"--set {name}: not set by hand; use {_VERBS[name]}")
    if name not in FIELDS and name not in there:
        near = difflib.get_close_matches(name, FIELDS, n=1)
        hint = f"; did you mean {near[0]}?" if near else "."
        raise UsageError(
            f"--set {name}: no such field{hint} Known: {', '.join(FIELDS)}. "
            "Data of your own goes into metadata"
        )
    if name == "owner" and value not in {"", "null"}:
        safe_name("owner", value)
    if name in _TEXTS:
        return name, None if value == "null" else value
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
