"""Task Master's `tasks.json`, beads' `issues.jsonl`, task folders of Claude Code. Pure.

The mapping, field by field, is in docs/import.md.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from runner.board.importing import Entry, Found, ref_of
from runner.board.importing_entry import Gathering, Record, described, written_id
from runner.core.strict_json import read_json

MAIN_TAG = "master"
"""The tag that the one list of the older form is put under."""
_BLOCKING = ("blocks", "waits-for")
_PART_OF = "parent-child"
_ONLY_IF_IT_FAILS = "conditional-blocks"
_MOST_URGENT = 2  # what P0 of beads is here; P2 is its usual one
_NO_WORK = ("message", "merge-request", "molecule", "gate", "event")


def decoded(data: bytes) -> Any:
    """The value of a document; a byte order mark is forgiven. Raises: ValueError."""
    return read_json(data.removeprefix(codecs.BOM_UTF8).decode())


def tags_of(document: object) -> dict[str | None, Sequence[Any]]:
    """The lists of tasks of a Task Master document by their tags; empty if it is none.

    The older form, without tags, has its one list under None.
    """
    if not isinstance(document, dict):
        return {}
    if isinstance(document.get("tasks"), list):
        return {None: document["tasks"]}
    return {
        tag: part["tasks"]
        for tag, part in document.items()
        if isinstance(part, dict) and isinstance(part.get("tasks"), list)
    }


def task_master(tasks: Sequence[Any], tag: str | None) -> Found:
    """The tasks of one tag; a subtask becomes a task of its own, `5.2`."""
    gathering = Gathering()
    for number, raw in enumerate(tasks, 1):
        gathering.add(f"task {number}", raw, _task_master_task)
        parts = raw.get("subtasks") if isinstance(raw, dict) else None
        if not isinstance(parts, list):
            continue
        siblings = {ref_of(part.get("id")) for part in parts if isinstance(part, dict)}
        parent = written_id(raw.get("id"))
        read = partial(_task_master_subtask, parent=parent, siblings=siblings)
        for part_number, part in enumerate(parts, 1):
            gathering.add(f"task {number}, subtask {part_number}", part, read)
    return gathering.found("task-master", part=None if tag == MAIN_TAG else tag)


def _task_master_task(record: Record, where: str) -> Entry:
    if isinstance(record.look("subtasks"), list):
        record.take("subtasks")
    return _task_master_entry(record, where, record.take_id("id"), record.take_ids("dependencies"))


def _task_master_subtask(
    record: Record, where: str, *, parent: int | str | None, siblings: set[str | None]
) -> Entry:
    """Numbers among its dependencies are those of its siblings, where there is one of it."""
    own = record.take_id("id")
    record.take("parentId")
    waits_for = [
        f"{parent}.{one}" if ref_of(one) in siblings else one
        for one in record.take_ids("dependencies")
    ]
    task_id = f"{parent}.{own}" if own is not None and parent is not None else None
    return replace(_task_master_entry(record, where, task_id, waits_for), parent=parent)


def _task_master_entry(
    record: Record, where: str, task_id: int | str | None, waits_for: Sequence[int | str]
) -> Entry:
    subject = record.take_subject("title")
    description = described(
        record.take_text("description"),
        ("Details", record.take_lines("details")),
        ("Acceptance criteria", record.take_lines("acceptanceCriteria")),
        ("Test strategy", record.take_lines("testStrategy")),
    )
    status, held = record.take_status(waits=bool(waits_for))
    return record.entry(
        id=task_id,
        where=where,
        subject=subject,
        description=description,
        status=status,
        held=held,
        priority=record.take_priority(),
        waits_for=tuple(waits_for),
        assignee=record.take_text("assignee") or None,
        metadata=record.take_metadata(),
    )


def beads(data: bytes) -> Found:
    """The issues of a `.jsonl` file, one a line; a damaged line costs itself only."""
    gathering = Gathering()
    for number, line in enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            raw = decoded(line)
        except ValueError as error:
            gathering.skip(where, f"not JSON: {error}")
            continue
        kind = raw.get("_type", "issue") if isinstance(raw, dict) else "issue"
        if kind == "issue":
            gathering.add(where, raw, _bead)
        else:
            gathering.skip(where, f"a record of type {kind!r}, no task", broken=False)
    return gathering.found("beads")


def _bead(record: Record, where: str) -> Entry:
    record.take("_type")
    subject = record.take_subject("title")
    description = described(
        record.take_text("description"),
        ("Design", record.take_text("design")),
        ("Acceptance criteria", record.take_text("acceptance_criteria")),
        ("Notes", record.take_text("notes")),
    )
    waits_for, parent, condition = _bead_links(record)
    status, held = record.take_status(waits=bool(waits_for))
    return record.entry(
        id=record.take_id("id"),
        where=where,
        subject=subject,
        description=description,
        status=status,
        held=held or condition or _no_work(record),
        priority=_bead_priority(record),
        waits_for=waits_for,
        parent=parent,
        assignee=record.take_text("assignee") or None,
        metadata=record.take_metadata(),
    )


def _bead_links(record: Record) -> tuple[tuple[int | str, ...], int | str | None, str | None]:
    """The blockers, the epic it is a part of, why it is held; what else is linked is kept."""
    waits_for: list[int | str] = []
    parent: int | str | None = None
    condition: str | None = None
    others = []
    links = record.take("dependencies")
    for link in links if isinstance(links, list) else [links]:
        target = Record(link).take_id("depends_on_id") if isinstance(link, dict) else None
        kind = link.get("type", "blocks") if target is not None else None
        if target is not None and kind in _BLOCKING:
            waits_for.append(target)
        elif target is not None and kind == _PART_OF and parent is None:
            parent = target
        elif link is not None:
            others.append(link)
            if kind == _ONLY_IF_IT_FAILS:
                condition = f"it is to run only if {target} fails"
    record.keep("dependencies", others or None)
    return tuple(waits_for), parent, condition


def _no_work(record: Record) -> str | None:
    """Why an issue is nothing to work on now, as beads itself does not offer it either."""
    if record.look("issue_type") in _NO_WORK:
        return f"it is of type {record.look('issue_type')}"
    for key in ("is_template", "pinned", "ephemeral"):
        if record.look(key) is True:
            return f"{key} is set"
    later = record.look("defer_until")
    return f"it is deferred until {later}" if later else None


def _bead_priority(record: Record) -> int:
    written = record.take("priority")
    record.keep("priority", written)
    if isinstance(written, bool) or not isinstance(written, int):
        return 0
    return _MOST_URGENT - written


def claude_code(files: Iterable[tuple[str, bytes]]) -> Found:
    """The tasks of a task folder, from the names and bytes of its `.json` files."""
    gathering = Gathering()
    for name, data in files:
        try:
            raw = decoded(data)
        except ValueError as error:
            gathering.skip(name, f"not JSON: {error}")
            continue
        metadata = raw.get("metadata") if isinstance(raw, dict) else None
        if isinstance(metadata, dict) and metadata.get("_internal") is True:
            gathering.skip(name, "kept by Claude Code for itself, no task", broken=False)
            continue
        gathering.add(name, raw, _claude_task)
    found = gathering.found("claude-code")
    return replace(found, entries=_with_mirrored(found.entries))


def _claude_task(record: Record, where: str) -> Entry:
    waits_for = record.take_ids("blockedBy")
    status, held = record.take_status(waits=bool(waits_for))
    own = record.take_id("id")
    return record.entry(
        id=own if own is not None else where.removesuffix(".json"),
        where=where,
        subject=record.take_subject("subject"),
        description=record.take_text("description"),
        status=status,
        held=held,
        priority=record.take_priority(),
        waits_for=tuple(waits_for),
        assignee=record.take_text("owner") or None,
        metadata=record.take_metadata(),
    )


def _with_mirrored(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """`blocks` is the other side of `blockedBy`; where only one of them tells, it counts too."""
    there = {ref_of(entry.id) for entry in entries}
    told: dict[str | None, list[str]] = {}
    cleared = []
    for entry in entries:
        blocked = Record(entry.fields).take_ids("blocks")
        for one in blocked:
            told.setdefault(ref_of(one), []).append(str(entry.id))
        unknown = [one for one in blocked if ref_of(one) not in there]
        rest = {key: value for key, value in entry.fields.items() if key != "blocks"}
        cleared.append(replace(entry, fields={**rest, "blocks": unknown} if unknown else rest))
    return tuple(_mirrored(entry, told.get(ref_of(entry.id), ())) for entry in cleared)


def _mirrored(entry: Entry, blockers: Sequence[str]) -> Entry:
    known = {ref_of(one) for one in entry.waits_for}
    new = tuple(one for one in blockers if ref_of(one) not in known)
    return replace(entry, waits_for=(*entry.waits_for, *new))
