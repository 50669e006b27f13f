"""New tasks: an id that nobody ever had, a file put in place whole."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from runner.board.fields import spellings
from runner.board.given import check_given
from runner.board.holding import HoldingStore
from runner.board.reading import keys_of_name, parse_task
from runner.board.saving import encode_task, with_added, without
from runner.board.session import Session
from runner.board.task import Task
from runner.core.files import atomic_write, encode_json
from runner.core.ids import Key, is_safe, key_of, number_of
from runner.core.layout import STATE_VERSION
from runner.errors import UnsafeName, UsageError

_FIRST_FIELDS = ("subject", "description", "status", "owner", "blockedBy")
_ALWAYS_THERE = {"status": "pending", "blockedBy": []}


class CreatingStore(HoldingStore):
    """`add`, and the ids it gives."""

    def add(self, fields: Mapping[str, Any], *, by: str | None = None) -> Task:
        """A new task. The store gives the id, unless there is one in `fields`.

        Fields are checked like those of a file; null ones are left out. `by` is the teammate that
        adds it, for the journal.
        Raises: UsageError, UnsafeName, BoardBusy, SaveFailed.
        """
        wanted = fields.get("id")
        raw = _new_object(fields)
        if wanted is not None:  # also refused below, but by then there is a lock file
            _safe_key(wanted)
        self.layout.tasks.mkdir(parents=True, exist_ok=True)

        def create(session: Session) -> Task:
            while True:
                self._observer.sweep()
                task_id = self.next_id() if wanted is None else wanted
                key = self._free_key(task_id)
                file = f"task_{key}.json"
                data = _checked(file, {"id": task_id, **raw})
                self._remember(key)
                task = session.create(file, data)
                if task is None:  # only after a lost race: another program took the name
                    continue
                self._tell("task.added", task, by=by, subject=task.subject)
                self._mirror(session, task, before=())
                return task

        return self._hop(create)

    def next_id(self) -> int:
        """Above every file name, every id inside, and the highest ever given here."""
        named = {keys_of_name(name)[0] for name in self._folder.entries}
        keys = {key for key in {*named, *self._folder.tasks} if key is not None}
        found = max([*(number_of(key) or 0 for key in keys), self._highest()]) + 1
        while str(found) in keys:  # one that is too long to count as a number
            found += 1
        return found

    def _free_key(self, task_id: object) -> Key:
        key = _safe_key(task_id)
        for entry in self._folder.entries.values():
            if key in keys_of_name(entry.file) or (entry.task and entry.task.key == key):
                raise UsageError(f"task {task_id} is there already, in {entry.file}")
        return key

    def _mirror(self, session: Session, task: Task, *, before: Collection[Key]) -> None:
        """Keep `blocks` of blockers in step with `blockedBy`, which was `before`."""
        added = [key for key in task.blocked_by if key not in before]
        gone = [key for key in before if key not in task.blocked_by]
        known = self._folder.tasks
        self._rewrite_each(
            session,
            [known[key].file for key in added if key in known],
            lambda blocker: with_added(blocker.raw, "blocks", [task.id]),
        )
        self._rewrite_each(
            session,
            [known[key].file for key in gone if key in known],
            lambda blocker: without(blocker.raw, "blocks", {task.key}),
        )

    def _ids_file(self) -> Path:
        return self.layout.team / "ids.json"

    def _highest(self) -> int:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            return int(json.loads(self._ids_file().read_bytes())["highest"])
        return 0

    def _remember(self, key: Key) -> None:
        """Before the file is made: a death in between costs a number, never gives it twice."""
        number = number_of(key)
        if number is not None and number > self._highest():
            value = {"version": STATE_VERSION, "highest": number}
            atomic_write(self._ids_file(), encode_json(value))


def _safe_key(task_id: object) -> Key:
    """Raises: UnsafeName."""
    key = key_of(task_id)
    if key is None or not is_safe(key):
        raise UnsafeName("task id", task_id)
    return key


def _new_object(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The object of a new task without its id, the usual fields first."""
    check_given(fields)
    given = {key: value for key, value in fields.items() if value is not None and key != "id"}
    subject = next((given[key] for key in spellings("subject") if given.get(key)), None)
    if subject is None:
        raise UsageError("subject: a task needs one line that says what it is")
    usual = {**_ALWAYS_THERE, **given, "subject": subject}
    first = {key: usual[key] for key in _FIRST_FIELDS if key in usual}
    aliases = spellings("subject")
    return first | {key: value for key, value in given.items() if key not in aliases}


def _checked(file: str, raw: Mapping[str, Any]) -> bytes:
    data = encode_task(file, raw)
    _, problems = parse_task(file, data)
    wrong = [problem.message for problem in problems if problem.severity == "error"]
    if wrong:
        raise UsageError("; ".join(wrong))
    return data
