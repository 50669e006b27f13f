"""A board on disk, a clock that a test moves by hand, and stores that look at it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runner.board.runs import RunLock
from runner.board.store import Store
from runner.board.task import Claimant
from runner.core.events import Journal, read_journal
from runner.core.layout import Layout
from runner.testing.board import make_board

ADA = Claimant(name="ada")
BO = Claimant(name="bo")


class HandClock:
    """Time for code that never sleeps."""

    def __init__(self) -> None:
        self._now = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
        self._elapsed_s = 0.0
        self.tick_s = 0.0

    def now(self) -> datetime:
        return self._now + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        """Each look at the clock may take `tick_s`."""
        self._elapsed_s += self.tick_s
        return self._elapsed_s

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing here waits")

    def later(self, seconds: float) -> None:
        self._elapsed_s += seconds


class Desk:
    """One board folder, as seen and touched by a test."""

    def __init__(self, root: Path) -> None:
        self.layout: Layout = make_board(root)
        self.clock = HandClock()

    def put(self, *tasks: Mapping[str, Any]) -> None:
        make_board(self.layout.root, tasks)

    def path(self, task_id: object) -> Path:
        return self.layout.tasks / f"task_{task_id}.json"

    def raw(self, task_id: object) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.path(task_id).read_bytes())
        return value

    def change(self, task_id: object, **fields: Any) -> None:
        """What an editor does: the file is written in place."""
        self.path(task_id).write_text(json.dumps(self.raw(task_id) | fields), encoding="utf-8")

    def half_write(self, task_id: object, text: str = '{"id": 1, "sub') -> None:
        """What another program has written so far, a moment ago."""
        self.path(task_id).write_text(text, encoding="utf-8")
        self.age(task_id, 0)

    def age(self, task_id: object, seconds: float) -> None:
        """Let the file be last written so long ago."""
        stamp = self.clock.now().timestamp() - seconds
        os.utime(self.path(task_id), (stamp, stamp))

    def bytes(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.layout.tasks.iterdir()}

    def store(self, run: str | None = None, **options: Any) -> Store:
        """A store of its own, as another process would have it."""
        self.layout.ensure_team()
        path = self.layout.runs / f"{run}.jsonl" if run else self.layout.cli_journal
        journal = Journal(path, run=run, clock=self.clock)
        options.setdefault("chance", lambda: 0.0)
        return Store(self.layout, clock=self.clock, journal=journal, run=run, **options)

    @contextmanager
    def live(self, run: str, **options: Any) -> Iterator[Store]:
        """The store of a run that is alive inside the block, and dead after it."""
        lock = RunLock.start(self.layout, run)
        try:
            yield self.store(run, **options)
        finally:
            lock.release()

    def dead_claim(self, run: str, task_id: object, **options: Any) -> str:
        """Let a run claim a task and die. Returns the id of the claim."""
        with self.live(run, **options) as store:
            return store.claim(task_id, ADA).fence.claim_id

    def events(self, event: str | None = None) -> list[dict[str, Any]]:
        paths = [self.layout.cli_journal, *sorted(self.layout.runs.glob("*.jsonl"))]
        lines = [line for path in paths for line in read_journal(path)]
        return [line for line in lines if event in (None, line["event"])]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)
