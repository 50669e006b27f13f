"""`runner tasks claim|done|fail|release|retry|delete`: a person says how a task goes on."""

from __future__ import annotations

import os
from typing import Any

import click

from runner.board.graph import unblocked_by
from runner.board.task import Claimant, Task
from runner.cli import boards, here, output
from runner.core.ids import safe_name
from runner.core.layout import Layout
from runner.core.strict_json import read_json
from runner.errors import NotClaimable, RunnerError, UsageError

_claim_id = click.option(
    "--claim", "claim_id", metavar="CID", help="The claim's id, as `claim` printed."
)
_ENDED = frozenset({"completed", "failed", "deleted"})
_owner = click.option("--owner", metavar="NAME", help="Who holds the task.")


def _opens_again(task: Task) -> str:
    """The next step for a task that has ended."""
    if task.status not in _ENDED:
        return ""
    force = "" if task.status == "failed" else " --force"
    return f"; `runner tasks retry {task.id}{force}` opens it again"


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
            reason = f"{error}{_opens_again(store.find(task_id))}"
    if task is None:
        output.note(f"runner: {reason}")
        if as_json:
            output.print_json(None)
        return 1
    boards.print_task(task, f"{owner} has task {task.id}: {task.subject}", as_json=as_json)
    return 0


@click.command()
@here.task_id
@_claim_id
@_owner
@click.option("--result", metavar="JSON", help="The result.")
@click.option("--no-verify", is_flag=True, help="Skip the verify commands; this is recorded.")
@here.force
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
    # looked at before anything is run; once more, under the lock, when it is written
    task = store.held_by_hand(task_id, claim_id=claim_id, owner=owner, force=force)
    value = _fitting(task, result) if result is not None else None
    verified: dict[str, Any] = {}
    if task.verify and no_verify:
        verified = {"verify": "skipped"}
    elif task.verify:
        _verify(task, store.layout)
        verified = {"verify": "passed"}
    task = store.finish_by_hand(
        task_id,
        claim_id=claim_id,
        owner=owner,
        force=force,
        result=value,
        has_result=result is not None,
        facts=verified,
    )
    boards.print_task(task, f"task {task.id} is completed", as_json=as_json)


def _fitting(task: Task, text: str) -> Any:
    """The result as given, if the task's schema allows it. Raises: UsageError."""
    try:
        value = read_json(text)
    except ValueError as error:
        raise UsageError(
            f"--result: found {text[:80]!r}, expected JSON ({error}); "
            "quote a plain text: '\"text\"'"
        ) from error
    if task.schema is None or task.run is not None:
        return value
    # jsonschema costs more than all the rest of a command
    from runner.work.results.jtd import SchemaInvalid
    from runner.work.results.schema import read_schema

    try:
        schema = read_schema(task.schema)
    except SchemaInvalid as error:
        raise UsageError(f"task {task.id}: its schema cannot be used: {error}") from error
    if problems := schema.problems(value):
        listed = "\n".join(f"- {problem}" for problem in problems)
        raise UsageError(f"--result: does not fit the task:\n{listed}\nExpected:\n{schema.shape()}")
    return value


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
@here.force
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
    boards.print_task(task, f"task {task.id} is failed", as_json=as_json)


@click.command()
@here.task_id
@_claim_id
@_owner
@here.force
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
    boards.print_task(task, f"task {task.id} is pending again", as_json=as_json)


@click.command()
@here.task_id
@click.option("--force", is_flag=True, help="Also one that is completed, deleted or held.")
@here.as_json
@click.pass_context
def retry(context: click.Context, task_id: str, force: bool, as_json: bool) -> None:
    """Open a failed task again, or one that waits for its next try.

    With --force a completed or deleted one too; its result is taken away, and what was built on
    it is named.
    """
    store = boards.open_store(context)
    task = store.retry(task_id, force=force)
    boards.print_task(task, f"task {task.id} is pending again", as_json=as_json)
    built = [
        one
        for one in store.scan().tasks.values()
        if task.key in (*one.blocked_by, *unblocked_by(one))
        and one.status in {"completed", "in_progress"}
    ]
    if built:
        named = ", ".join(f"{one.id} ({str(one.status).replace('_', ' ')})" for one in built)
        output.note(f"built on it, and left as they are: {named}")


@click.command()
@here.task_id
@here.force
@here.as_json
@click.pass_context
def delete(context: click.Context, task_id: str, force: bool, as_json: bool) -> None:
    """Set a task's status to deleted; the file stays."""
    task = boards.open_store(context).delete(task_id, force=force)
    boards.print_task(task, f"task {task.id} is deleted", as_json=as_json)


def _need_holder(claim_id: str | None, owner: str | None, *, force: bool) -> None:
    if claim_id is None and owner is None and not force:
        raise UsageError("say who holds the task: --claim CID or --owner NAME (or --force)")
