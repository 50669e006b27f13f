"""Looking at the board without its lock: what is there, who lives, what is odd."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable
from dataclasses import replace

from runner.board import runs
from runner.board.checks import board_problems
from runner.board.entry import Signature
from runner.board.folder import Folder
from runner.board.graph import behind_rings, rings
from runner.board.problem import Problem
from runner.board.reading import keys_of_name
from runner.board.snapshot import Snapshot, run_here
from runner.board.task import Task
from runner.core.clock import Clock
from runner.core.ids import Key
from runner.core.layout import Layout

_SMALL_BOARD = 200
_SWEEP_SHARE = 20
_AT_REST_S = 3.0
_PUT_BACK_S = 10.0
_MANY = 1000
"""When so many files changed at once, some of them may not have been told."""


class Observer:
    """One process's picture of the board, brought up to date at each look.

    `rely`, `hear` and `doubt` may be called on any thread, the rest on one at a time.
    """

    def __init__(self, layout: Layout, *, clock: Clock, own_run: str | None) -> None:
        self.folder = Folder(layout.tasks)
        self._layout = layout
        self._clock = clock
        self._own_run = own_run
        self._place = ""
        self._snapshot: tuple[int, Snapshot] | None = None
        self._swept_at = float("-inf")
        self._sweep_s = 0.0
        self._doubtful: dict[tuple[str, Signature], float] = {}
        self._mutex = threading.Lock()
        self._relied_s = 0.0
        self._doubted = False
        self._heard: set[str] = set()
        self._taken_back: dict[str, float] = {}

    def rely(self, seconds: float) -> None:
        """From now on somebody tells what changes: sweep only every so many seconds.

        0: nobody does any more, every look sweeps.
        """
        with self._mutex:
            self._relied_s, self._doubted = seconds, True

    def hear(self, names: Iterable[str]) -> bool:
        """These files may have changed; whether any of them is not as it was last seen."""
        news = [name for name in names if not self.folder.is_current(name)]
        with self._mutex:
            self._heard.update(news)
        return bool(news)

    def doubt(self) -> bool:
        """The next look sweeps, whatever was told; False if every look does."""
        with self._mutex:
            self._doubted = True
            return self._relied_s > 0

    def sweep(self) -> None:
        """Bring the folder up to date."""
        started = self._clock.monotonic()
        with self._mutex:
            # before the look at the files: what is told meanwhile is for the next one
            self._doubted = False
            self._heard.clear()
        self.folder.sweep()
        self._swept_at = self._clock.monotonic()
        self._sweep_s = self._swept_at - started

    def freshen(self) -> bool:
        """Bring the folder up to date, unless it is large and was swept just now; True if it did.

        Between claims that follow at once, a sweep of thousands of files would cost more than the
        claims. So it gets a twentieth of the time at most; what is claimed is read again anyway.
        """
        age = self._clock.monotonic() - self._swept_at
        if age < self._relied_s:
            if not self._heed():
                self.sweep()
            return True
        if len(self.folder.entries) > _SMALL_BOARD and age < self._sweep_s * _SWEEP_SHARE:
            return False
        self.sweep()
        return True

    def _heed(self) -> bool:
        """Read what was told to have changed; False if only a sweep can tell."""
        with self._mutex:
            if self._doubted or len(self._heard) > _MANY:
                return False
            heard, self._heard = self._heard, set()
        for name in heard:
            if not self.folder.is_current(name):
                self.folder.refresh(name)
        return True

    def sweep_unfinished(self) -> None:
        """Sweep, but look at the finished part of a large board only as often as `freshen` would.

        New files and changes of open tasks are seen at once; a finished task that somebody else
        reopens a moment later.
        """
        if not self.freshen():
            self.folder.sweep(finished=False)

    def snapshot(self, *, settle: bool = False) -> Snapshot:
        """Look at everything. A file that fails to parse is a problem once it has come to rest.

        `settle` takes the first look for definite, for a process that looks only once.
        """
        self.sweep_unfinished()
        self.settle(at_once=settle)
        kept = self._snapshot
        if kept is None or kept[0] != self.folder.version or self.place != kept[1].place:
            kept = (self.folder.version, self._build())
        current = replace(kept[1], alive=self.alive(), now=self._clock.now())
        self._snapshot = (kept[0], current)
        return current

    def settle(self, *, at_once: bool = False) -> None:
        """Tell files that are broken from those that somebody is writing: the latter change soon.

        It is at rest when it was last written a while ago, or has stayed as it is while we looked.
        """
        now, first_seen, self._doubtful = self._clock.monotonic(), self._doubtful, {}
        for name, signature in self.folder.unsettled().items():
            since = first_seen.get((name, signature), now)
            if at_once or now - since >= _AT_REST_S or self._age_s(name) >= _AT_REST_S:
                self.folder.settle(name)
            else:
                self._doubtful[name, signature] = since

    def _age_s(self, name: str) -> float:
        """Seconds since the file was written, by the clock on the wall."""
        with contextlib.suppress(FileNotFoundError):
            written = (self.folder.path / name).lstat().st_mtime
            return self._clock.now().timestamp() - written
        return 0.0  # only after a lost race: gone since the sweep

    @property
    def place(self) -> str:
        """The place of this board; empty while nothing was ever claimed here."""
        if not self._place and (self._layout.team / "id").exists():
            self._place = self._layout.place()
        return self._place

    def own_place(self) -> str:
        """The place, made if it is not there: for a claim."""
        return self.place or self._layout.place()

    def alive(self) -> frozenset[str]:
        """The runs named in claims of this place that are alive."""
        named = {run_here(task, self.place) for task in self.in_progress()}
        return frozenset(run for run in named if run is not None and self._is_alive(run))

    def stale(self) -> list[Task]:
        """Tasks claimed here by runs that are dead."""
        alive = self.alive()
        held = [(task, run_here(task, self.place)) for task in self.in_progress()]
        return [task for task, run in held if run is not None and run not in alive]

    def in_progress(self) -> list[Task]:
        return [self.folder.tasks[key] for key in self.folder.in_progress]

    def is_live(self, task: Task) -> bool:
        """Whether a live run of this place holds the task."""
        run = run_here(task, self.place)
        return run is not None and self._is_alive(run)

    def to_be_put_back(self, task: Task) -> Task | None:
        """A pending task as another live run held it, when its claim has gone from the file.

        That happens by a `git checkout`, say: the run puts it back as soon as it knows. It gets a
        while, so that nobody begins meanwhile what is being worked on.
        """
        held = self.folder.held.get(task.key)
        if task.status != "pending" or held is None or held.claim is None:
            return None
        if held.claim.run == self._own_run or not self.is_live(held):
            return None
        now = self._clock.monotonic()
        since = self._taken_back.setdefault(held.claim.id, now)
        return held if now - since < _PUT_BACK_S else None

    def _is_alive(self, run: str) -> bool:
        return run == self._own_run or runs.is_alive(self._layout, run)

    def _build(self) -> Snapshot:
        folder = self.folder
        unsettled = frozenset(folder.unsettled())
        found = [problem for name in sorted(folder.odd) for problem in self._said_of(name)]
        unfinished = [folder.tasks[key] for _, key in folder.unfinished]
        found_rings = rings((task for task in unfinished if task.blocked_by), folder.tasks)
        silent: frozenset[Key] = frozenset(
            key for name in unsettled for key in keys_of_name(name) if key is not None
        )
        others = {key: folder.others[key] for key in sorted(folder.others)}
        found += board_problems(
            folder.tasks, unfinished, others, found_rings, place=self.place, silent=silent
        )
        return Snapshot(
            tasks=dict(folder.tasks),
            unfinished=tuple(unfinished),
            rings=behind_rings(found_rings, unfinished),
            others=tuple(task for further in others.values() for task in further),
            problems=tuple(found),
            unsettled=unsettled,
            place=self.place,
            now=self._clock.now(),
            own_run=self._own_run,
        )

    def _said_of(self, name: str) -> tuple[Problem, ...]:
        entry = self.folder.entries[name]
        return entry.problems if entry.settled else ()
