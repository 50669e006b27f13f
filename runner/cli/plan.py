"""`runner run --dry-run`: what this team could do with the board, without a claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runner.board.outlook import claim_order, outlook, unfit
from runner.board.snapshot import Snapshot
from runner.board.task import Claimant, Task
from runner.cli import output
from runner.cli.tables import print_table
from runner.core.ids import Key
from runner.core.settings import Settings
from runner.work.admission import Admission, claimants

Entry = dict[str, Any]


def planned(
    snapshot: Snapshot,
    settings: Settings,
    admission: Admission,
    only: frozenset[Key] | None,
) -> list[Entry]:
    """`{"id", "subject", "state", "outlook", "by", "reason"}` for each open task.

    They come in claiming order. `state` is that of `tasks list`, but `unclaimable` for what this
    team may not begin; `outlook` is `ready`, `running`, `coming` or `stuck`; `by` names who may
    take it. Tasks left out by `only` are not listed.
    """
    team = claimants(settings)
    selection = admission.select()
    refuses = {claimant: selection.refuses_for(claimant) for claimant in team}
    found = outlook(snapshot, team, refuses.__getitem__, only)
    groups = {
        **dict.fromkeys(found.ready, "ready"),
        **dict.fromkeys(found.running, "running"),
        **dict.fromkeys(found.coming, "coming"),
        **dict.fromkeys(found.stuck, "stuck"),
    }

    def takers(task: Task) -> list[str]:
        return [who.name for who in team if unfit(task, who, refuses[who], only) is None]

    return [
        {
            "id": task.id,
            "subject": task.subject,
            "state": found.state(snapshot, task),
            "outlook": groups[task.key],
            "by": takers(task) if groups[task.key] in {"ready", "coming"} else [],
            "reason": found.stuck.get(task.key) or snapshot.reason(task),
        }
        for task in claim_order(snapshot.tasks.values(), Claimant(name=""))
        if task.key in groups and (only is None or task.key in only)
    ]


def failed_before(snapshot: Snapshot, only: frozenset[Key] | None) -> list[Task]:
    """What counts as a failure of the next run too, since no run opens it again by itself."""
    tasks = claim_order(snapshot.tasks.values(), Claimant(name=""))
    return [one for one in tasks if one.status == "failed" and (only is None or one.key in only)]


def print_plan(entries: Sequence[Entry], failed: Sequence[Task], code: int) -> None:
    """The plan as a table, what stays failed, and the exit code that it means."""
    columns = ("task", "outlook", "state", "by", "subject", "reason")
    rows = [
        (
            *(one["id"], one["outlook"], one["state"]),
            *(", ".join(one["by"]), one["subject"], one["reason"]),
        )
        for one in entries
    ]
    if not rows and not failed:
        output.say("nothing to do")
        return
    if rows:
        print_table(columns, rows, spare=("by", "state"), long=("subject", "reason"), wrap=True)
    if failed:
        ids = output.one_line(", ".join(str(one.id) for one in failed))
        output.say(f"failed before, left as it is: {ids}; `runner tasks retry ID` opens it again")
    output.say(f"dry run: nothing was claimed (exit {code})")
