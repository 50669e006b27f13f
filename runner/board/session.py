"""The board while its lock is held: read a file now, decide, replace it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from runner.board.decoding import NotAnObject, decode_object
from runner.board.entry import Content, read_content, read_entry, signature_of
from runner.board.fields import status_of
from runner.board.folder import Folder
from runner.board.saving import Changes, changed, encode_task
from runner.board.task import Task
from runner.core.files import Held, atomic_write, create_exclusive
from runner.errors import SaveFailed, TaskUnreadable

_TRIES = 5

Decide = Callable[[Task], Changes]
"""Looks at a task as it is on disk now and says what to change; refuses by raising."""


class _ChangedMeanwhile(Exception):
    """Another program wrote the file between our read and our replace."""


class Session:
    """One hold of the board lock. Everything read or written updates the `folder`."""

    def __init__(self, folder: Folder, held: Held) -> None:
        self._folder = folder
        self._held = held

    def read(self, file: str) -> None:
        """Bring the folder up to date with the file as it is now."""
        self._folder.refresh(file)

    def is_taken(self, task: Task) -> bool:
        """Whether somebody took a pending task since it was last read; it is then set aside.

        Much cheaper than to read it whole: of many who claim at once, each finds that most of what
        it knows to be free has just been taken.
        """
        if self._folder.is_current(task.file):
            return False
        try:
            data = read_content(self._folder.prefix + task.file).data
            if not _is_plainly_taken(data):
                raw, _ = decode_object(data)
                if status_of(raw.get("status")) in (None, "pending"):
                    return False
        except (OSError, NotAnObject):
            return False
        self._folder.set_aside(task.key)
        return True

    def rewrite(self, file: str, decide: Decide) -> tuple[Task, Task]:
        """Change the task in `file`, on what is there now; the task before and after.

        No changes: no write, and the same task twice. Raises: TaskUnreadable; SaveFailed; what
        `decide` raises.
        """
        for _ in range(_TRIES):
            content, task = self._task(file)
            changes = decide(task)
            if not changes:
                return task, task
            data = encode_task(file, changed(task.raw, changes))
            try:
                atomic_write(self._path(file), data, guard=partial(self._guard, file, content))
            except _ChangedMeanwhile:
                continue
            return task, self._written(file, data)
        raise SaveFailed(self._path(file), "another program keeps changing it")

    def create(self, file: str, data: bytes) -> Task | None:
        """Put a new task file in place; None if the name is taken. Raises: SaveFailed."""
        self._held.check()
        if not create_exclusive(self._path(file), data):  # only after a lost race: it was free
            return None
        return self._written(file, data)

    def _path(self, file: str) -> Path:
        return self._folder.path / file

    def _task(self, file: str) -> tuple[Content, Task]:
        try:
            content = read_content(self._folder.prefix + file)
        except OSError as error:
            self._folder.refresh(file)
            raise TaskUnreadable(self._path(file), error.strerror or str(error)) from error
        known = self._folder.entries.get(file)
        if known is not None and known.task is not None and known.says(content):
            return content, known.task
        entry = read_entry(file, content)
        if entry.task is None:
            self._folder.refresh(file)
            raise TaskUnreadable(self._path(file), entry.problems[0].message)
        self._folder.put(entry)
        return content, entry.task

    def _guard(self, file: str, content: Content) -> None:
        """Right before the replace: nobody else wrote, and the lock is still the lock."""
        try:
            now = signature_of(os.lstat(self._folder.prefix + file))
        except FileNotFoundError:
            raise _ChangedMeanwhile from None
        if now != content.signature:
            raise _ChangedMeanwhile
        self._held.check()

    def _written(self, file: str, data: bytes) -> Task:
        entry = read_entry(file, Content(data, signature_of(os.lstat(self._folder.prefix + file))))
        self._folder.put(entry)
        if entry.task is None:
            raise AssertionError("unreachable: what is written was a task before")
        return entry.task


def _is_plainly_taken(data: bytes) -> bool:
    """Whether it has the words that we write when a task is taken, and nowhere that it is free.

    Without reading it as JSON. One that is set aside in error comes back when it is read.
    """
    taken = b'"in_progress"' in data or b'"completed"' in data
    return taken and b'"pending"' not in data
