"""`runner tasks`: look at the board. Changing it is in `task_edits` and `task_states`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from typing import Any, get_args

import click

from runner.board.graph import open_blockers, unblocked_by
from runner.board.outlook import claim_order, why_not
from runner.board.snapshot import Snapshot, State
from runner.board.task import Claimant, Task
from runner.cli import (
    boards,
    here,
    output,
    task_check,
    task_edits,
    task_import,
    task_log,
    task_states,
)
from runner.cli.tables import print_table
from runner.cli.used import used
from runner.core.clock import to_iso
from runner.core.ids import Key
from runner.core.layout import Layout
from runner.errors import UsageError

_COMMANDS = frozenset({"run", "verify"})

command = click.Group(
    "tasks",
    commands=[
        *(task_edits.add, task_edits.edit, task_states.claim, task_states.done),
        *(task_states.fail, task_states.release, task_states.retry, task_states.delete),
        *(task_log.log, task_check.check, task_import.import_tasks),
    ],
    no_args_is_help=False,
    help="Look at the board and change it by hand.",
)


@command.command("list")
@click.option(
    "--state",
    type=click.Choice(get_args(State)),
    metavar="STATE",
    multiple=True,
    help="Only tasks in this state; may repeat.",
)
@here.as_json
@click.pass_context
def list_tasks(context: click.Context, state: tuple[str, ...], as_json: bool) -> None:
    """List all tasks in the order in which they would be claimed."""
    snapshot = boards.open_store(context).scan(settle=True)
    rows = [
        describe(snapshot, task)
        for task in ordered(snapshot)
        if not state or snapshot.state(task) in state
    ]
    if as_json:
        output.print_json(rows)
        return
    _print_list(rows)
    errors = sum(problem.severity == "error" for problem in snapshot.problems)
    if errors:
        output.note(f"{output.counted(errors, 'problem')} on this board: see `runner tasks check`")


def _print_list(rows: list[dict[str, Any]]) -> None:
    """The reasons have a column only if there are any."""
    columns = ["id", "state", "owner", "blocked by", "subject"]
    cells = [
        [
            *(row["id"], row["state"], row["owner"]),
            ", ".join(str(blocker) for blocker in row["blockedBy"]),
            row["subject"],
        ]
        for row in rows
    ]
    if any(row["reason"] for row in rows):
        columns.append("reason")
        cells = [[*cell, row["reason"]] for cell, row in zip(cells, rows, strict=True)]
    print_table(columns, cells, spare=("owner", "blocked by"), long=("subject", "reason"))


@command.command()
@click.option("--role", metavar="ROLE", help="As a teammate with this role.")
@click.option("--owner", metavar="NAME", help="As this teammate.")
@here.as_json
@click.pass_context
def ready(context: click.Context, role: str | None, owner: str | None, as_json: bool) -> None:
    """List what could be claimed now, in claiming order.

    Models and agents are not looked at.
    """
    snapshot = boards.open_store(context).scan()
    claimant = Claimant(name=owner or "", role=role)
    free = [
        task
        for task in claim_order(snapshot.tasks.values(), claimant)
        if why_not(snapshot, task, claimant, None, None) is None
    ]
    if as_json:
        output.print_json([task.id for task in free])
        return
    for task in free:
        output.say(f"{task.id} {output.one_line(task.subject)}")


@command.command()
@here.task_id
@click.option("--transcript", is_flag=True, help="With all that was said and done, whole.")
@here.as_json
@click.pass_context
def show(context: click.Context, task_id: str, transcript: bool, as_json: bool) -> None:
    """Show a task, what it means now, and how each attempt went."""
    # the reading of journals is for this command only
    from runner.cli.task_history import history, print_history

    store = boards.open_store(context)
    snapshot = store.scan(settle=True)
    task = store.find(task_id)
    facts = describe(snapshot, task)
    attempts = history(store.layout, task)
    if as_json:
        told = {"transcripts": task_log.transcripts_json(store.layout, task)} if transcript else {}
        output.print_json({**facts, "attempts": attempts, "task": task.raw, **told})
        return
    for name, value in _facts(store.layout, facts, snapshot, task):
        output.say(f"{name:<12} {value}")
    if task.description.strip():
        output.say()
        output.say_text(task.description.rstrip())
    if task.result is not None:
        output.say("\nresult")
        output.say_text(json.dumps(task.result, indent=2, ensure_ascii=False))
    if attempts:
        print_history(attempts)
    if transcript:
        task_log.say_transcripts(store.layout, task)


def _facts(
    layout: Layout, facts: dict[str, Any], snapshot: Snapshot, task: Task
) -> Iterable[tuple[str, str]]:
    listed = dict.fromkeys((*task.blocked_by, *unblocked_by(task)))
    still = open_blockers(task, snapshot.tasks)
    over = [key for key in listed if key not in still]
    claim = f"{task.claim.id} by {task.claim.by} at {task.claim.at}" if task.claim else ""
    transcripts = layout.transcripts / f"task_{task.key}"
    found = task.raw.get("usage")
    usage = found if isinstance(found, dict) else {}
    files = usage.get("changedFiles")
    named = {
        "task": f"{task.id} {task.subject}",
        "state": facts["state"],
        "reason": facts["reason"],
        "owner": task.owner,
        "role": task.required_role,
        "agent": task.agent,
        "priority": task.priority or None,
        "blocked by": ", ".join(str(written(snapshot, key)) for key in still),
        "waited for": ", ".join(str(written(snapshot, key)) for key in over),
        "run": task.run if isinstance(task.run, str) else shlex.join(task.run or ()),
        "verify": " && ".join(task.verify),
        "claim": claim,
        "attempts": task.attempt or None,
        "started": to_iso(task.started_at) if task.started_at else None,
        "finished": to_iso(task.finished_at) if task.finished_at else None,
        "used": used(usage),
        "changed": ", ".join(map(str, files)) if isinstance(files, list) else None,
        "retry at": to_iso(task.retry_at) if task.retry_at else None,
        "error": task.error,
        "file": layout.tasks / task.file,
        "transcripts": transcripts if transcripts.is_dir() else None,
    }
    return [(name, _fact(name, value)) for name, value in named.items() if value]


def _fact(name: str, value: object) -> str:
    # spaces mean something in a command
    return output.spaced_line(str(value)) if name in _COMMANDS else output.one_line(value)


def describe(snapshot: Snapshot, task: Task) -> dict[str, Any]:
    """One entry of `tasks list --json`."""
    return {
        "id": task.id,
        "subject": task.subject,
        "status": task.status,
        "owner": task.owner,
        "state": snapshot.state(task),
        "blockedBy": [written(snapshot, key) for key in task.blocked_by],
        "file": task.file,
        "reason": snapshot.reason(task),
    }


def written(snapshot: Snapshot, key: Key) -> int | str:
    """An id as its own file writes it; of a missing task, a number if it is one."""
    task = snapshot.tasks.get(key)
    if task is not None:
        return task.id
    return int(key) if key.isdecimal() else key


def ordered(snapshot: Snapshot) -> list[Task]:
    """Every task in claiming order, the second files of an id among them."""
    return claim_order([*snapshot.tasks.values(), *snapshot.others], Claimant(name=""))


@command.command()
@click.option("--mermaid", is_flag=True, help="As a Mermaid flowchart.")
@click.option("--dot", is_flag=True, help="As a Graphviz graph.")
@here.as_json
@click.pass_context
def graph(context: click.Context, mermaid: bool, dot: bool, as_json: bool) -> None:
    """Draw which task waits for which, as a tree.

    Under each task stand those that it blocks; below the tree the critical path, the longest line
    of open tasks that wait for one another.
    """
    from runner.cli import graph as drawing

    forms = {"--mermaid": mermaid, "--dot": dot, "--json": as_json}
    if len(wanted := [form for form, given in forms.items() if given]) > 1:
        raise UsageError(f"{' and '.join(wanted)}: one form at a time")
    snapshot = boards.open_store(context).scan()
    if as_json:
        output.print_json(drawing.as_data(snapshot))
    elif mermaid or dot:
        draw = drawing.mermaid if mermaid else drawing.dot
        for line in draw(snapshot):
            output.say(output.spaced_line(line))
    else:
        for line in drawing.tree(snapshot):
            output.say(output.spaced_line(line))
        if told := list(drawing.remarks(snapshot)):
            output.say("\n" + "\n".join(told))
