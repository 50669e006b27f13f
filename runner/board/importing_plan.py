"""What to add to the board for the tasks of another tool: ids, blockers, owners. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from runner.board.creating import checked, new_object
from runner.board.importing import (
    IMPORTED,
    Entry,
    Found,
    Known,
    Plan,
    Planned,
    Ref,
    Skipped,
    ref_of,
)
from runner.board.importing_parts import Waiting
from runner.board.task import Task
from runner.core.ids import LEAD, Key, is_safe, key_of, number_of
from runner.errors import SaveFailed, UsageError


def plan(
    found: Found,
    tasks: Iterable[Task],
    *,
    source: str,
    taken: Collection[Key],
    next_id: int,
    members: Collection[str],
) -> Plan:
    """What to add for `found`.

    `source` names where it came from, the same at each import of it. `taken` are the keys that no
    new task may have, `next_id` is the lowest number that nobody ever had, `members` may own tasks.
    """
    return _Planner(found, source, members).plan(tasks, taken, next_id)


class _Planner:
    def __init__(self, found: Found, source: str, members: Collection[str]) -> None:
        self._found = found
        self._source = source
        self._members = members
        self._skipped = list(found.skipped)
        self._by_ref: dict[Ref, Entry] = {}
        self._ids: dict[Ref, int | str] = {}

    def plan(self, tasks: Iterable[Task], taken: Collection[Key], next_id: int) -> Plan:
        entries = list(self._singly(self._found.entries))
        before = self._imported_before(tasks)
        known = [Known(entry=e, task=before[r]) for e in entries if (r := ref_of(e.id)) in before]
        self._ids = {ref: task.id for ref, task in before.items() if ref is not None}
        new = [entry for entry in entries if ref_of(entry.id) not in before]
        ids = self._give_ids(new, taken, next_id)
        waiting = Waiting(self._by_ref)
        planned = [
            made
            for entry, task_id in zip(new, ids, strict=True)
            if (made := self._planned(entry, task_id, waiting, before)) is not None
        ]
        return Plan(new=tuple(planned), known=tuple(known), skipped=tuple(self._skipped))

    def _singly(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Each id once: the first one counts, or it would be worked on twice."""
        for entry in entries:
            ref = ref_of(entry.id)
            if ref in self._by_ref:
                first = self._by_ref[ref].where
                reason = f"id {entry.id} is also that of {first}, which is the one meant"
                self._skipped.append(Skipped(where=entry.where, reason=reason))
                continue
            if ref is not None:
                self._by_ref[ref] = entry
            yield entry

    def _imported_before(self, tasks: Iterable[Task]) -> dict[Ref | None, Task]:
        found: dict[Ref | None, Task] = {}
        for task in tasks:
            metadata = task.raw.get("metadata")
            origin = metadata.get(IMPORTED) if isinstance(metadata, dict) else None
            if isinstance(origin, dict) and self._origin_of(origin) == self._origin:
                ref = ref_of(origin.get("id"))
                if ref is not None:
                    found.setdefault(ref, task)
        return found

    @property
    def _origin(self) -> tuple[object, ...]:
        return (self._found.tool, self._source, self._found.part)

    @staticmethod
    def _origin_of(origin: Mapping[str, Any]) -> tuple[object, ...]:
        return (origin.get("from"), origin.get("source"), origin.get("part"))

    def _give_ids(
        self, new: Iterable[Entry], taken: Collection[Key], next_id: int
    ) -> list[int | str]:
        """The id of each entry where it is free and fit, else a number above all that are there."""
        new = list(new)
        numbers = [number_of(key) or 0 for entry in new if (key := key_of(entry.id)) is not None]
        number = max([next_id - 1, *numbers])
        used = {key.casefold() for key in taken}  # a case of its own is no other file everywhere
        ids: list[int | str] = []
        for entry in new:
            key, task_id = key_of(entry.id), entry.id
            if task_id is None or not is_safe(key) or str(key).casefold() in used:
                number += 1
                task_id = number
            used.add(str(key_of(task_id)).casefold())
            if (ref := ref_of(entry.id)) is not None:
                self._ids[ref] = task_id
            ids.append(task_id)
        return ids

    def _planned(
        self,
        entry: Entry,
        task_id: int | str,
        waiting: Waiting,
        before: Mapping[Ref | None, Task],
    ) -> Planned | None:
        notes = list(entry.notes)
        if entry.id is not None and task_id != entry.id:
            why = "is taken here" if is_safe(key_of(entry.id)) else "cannot be an id here"
            notes.append(f"id {entry.id} {why}: it becomes {task_id}")
        blockers = waiting.blockers(entry)
        lost = [written for ref, written in blockers.items() if ref not in self._ids]
        held = self._held(entry, lost, waiting)
        whole = before.get(ref_of(entry.parent))
        if whole is not None:
            notes.append(f"a part of {whole.id}, which is here already and does not wait for it")
        owner = self._owner(entry, held, notes)
        fields = {
            "id": task_id,
            "subject": entry.subject,
            "description": entry.description or None,
            "status": entry.status,
            "owner": owner,
            "blockedBy": [self._ids[ref] for ref in blockers if ref in self._ids],
            "priority": entry.priority or None,
            "metadata": {**entry.metadata, IMPORTED: self._about(entry, owner, held, lost)},
        }
        try:
            checked(f"task_{key_of(task_id)}.json", {"id": task_id, **new_object(fields)})
        except (UsageError, SaveFailed) as error:
            self._skipped.append(Skipped(where=entry.where, reason=str(error)))
            return None
        return Planned(entry=entry, fields=fields, notes=tuple(notes))

    def _held(self, entry: Entry, lost: list[int | str], waiting: Waiting) -> str | None:
        """Why a person has to look before anybody begins; None for what is not to be begun."""
        if entry.status != "pending":
            return None
        if entry.held is not None:
            return entry.held
        if lost:
            return f"it waits for {', '.join(map(str, lost))}, which the source does not have"
        ref = ref_of(entry.id)
        return waiting.halted(ref) if ref is not None else None

    def _owner(self, entry: Entry, held: str | None, notes: list[str]) -> str | None:
        """Only a member may own a task: assigned to anybody else it would wait for ever."""
        if held is not None:
            notes.append(f"held for you, since {held}")
            return LEAD
        if entry.assignee in self._members:
            return entry.assignee
        if entry.assignee is not None and entry.status == "pending":
            notes.append(f"anybody may take it: {entry.assignee} is no member of the team")
        return None

    def _about(
        self, entry: Entry, owner: str | None, held: str | None, lost: list[int | str]
    ) -> dict[str, Any]:
        """Where the task came from, and all of it that has no field here."""
        assignee = entry.assignee if entry.assignee != owner else None
        told = {
            "from": self._found.tool,
            "source": self._source,
            "part": self._found.part,
            "id": entry.id,
            "held": held,
            "assignee": assignee,
            "waitsFor": lost or None,
            "parent": entry.parent,
            "fields": dict(entry.fields) or None,
            "metadata": entry.metadata.get(IMPORTED),
        }
        return {key: value for key, value in told.items() if value is not None}
