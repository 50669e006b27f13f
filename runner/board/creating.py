"""New tasks: an id that nobody ever had, a file put in place whole."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Mapping, Sequence
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
from runner.errors import BoardError, SaveFailed, UnsafeName, UsageError

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
        raw = new_object(fields)
        _check_id(fields)
        self.layout.tasks.mkdir(parents=True, exist_ok=True)

        def create(session: Session) -> Task:
            self._observer.sweep()
            return self._create(session, fields.get("id"), raw, by, taken=self._taken())

        return self._hop(create)

    def add_each(self, given: Sequence[Mapping[str, Any]]) -> list[Task | BoardError | UsageError]:
        """Many new tasks in one lock hold; for each the task, or why it could not be added.

        For up to a hundred or so at a time: others wait for the lock. Raises: BoardBusy.
        """
        self.layout.tasks.mkdir(parents=True, exist_ok=True)
        added: list[Task | BoardError | UsageError] = []

        def create_each(session: Session) -> None:
            self._observer.sweep()
            taken = self._taken()
            for fields in given[len(added) :]:  # started again: goes on where it was
                try:
                    _check_id(fields)
                    made = self._create(
                        session, fields.get("id"), new_object(fields), None, taken=taken
                    )
                except (SaveFailed, UsageError) as error:
                    added.append(error)
                else:
                    added.append(made)

        self._hop(create_each)
        return added

    def _create(
        self,
        session: Session,
        wanted: object,
        raw: Mapping[str, Any],
        by: str | None,
        *,
        taken: dict[Key, str],
    ) -> Task:
        """`taken` gets the key of the new task. Raises: UsageError, SaveFailed."""
        while True:
            task_id = self._above(taken) if wanted is None else wanted
            key = _safe_key(task_id)
            if key in taken:
                raise UsageError(f"task {task_id} is there already, in {taken[key]}")
            file = f"task_{key}.json"
            data = checked(file, {"id": task_id, **raw})
            self._remember(key)
            task = session.create(file, data)
            if task is None:  # only after a lost race: another program took the name
                self._observer.sweep()
                taken |= self._taken()
                continue
            taken[key] = file
            self._tell("task.added", task, by=by, subject=task.subject)
            self._mirror(session, task, before=())
            return task

    def next_id(self) -> int:
        """Above every file name, every id inside, and the highest ever given here."""
        return self._above(self._taken())

    def taken(self) -> frozenset[Key]:
        """The keys that no new task may have, as last seen."""
        return frozenset(self._taken())

    def _taken(self) -> dict[Key, str]:
        """Every key that a file is named for, or has inside, and that file."""
        taken: dict[Key, str] = {}
        for entry in self._folder.entries.values():
            inside = (entry.task.key,) if entry.task else ()
            for key in (*keys_of_name(entry.file), *inside):
                if key is not None:
                    taken.setdefault(key, entry.file)
        return taken

    def _above(self, taken: Collection[Key]) -> int:
        found = max([*(number_of(key) or 0 for key in taken), self._highest()]) + 1
        while str(found) in taken:  # one that is too long to count as a number
            found += 1
        return found

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


def _check_id(fields: Mapping[str, Any]) -> None:
    """Also refused under the lock, but by then there is a lock file. Raises: UnsafeName."""
    if fields.get("id") is not None:
        _safe_key(fields["id"])


def new_object(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The object of a new task without its id, the usual fields first. Raises: UsageError."""
    check_given(fields)
    given = {key: value for key, value in fields.items() if value is not None and key != "id"}
    subject = next((given[key] for key in spellings("subject") if given.get(key)), None)
    if subject is None:
        raise UsageError("subject: a task needs one line that says what it is")
    usual = {**_ALWAYS_THERE, **given, "subject": subject}
    first = {key: usual[key] for key in _FIRST_FIELDS if key in usual}
    aliases = spellings("subject")
    return first | {key: value for key, value in given.items() if key not in aliases}


def checked(file: str, raw: Mapping[str, Any]) -> bytes:
    """The bytes of a new task file. Raises: UsageError, for what makes it unfit to be claimed."""
    data = encode_task(file, raw)
    _, problems = parse_task(file, data)
    wrong = [problem.message for problem in problems if problem.severity == "error"]
    if wrong:
        raise UsageError("; ".join(wrong))
    return data
