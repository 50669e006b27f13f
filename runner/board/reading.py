"""From the bytes of a task file to a `Task`, or to the reasons why it is none."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from runner.board import fields
from runner.board.problem import Problem, Severity
from runner.board.task import Key, Status, Task, key_of
from runner.core.ids import is_safe

PREFIX = "task_"
SUFFIX = ".json"

_T = TypeVar("_T")


class NotATask(Exception):
    """The bytes are no task at all; carries the problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.message)


def is_task_file(name: str) -> bool:
    """Whether a directory entry of this name counts as a task file."""
    return name.startswith(PREFIX) and name.endswith(SUFFIX) and len(name) > 10


def keys_of_name(file_name: str) -> tuple[Key | None, Key | None]:
    """The keys that a file may be named for: `task_<id>.json`, and ids with the stem inside."""
    stem = file_name.removesuffix(SUFFIX)
    return key_of(stem.removeprefix(PREFIX)), key_of(stem)


def parse_task(file_name: str, data: bytes) -> tuple[Task | None, tuple[Problem, ...]]:
    """The task of a file, and everything that is odd about it.

    No task comes with exactly one problem, `invalid-json`, `not-an-object` or `bad-field` (an id
    that is none). A task with a field that decides about claiming and cannot be understood has
    `unclaimable` set.
    """
    try:
        raw, doubled = _load(file_name, data)
        return _Reader(file_name, raw).task(doubled)
    except NotATask as error:
        return None, (error.problem,)


def load_object(file_name: str, data: bytes) -> dict[str, Any]:
    """The object of a task file, its keys in the order of the file. Raises: NotATask."""
    return _load(file_name, data)[0]


def _load(file_name: str, data: bytes) -> tuple[dict[str, Any], bool]:
    doubled = False

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal doubled
        found = dict(pairs)
        doubled = doubled or len(found) != len(pairs)
        return found

    try:
        value = json.loads(data.removeprefix(codecs.BOM_UTF8).decode(), object_pairs_hook=unique)
    except UnicodeDecodeError as error:
        raise _no_task(file_name, "invalid-json", f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        at = f"{error.msg} (line {error.lineno}, column {error.colno})"
        raise _no_task(file_name, "invalid-json", f"not JSON: {at}") from None
    except (ValueError, RecursionError) as error:
        raise _no_task(file_name, "invalid-json", f"not JSON: {error}") from None
    if not isinstance(value, dict):
        found = "null" if value is None else type(value).__name__
        raise _no_task(file_name, "not-an-object", f"expected an object, found {found}")
    return value, doubled


def _no_task(file_name: str, kind: str, message: str) -> NotATask:
    return NotATask(Problem(severity="error", kind=kind, file=file_name, id=None, message=message))


class _Reader:
    """Collects what is odd while the fields of one file are read."""

    def __init__(self, file_name: str, raw: dict[str, Any]) -> None:
        self._file = file_name
        self._raw = raw
        self._id: int | str | None = None
        self._problems: list[Problem] = []
        self._unclaimable: list[str] = []

    def task(self, doubled: bool) -> tuple[Task, tuple[Problem, ...]]:
        self._id, key = self._identity()
        if doubled:
            self._refuse("bad-field", "a key stands there twice, so one of its values is lost")
        self._check_name(key)
        blocked_by = self._deciding("blockedBy", fields.keys)
        usage = self._raw.get("usage")
        task = Task(
            id=self._id,
            key=key,
            file=self._file,
            subject=self._text("subject"),
            description=self._text("description"),
            status=self._status(blocked_by),
            owner=self._deciding("owner", fields.name),
            blocked_by=blocked_by or (),
            agent=self._deciding("agent", fields.name),
            required_role=self._deciding("required_role", fields.name),
            priority=self._telling("priority", fields.priority) or 0,
            schema=self._deciding("schema", fields.schema),
            run=self._deciding("run", fields.command),
            verify=self._deciding("verify", fields.commands) or (),
            plan=self._deciding("plan", fields.yes_no) or False,
            isolated=self._deciding("isolated", fields.yes_no) or False,
            timeout_s=self._deciding("timeout", fields.seconds),
            max_attempts=self._deciding("maxAttempts", fields.max_attempts),
            attempt=self._deciding("attempt", fields.attempt) or 0,
            claim=fields.claim(self._raw.get("claim")),
            retry_at=self._deciding("retryAt", fields.moment),
            result=self._raw.get("result"),
            error=self._text("error") or None,
            started_at=self._quiet("startedAt"),
            finished_at=self._quiet("finishedAt"),
            usage=usage if isinstance(usage, dict) else None,
            raw=self._raw,
        )
        self._warn_beside_run(task)
        if self._unclaimable:
            task = replace(task, unclaimable="; ".join(self._unclaimable))
        return task, tuple(self._problems)

    def _identity(self) -> tuple[int | str, Key]:
        written = self._find("id")
        if written is None or written == "":
            stem = self._file.removeprefix(PREFIX).removesuffix(SUFFIX)
            key = keys_of_name(self._file)[0] or stem
            self._id = int(key) if key.isdigit() and len(key) < 19 else key
            self._add("warning", "missing-id", "no id inside; taken from the file name")
        else:
            found = key_of(written)
            if found is None:
                shown = fields.words(written)[:60]
                raise _no_task(
                    self._file, "bad-field", f"id: found {shown}, expected a number or text"
                )
            self._id, key = written if isinstance(written, (int, str)) else int(written), found
        if not is_safe(key):
            self._refuse("bad-field", "id: not usable in paths; use letters, digits, '.', '_', '-'")
        return self._id, key

    def _check_name(self, key: Key) -> None:
        if key not in keys_of_name(self._file):
            self._add(
                "warning",
                "name-mismatch",
                f"the id inside is {self._id!r}, the file is named for another; the inside counts",
            )

    def _status(self, blocked_by: tuple[Key, ...] | None) -> Status | None:
        written = self._raw.get("status")
        if written is None:
            if self._text("subject"):
                return "pending"
            self._refuse("bad-field", "neither a subject nor a status: not a task of ours")
            return None
        status = fields.status_of(written)
        if status is None and isinstance(written, str) and written.strip().lower() == "blocked":
            status = "pending" if blocked_by else None
        if status is None:
            self._refuse(
                "unknown-status",
                f"status {fields.words(written)[:60]!r} is not one of pending, in_progress, "
                "completed, failed, deleted",
            )
        return status

    def _find(self, field: str) -> Any:
        """The written value: the first spelling that is there and not null."""
        for spelling in fields.spellings(field):
            value = self._raw.get(spelling)
            if value is not None:
                return value
        return None

    def _deciding(self, field: str, read: Callable[[object], _T]) -> _T | None:
        """A field that decides about claiming: what cannot be understood forbids the claim."""
        meanings: list[_T] = []
        for spelling in fields.spellings(field):
            value = self._raw.get(spelling)
            if value is None:
                continue
            try:
                meaning = read(value)
            except fields.NotUnderstood as error:
                shown = fields.words(value)[:60]
                self._refuse("bad-field", f"{spelling}: found {shown}, expected {error}")
                return None
            if meaning:  # an empty one says nothing against another spelling
                meanings.append(meaning)
        if any(meaning != meanings[0] for meaning in meanings):
            self._refuse("bad-field", f"{field} is there in spellings that say different things")
        return meanings[0] if meanings else None

    def _telling(self, field: str, read: Callable[[object], _T]) -> _T | None:
        """A field whose loss harms nobody: what cannot be understood is only warned about."""
        value = self._raw.get(field)
        if value is None:
            return None
        try:
            return read(value)
        except fields.NotUnderstood as error:
            shown = fields.words(value)[:60]
            self._add("warning", "bad-field", f"{field}: found {shown}, expected {error}; ignored")
            return None

    def _quiet(self, field: str) -> datetime | None:
        try:
            return fields.moment(self._raw.get(field))
        except fields.NotUnderstood:
            return None

    def _text(self, field: str) -> str:
        value = self._find(field)
        return "" if value is None else fields.words(value)

    def _warn_beside_run(self, task: Task) -> None:
        beside = {"agent": task.agent, "schema": task.schema, "plan": task.plan}
        ignored = [field for field, value in beside.items() if value]
        if task.run is not None and ignored:
            message = f"{', '.join(ignored)} beside run: ignored, a command has no agent"
            self._add("warning", "bad-field", message)

    def _refuse(self, kind: str, message: str) -> None:
        self._unclaimable.append(message)
        self._add("error", kind, message)

    def _add(self, severity: Severity, kind: str, message: str) -> None:
        self._problems.append(
            Problem(severity=severity, kind=kind, file=self._file, id=self._id, message=message)
        )
