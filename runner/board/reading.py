"""From the bytes of a task file to a `Task`, or to the reasons why it is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from runner.board import fields
from runner.board.decoding import MOST_LEVELS, NotAnObject, decode_object, is_deep
from runner.board.misspelt import meant_by
from runner.board.problem import Problem, Severity
from runner.board.task import Status, Task
from runner.core.ids import Key, is_safe, key_of, number_of

PREFIX = "task_"
SUFFIX = ".json"


class _NoId(Exception):
    """The object has an id that cannot be one."""


def is_task_file(name: str) -> bool:
    """Whether a directory entry of this name counts as a task file."""
    return name.startswith(PREFIX) and name.endswith(SUFFIX) and len(name) > 10


def keys_of_name(file_name: str) -> tuple[Key | None, Key | None]:
    """The keys that a file may be named for: `task_<id>.json`, and ids with the stem inside."""
    stem = file_name.removesuffix(SUFFIX)
    return key_of(stem.removeprefix(PREFIX)), key_of(stem)


def id_of_name(file_name: str) -> Key:
    """What a file that holds no id is taken for."""
    stem = file_name.removesuffix(SUFFIX).removeprefix(PREFIX)
    return key_of(stem) or stem


def parse_task(file_name: str, data: bytes) -> tuple[Task | None, tuple[Problem, ...]]:
    """The task of a file, and everything that is odd about it.

    No task comes with exactly one problem, `invalid-json`, `not-an-object` or `bad-field` (an id
    that is none). A task with a field that decides about claiming and cannot be understood has
    `unclaimable` set.
    """
    try:
        raw, doubled = decode_object(data)
        return _Reader(file_name, raw).task(doubled=doubled, deep=is_deep(data, raw))
    except NotAnObject as error:
        return None, (_problem(file_name, error.kind, str(error)),)
    except _NoId as error:
        return None, (_problem(file_name, "bad-field", str(error)),)


def _problem(file_name: str, kind: str, message: str) -> Problem:
    return Problem(severity="error", kind=kind, file=file_name, id=None, message=message)


class _Known(NamedTuple):
    """How a field is read, and what it is called in `Task`."""

    name: str
    read: Callable[[object], object]
    decides: bool = True


_READERS = {
    spelling: known
    for field, known in {
        "owner": _Known("owner", fields.name),
        "blockedBy": _Known("blocked_by", fields.keys),
        "agent": _Known("agent", fields.exact_name),
        "required_role": _Known("required_role", fields.name),
        "priority": _Known("priority", fields.priority, decides=False),
        "schema": _Known("schema", fields.schema),
        "run": _Known("run", fields.command),
        "verify": _Known("verify", fields.commands),
        "plan": _Known("plan", fields.yes_no),
        "isolated": _Known("isolated", fields.yes_no),
        "timeout": _Known("timeout_s", fields.seconds),
        "maxAttempts": _Known("max_attempts", fields.max_attempts),
        "attempt": _Known("attempt", fields.counter),
        "faults": _Known("faults", fields.counter, decides=False),
        "retryAt": _Known("retry_at", fields.moment),
    }.items()
    for spelling in fields.spellings(field)
}


# what the files can ask for, and this version does not carry out
_NOT_BUILT = {
    "plan": "plan mode is not part of this version",
    "isolated": "own worktrees are not part of this version",
}


class _Reader:
    """Collects what is odd while the fields of one file are read."""

    def __init__(self, file_name: str, raw: dict[str, Any]) -> None:
        self._file = file_name
        self._raw = raw
        self._id: int | str | None = None
        self._problems: list[Problem] = []
        self._unclaimable: list[str] = []

    def task(self, *, doubled: bool, deep: bool) -> tuple[Task, tuple[Problem, ...]]:
        self._id, key = self._identity()
        if doubled:
            self._refuse("bad-field", "a key stands there twice, so one of its values is lost")
        if deep:
            self._refuse("bad-field", f"nested more than {MOST_LEVELS} levels deep")
        self._check_name(key)
        read = self._understood()
        usage = self._raw.get("usage")
        task = Task(
            id=self._id,
            key=key,
            file=self._file,
            subject=self._text("subject"),
            description=self._text("description"),
            status=self._status(bool(read.get("blocked_by"))),
            claim=fields.claim(self._raw.get("claim")),
            result=self._raw.get("result"),
            error=self._text("error") or None,
            started_at=self._quiet("startedAt"),
            finished_at=self._quiet("finishedAt"),
            usage=usage if isinstance(usage, dict) else None,
            raw=self._raw,
            **read,
        )
        self._warn_beside_run(task)
        self._refuse_not_built(task)
        self._warn_misspelt(task)
        if self._unclaimable:
            task = replace(task, unclaimable="; ".join(self._unclaimable))
        return task, tuple(self._problems)

    def _identity(self) -> tuple[int | str, Key]:
        written = self._find("id")
        if written is None:
            key = id_of_name(self._file)
            number = number_of(key)
            self._id = key if number is None else number
            self._add("warning", "missing-id", "no id inside; taken from the file name")
        else:
            found = key_of(written)
            if not found:
                shown = fields.words(written)[:60]
                raise _NoId(f"id: found {shown}, expected a number or text")
            self._id, key = written if isinstance(written, (int, str)) else int(written), found
        if not is_safe(key):
            self._refuse("bad-field", "id: not usable in paths; use letters, digits, '.', '_', '-'")
        return self._id, key

    def _check_name(self, key: Key) -> None:
        usual = f"{PREFIX}{key}{SUFFIX}"
        if self._file != usual and key not in keys_of_name(self._file):
            self._add(
                "warning",
                "name-mismatch",
                f"the id inside is {self._id!r}, the file is named for another; the inside counts",
            )

    def _status(self, blocked: bool) -> Status | None:
        written = self._raw.get("status")
        if written is None:
            if self._text("subject"):
                return "pending"
            self._refuse("bad-field", "neither a subject nor a status: not a task of ours")
            return None
        status = fields.status_of(written)
        if status is None and isinstance(written, str) and written.strip().lower() == "blocked":
            status = "pending" if blocked else None
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

    def _understood(self) -> dict[str, Any]:
        """The fields of `_READERS` that say something, by the name they have in `Task`.

        What decides about claiming and cannot be understood forbids the claim.
        """
        read: dict[str, Any] = {}
        for key, value in self._raw.items():
            known = _READERS.get(key)
            if known is None or value is None:
                continue
            try:
                meaning = known.read(value)
            except fields.NotUnderstood as error:
                found = fields.words(value)[:60] or "nothing"
                message = f"{key}: found {found}, expected {error}"
                if known.decides:
                    self._refuse("bad-field", message)
                else:
                    self._add("warning", "bad-field", f"{message}; ignored")
                continue
            # an empty one says nothing against another spelling
            if meaning and read.setdefault(known.name, meaning) != meaning:
                self._refuse("bad-field", f"{key} contradicts another spelling of it")
        return read

    def _quiet(self, field: str) -> datetime | None:
        value = self._raw.get(field)
        if value is None:
            return None
        try:
            return fields.moment(value)
        except fields.NotUnderstood:
            return None

    def _text(self, field: str) -> str:
        value = self._find(field)
        return "" if value is None else fields.words(value)

    def _warn_beside_run(self, task: Task) -> None:
        if task.run is None:
            return
        beside = {"agent": task.agent, "schema": task.schema, "plan": task.plan}
        ignored = [field for field, value in beside.items() if value]
        if ignored:
            message = f"{', '.join(ignored)} beside run: ignored, a command has no agent"
            self._add("warning", "bad-field", message)

    def _warn_misspelt(self, task: Task) -> None:
        """What is done is done; until then a check that is never made is worth a word."""
        if task.status in ("completed", "failed", "deleted"):
            return
        for key, value in self._raw.items():
            if key not in _READERS and value is not None and (meant := meant_by(key)) is not None:
                message = f"{key}: not a field of ours, so it does nothing; is {meant} meant?"
                self._add("warning", "bad-field", message)

    def _refuse_not_built(self, task: Task) -> None:
        for field, message in _NOT_BUILT.items():
            if getattr(task, field) and not (field == "plan" and task.run is not None):
                self._refuse("bad-field", f"{field}: {message}", severity="warning")

    def _refuse(self, kind: str, message: str, *, severity: Severity = "error") -> None:
        self._unclaimable.append(message)
        self._add(severity, kind, message)

    def _add(self, severity: Severity, kind: str, message: str) -> None:
        self._problems.append(
            Problem(severity=severity, kind=kind, file=self._file, id=self._id, message=message)
        )
