"""The task files of `.tasks/`, kept in memory and brought up to date by looking at their stat."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from runner.board.entry import FINISHED, Entry, Signature, read_now, signature_of
from runner.board.graph import unblocked_by
from runner.board.ordered import Ordered
from runner.board.reading import is_task_file, keys_of_name
from runner.board.task import Task
from runner.core.ids import Key, order_key

Pending = tuple[int, tuple[object, ...], Key]
Unfinished = tuple[tuple[object, ...], Key]

_MANY = 500


class Folder:
    """All entries, and what is derived from them, updated file by file.

    `tasks` has the meant file of each id, `others` the further files of a doubled one. `pending`
    holds, for each owner (None: nobody), `(-priority, order of the id, key)` of the tasks that are
    pending and can be understood. `unfinished` has `(order of the id, key)` of what is neither
    completed, failed nor deleted. `held` has tasks in progress, and pending ones whose attempt is
    lower than when they were seen in progress, as they were then: no verb of ours lowers it. `odd`
    has the entries with problems. `dependants` names the files that list a key in `blockedBy` or
    `unblockedBy`. `version` changes whenever anything did. For one thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.prefix = f"{path}/"
        self.version = 0
        self.entries: dict[str, Entry] = {}
        self.tasks: dict[Key, Task] = {}
        self.others: dict[Key, tuple[Task, ...]] = {}
        self.in_progress: set[Key] = set()
        self.held: dict[Key, Task] = {}
        self.unfinished: Ordered[Unfinished] = Ordered()
        self.odd: dict[str, Entry] = {}
        self.dependants: dict[Key, set[str]] = {}
        self.pending: dict[str | None, Ordered[Pending]] = {}
        self._files: dict[Key, set[str]] = {}
        self._broken: dict[str, Entry] = {}
        self._pending_of: dict[Key, tuple[str | None, Pending]] = {}
        self._unfinished: set[Key] = set()
        self._finished: set[str] = set()
        self._listing: list[str] | None = None
        self._names: list[str] = []
        self._known: list[Signature | None] = []
        self._known_version = -1

    def sweep(self, *, finished: bool = True) -> None:
        """Stat every task file and read those that changed. One bad file stops nothing.

        Without `finished` the files of completed and deleted tasks are taken to be as they were.
        """
        with self._opened() as folder:
            # relative to the open folder: half the cost of a path each
            listing = os.listdir(folder) if folder is not None else []  # noqa: PTH208
            if listing != self._listing:
                self._take_listing(listing)
            if folder is None:
                return
            changed = self._changed(folder, finished=finished)
            with _uncollected() if len(changed) > _MANY else contextlib.nullcontext():
                for name in changed:
                    self._read(name, folder)

    def refresh(self, name: str) -> Entry | None:
        """Read one file now; None if it is gone. A first failure to parse is not settled."""
        with self._opened() as folder:
            return self._read(name, folder)

    def is_current(self, name: str) -> bool:
        """Whether a file is as it was read, or still not there. May be asked on any thread."""
        entry = self.entries.get(name)
        try:
            status = os.lstat(self.prefix + name)
        except FileNotFoundError:
            return entry is None
        return entry is not None and signature_of(status) == entry.signature

    def put(self, entry: Entry) -> None:
        """Take over a file that was just read or written."""
        self._put(entry.file, entry)

    def set_aside(self, key: Key) -> None:
        """The file of a pending task has changed: the task waits no more until it is read."""
        if key in self._pending_of:
            owner, item = self._pending_of.pop(key)
            self.pending[owner].remove(item)

    def unsettled(self) -> dict[str, Signature]:
        """The files that could not be parsed and may be half-written, as they were then."""
        broken = self._broken.items()
        return {name: entry.signature for name, entry in broken if not entry.settled}

    def settle(self, name: str) -> None:
        """A file that fails again, and is still as it was, is a problem from now on."""
        before = self.entries[name].signature
        again = self.refresh(name)
        if again is None or again.signature != before:  # only after a lost race: it moves
            return
        self._put(name, replace(again, settled=True))

    def waiting_for(self, name: str) -> Iterator[Task]:
        """The pending tasks of `name`, then those of nobody, each in claiming order.

        The folder may change while this is walked: what is gone by then is left out.
        """
        for owner in (name, None):
            for _, _, key in self.pending.get(owner, ()):
                yield self.tasks[key]

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int | None]:
        """A descriptor of the folder; None if there is none."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            yield None
            return
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _read(self, name: str, folder: int | None) -> Entry | None:
        entry = read_now(name, folder) if folder is not None else None
        known = self.entries.get(name)
        if entry is not None and entry.task is None and entry.problems[0].kind == "invalid-json":
            same = known is not None and known.signature == entry.signature
            entry = replace(entry, settled=same and known is not None and known.settled)
        self._put(name, entry)
        return entry

    def _take_listing(self, listing: list[str]) -> None:
        self._names = [name for name in listing if is_task_file(name)]
        self._known_version = -1
        for name in self.entries.keys() - set(self._names):
            self._put(name, None)
        self._listing = listing

    def _changed(self, descriptor: int, *, finished: bool) -> list[str]:
        """The names whose stat is not the known one. The loop is the cost of an idle scan."""
        if finished:
            if self._known_version != self.version:
                self._known = self._known_of(self._names)
                self._known_version = self.version
            names, signatures = self._names, self._known
        else:
            names = [name for name in self._names if name not in self._finished]
            signatures = self._known_of(names)
        changed, look = [], os.stat
        for name, known in zip(names, signatures, strict=True):
            if known is None:
                changed.append(name)
                continue
            try:
                now = look(name, dir_fd=descriptor, follow_symlinks=False)
            except FileNotFoundError:  # only after a lost race: gone since the listing
                changed.append(name)
                continue
            if now.st_ctime_ns != known[0] or now.st_ino != known[2] or now.st_size != known[1]:
                changed.append(name)
        return changed

    def _known_of(self, names: list[str]) -> list[Signature | None]:
        entries = self.entries
        return [entry.signature if (entry := entries.get(name)) else None for name in names]

    def _put(self, name: str, entry: Entry | None) -> None:
        old = self.entries.pop(name, None)
        if old is None and entry is None:
            return
        if old is None or entry is None:
            # what came or went between two listings may not show in either
            self._listing = None
        touched = set()
        if old is not None and old.task is not None:
            touched.add(old.task.key)
            self._files[old.task.key].discard(name)
            for key in _edges(old.task):
                self.dependants[key].discard(name)
        self._broken.pop(name, None)
        self.odd.pop(name, None)
        self._finished.discard(name)
        if entry is not None:
            self.entries[name] = entry
            if entry.problems:
                self.odd[name] = entry
            if entry.task is None:
                self._broken[name] = entry
            else:
                if entry.task.status in FINISHED:
                    self._finished.add(name)
                touched.add(entry.task.key)
                self._files.setdefault(entry.task.key, set()).add(name)
                for key in _edges(entry.task):
                    self.dependants.setdefault(key, set()).add(name)
        for key in touched:
            self._choose(key)
        self.version += 1

    def _choose(self, key: Key) -> None:
        """Decide which file of an id is meant, and keep the lists in step."""
        found = [task for name in sorted(self._files[key]) if (task := self.entries[name].task)]
        self.set_aside(key)
        if key in self._unfinished:
            self._unfinished.discard(key)
            self.unfinished.remove((order_key(key), key))
        self.in_progress.discard(key)
        self.others.pop(key, None)
        if not found:
            del self._files[key]
            self.tasks.pop(key, None)
            return
        task, *rest = _meant_first(key, found)
        self.tasks[key] = task
        if rest:
            self.others[key] = tuple(rest)
        if task.status not in (*FINISHED, "failed"):
            self._unfinished.add(key)
            self.unfinished.add((order_key(key), key))
        held = self.held.pop(key, None)
        if held is not None and task.status == "pending" and task.attempt < held.attempt:
            self.held[key] = held
        if task.status == "in_progress":
            self.in_progress.add(key)
            self.held[key] = task
        elif task.status == "pending" and task.unclaimable is None:
            item = (-task.priority, order_key(key), key)
            self.pending.setdefault(task.owner, Ordered()).add(item)
            self._pending_of[key] = (task.owner, item)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without the collector: of thousands of files that are read none becomes garbage.

    It would look for some a dozen times, at nearly the cost of the reading.
    """
    as_before = gc.enable if gc.isenabled() else gc.disable
    gc.disable()
    try:
        yield
    finally:
        as_before()


def _edges(task: Task) -> set[Key]:
    return {*task.blocked_by, *unblocked_by(task)}


def _meant_first(key: Key, found: list[Task]) -> list[Task]:
    """The one named for its id first; of an undecided set none may be claimed."""
    if len(found) == 1:
        return found
    named = [task for task in found if key in keys_of_name(task.file)]
    if len(named) == 1:
        return [named[0], *(task for task in found if task is not named[0])]
    reason = f"{len(found)} files have this id: {', '.join(task.file for task in found)}"
    # an unfinished one stands for them all: a doubled blocker must not free anything
    found.sort(key=lambda task: task.status in ("completed", "deleted"))
    return [replace(task, unclaimable=reason) for task in found]
