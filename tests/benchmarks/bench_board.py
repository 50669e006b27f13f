"""How fast a board is looked at; medians of several rounds.

Run: python -m tests.benchmarks.bench_board [--json]

Scans: 1,000, 10,000 and 100,000 task files, cold, unchanged by stat, unchanged and changed while a
watcher tells what changes, beside a plain read and parse of every file.
Rounds of a teammate: look, claim, complete, with and without 9,800 finished tasks beside.
Chain: the reasons of 5,000 tasks that wait for one another.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from pathlib import Path

from runner.board.store import Store
from runner.board.task import Claimant
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.layout import Layout
from tests.benchmarks.kit import Figures, board, median_ms, put, show, side_by_side_ms, task_object

_SCANNED = (1_000, 10_000, 100_000)
_LARGE = 100_000
_OPEN = 200
_FINISHED = 9_800
_CHAINED = 5_000


def measure() -> Figures:
    with tempfile.TemporaryDirectory(prefix="bench-board-") as folder:
        figures: Figures = {}
        for count in _SCANNED:
            figures |= _scans(Path(folder) / f"scans-{count}", count)
        return figures | _rounds(Path(folder) / "rounds") | _chain(Path(folder) / "chain")


def _scans(root: Path, count: int) -> Figures:
    layout = board(root, count)
    folder, rounds = str(layout.tasks), 7 if count < _LARGE else 3
    store = _store(layout)
    store.scan()
    took = side_by_side_ms(
        {
            "plain": lambda: _read_plainly(folder),
            "natural": lambda: [json.loads(p.read_bytes()) for p in layout.tasks.glob("*.json")],
            "idle": store.observer.sweep,
        },
        rounds,
    )
    plain, natural, idle = took["plain"], took["natural"], took["idle"]
    cold = median_ms(lambda: _store(layout).scan(), rounds=3)
    store.observer.rely(3600)
    store.observer.sweep()
    told = median_ms(store.scan, rounds)
    changes = iter(range(rounds + 1))

    def change() -> None:
        put(layout, {**task_object(1), "description": f"changed {next(changes)} times"})
        assert store.observer.hear(["task_1.json"])
        store.scan()

    changed = median_ms(change, rounds)
    shutil.rmtree(root)
    return {
        f"{count:,} files: open + json.loads, ms": plain,
        f"{count:,} files: Path.read_bytes + json.loads, ms": natural,
        f"{count:,} files: cold scan, ms": cold,
        f"{count:,} files: idle re-scan by stat, ms": idle,
        f"{count:,} files: idle re-scan while watched, ms": told,
        f"{count:,} files: re-scan after one change while watched, ms": changed,
        f"{count:,} files: cold scan: times the cost of open + json.loads": cold / plain,
        f"{count:,} files: idle by stat: times faster than open + json.loads (aim 6)": plain / idle,
        f"{count:,} files: idle by stat: times faster than Path.read_bytes + loads (aim 6)": natural
        / idle,
        f"{count:,} files: idle by stat: times faster than a cold scan": cold / idle,
        f"{count:,} files: idle while watched: times faster than open + json.loads": plain / told,
    }


def _rounds(root: Path) -> Figures:
    """What a task costs beside its work, and how much of that the finished rest adds."""
    figures = {}
    for finished in (0, _FINISHED):
        layout = board(root / str(finished), _OPEN)
        for number in range(_OPEN + 1, _OPEN + finished + 1):
            put(layout, {**task_object(number), "status": "completed"})
        store, me, done = _store(layout), Claimant(name="me"), 0
        store.scan()
        os.sync()
        began = time.perf_counter()
        while (task := store.claim_next(me)) is not None:
            store.complete(task.fence)
            store.scan()
            done += 1
        took_ms = 1000 * (time.perf_counter() - began) / done
        figures[f"look + claim + complete, {finished:,} finished beside, ms"] = took_ms
    return figures


def _chain(root: Path) -> Figures:
    layout = board(root, 0)
    for number in range(1, _CHAINED + 1):
        put(layout, {**task_object(number), "blockedBy": [number - 1] if number > 1 else []})
    store = _store(layout)
    snapshot = store.scan()
    reasons = median_ms(lambda: [snapshot.reason(task) for task in snapshot.tasks.values()])
    return {f"reasons of a chain of {_CHAINED:,} tasks, ms": reasons}


def _store(layout: Layout) -> Store:
    clock = SystemClock()
    journal = Journal(layout.runs / f"bench-{os.getpid()}.jsonl", run=None, clock=clock)
    return Store(layout, clock=clock, journal=journal)


def _read_plainly(folder: str) -> None:
    for name in os.listdir(folder):  # noqa: PTH208 - the fastest plain way is the fair measure
        with open(f"{folder}/{name}", "rb") as stream:  # noqa: PTH123
            json.loads(stream.read())


if __name__ == "__main__":
    show(measure, __doc__)
