"""What `runner tasks import` adds, and how it tells it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from runner.board.importing import Plan, Planned, Skipped
from runner.board.importing_plan import plan
from runner.board.store import Store
from runner.board.task import Task
from runner.cli import output
from runner.cli.import_sources import Source, read_source
from runner.cli.references import roster_names
from runner.cli.tables import print_table
from runner.core.ids import key_of, number_of
from runner.core.settings import load_settings

_AT_ONCE = 100  # tasks added in one hold of the board lock


def import_from(
    store: Store, source: Source, *, tags: Sequence[str], dry_run: bool, as_json: bool
) -> int:
    """Add the tasks of `source`, tell it, and give the exit code.

    Raises: UsageError, ConfigError, BoardBusy.
    """
    label = source.label(store.layout.root)
    wanted = _plan(store, source, label, tags)
    if not dry_run:
        wanted = _add(store, wanted)
    if as_json:
        output.print_json(_as_data(source, label, wanted, dry_run=dry_run))
    else:
        _print(source, label, wanted, dry_run=dry_run)
    return int(any(skipped.broken for skipped in wanted.skipped))


def _plan(store: Store, source: Source, label: str, tags: Sequence[str]) -> Plan:
    """What to add for all the lists of the source. Raises: UsageError, ConfigError."""
    found = read_source(source, tags)
    tasks = store.scan(settle=True).tasks.values()
    members = roster_names(store.layout, load_settings(store.layout, os.environ, {}))
    whole, taken, next_id = Plan(), set(store.taken()), store.next_id()
    for one in found:
        part = plan(one, tasks, source=label, taken=taken, next_id=next_id, members=members)
        keys = [key for new in part.new if (key := key_of(new.id)) is not None]
        taken.update(keys)
        next_id = max([next_id, *((number_of(key) or 0) + 1 for key in keys)])
        whole = Plan(
            new=(*whole.new, *part.new),
            known=(*whole.known, *part.known),
            skipped=(*whole.skipped, *part.skipped),
        )
    return whole


def _add(store: Store, wanted: Plan) -> Plan:
    """What was added, and what could not be. Raises: BoardBusy."""
    # from the highest number down: whoever adds a task meanwhile gets one above all of these
    order = sorted(wanted.new, key=lambda new: -(number_of(str(key_of(new.id))) or 0))
    added: dict[int | str, Task] = {}
    failed: list[Skipped] = []
    for at in range(0, len(order), _AT_ONCE):
        batch = order[at : at + _AT_ONCE]
        for new, made in zip(batch, store.add_each([new.fields for new in batch]), strict=True):
            if isinstance(made, Task):
                added[new.id] = made
            else:
                failed.append(Skipped(where=new.entry.where, reason=str(made)))
    return replace(
        wanted,
        new=tuple(new for new in wanted.new if new.id in added),
        skipped=(*wanted.skipped, *failed),
    )


def _as_data(source: Source, label: str, wanted: Plan, *, dry_run: bool) -> dict[str, Any]:
    return {
        "from": source.tool,
        "source": label,
        "dryRun": dry_run,
        "tasks": [_new_as_data(new) for new in wanted.new],
        "known": [{"id": one.task.id, "sourceId": one.entry.id} for one in wanted.known],
        "skipped": [
            {"where": one.where, "reason": one.reason, "broken": one.broken}
            for one in wanted.skipped
        ],
    }


def _new_as_data(new: Planned) -> dict[str, Any]:
    fields = new.fields
    return {
        "id": new.id,
        "sourceId": new.entry.id,
        **{key: fields[key] for key in ("subject", "status", "owner", "blockedBy", "priority")},
        "notes": list(new.notes),
    }


def _print(source: Source, label: str, wanted: Plan, *, dry_run: bool) -> None:
    columns = ["id", "status", "owner", "blocked by", "subject", "note"]
    rows = [
        (
            *(new.id, new.fields["status"], new.fields["owner"]),
            ", ".join(map(str, new.fields["blockedBy"])),
            *(new.fields["subject"], "; ".join(new.notes)),
        )
        for new in wanted.new
    ]
    if rows:
        print_table(columns, rows, spare=("owner", "blocked by"), long=("subject", "note"))
    for skipped in wanted.skipped:
        output.note(output.one_line(f"skipped: {skipped.where}: {skipped.reason}"))
    output.say(f"{_summary(wanted, dry_run=dry_run)} ({source.tool}, {output.one_line(label)})")


def _summary(wanted: Plan, *, dry_run: bool) -> str:
    told: Iterable[tuple[int, str]] = (
        (len(wanted.known), "here already"),
        (len(wanted.skipped), "skipped"),
    )
    rest = "".join(f", {number} {what}" for number, what in told if number)
    verb = "would be added" if dry_run else "added"
    return f"{output.counted(len(wanted.new), 'task')} {verb}{rest}"
