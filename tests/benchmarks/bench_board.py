"""How fast the board is, as ratios within one run; medians of several rounds.

Run: python tests/benchmarks/bench_board.py [--large] [--json]

Scans: 1,000 and 10,000 task files (`--large`: 100,000 too), cold, unchanged by stat, unchanged and
changed while a watcher tells what changes, beside a plain read and parse of every file.
Claims: 1,000 tasks claimed and completed by four processes, beside a bare loop of lock, fsync and
replace; a task handed out twice ends the benchmark with an error.
Rounds of a teammate: look, claim, complete, with and without 9,800 finished tasks beside.
Chain: the reasons of 5,000 tasks that wait for one another.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from runner.board.store import Store
from runner.board.task import Claimant
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.layout import Layout

_SCANNED = (1_000, 10_000)
_LARGE = 100_000
_CLAIMED = 1_000
_PROCESSES = 4
_ROUNDS = 7
_OPEN = 200
_FINISHED = 9_800
_CHAINED = 5_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    parser.add_argument("--large", action="store_true", help="scan 100,000 files too")
    parser.add_argument("--worker", nargs=2, metavar=("KIND", "DIR"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        _worker(options.worker[0], Path(options.worker[1]))
        return
    with tempfile.TemporaryDirectory(prefix="bench-board-") as folder:
        figures: dict[str, float] = {}
        for count in (*_SCANNED, _LARGE) if options.large else _SCANNED:
            figures |= _scans(Path(folder) / f"scans-{count}", count)
        figures |= (
            _claims(Path(folder) / "claims")
            | _rounds(Path(folder) / "rounds")
            | _chain(Path(folder) / "chain")
        )
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    for name, figure in figures.items():
        print(f"{name:<70} {figure:>10,.2f}")


def _scans(root: Path, count: int) -> dict[str, float]:
    layout = _board(root, count)
    folder, rounds = str(layout.tasks), _ROUNDS if count < _LARGE else 3
    plain = _median_ms(lambda: _read_plainly(folder), rounds)
    natural = _median_ms(
        lambda: [json.loads(p.read_bytes()) for p in layout.tasks.glob("task_*.json")], rounds
    )
    cold = _median_ms(lambda: _store(layout).scan(), rounds=3)
    store = _store(layout)
    store.scan()
    idle = _median_ms(store.observer.sweep, rounds)
    store.observer.rely(3600)
    store.observer.sweep()
    told = _median_ms(store.scan, rounds)
    changes = iter(range(rounds + 1))

    def change() -> None:
        _put(layout, {**_object(1), "description": f"changed {next(changes)} times"})
        assert store.observer.hear(["task_1.json"])
        store.scan()

    changed = _median_ms(change, rounds)
    shutil.rmtree(root)
    return {
        f"{count:,} files: open + json.loads, ms": plain,
        f"{count:,} files: Path.read_bytes + json.loads, ms": natural,
        f"{count:,} files: cold scan, ms": cold,
        f"{count:,} files: idle re-scan by stat, ms": idle,
        f"{count:,} files: idle re-scan while watched, ms": told,
        f"{count:,} files: re-scan after one change while watched, ms": changed,
        f"{count:,} files: cold scan: times the cost of open + json.loads": cold / plain,
        f"{count:,} files: idle by stat: times faster than open + json.loads": plain / idle,
        f"{count:,} files: idle by stat: times faster than Path.read_bytes": natural / idle,
        f"{count:,} files: idle while watched: times faster than open + json.loads": plain / told,
    }


def _claims(root: Path) -> dict[str, float]:
    layout = _board(root, _CLAIMED)
    os.sync()  # what the scans wrote is not to be paid for here
    bare = {count: _rate("bare", layout.root, count) for count in (1, _PROCESSES)}
    claims = {}
    for count in (1, _PROCESSES):
        _reset(layout)
        os.sync()
        claims[count] = _rate("claims", layout.root, count)
        _assert_once(layout)
    figures: dict[str, float] = {}
    for count in (1, _PROCESSES):
        figures |= {
            f"bare lock + fsync + replace, {count} process(es), per s": bare[count],
            f"claim + complete (two replaces), {count} process(es), per s": claims[count],
            f"claim + complete: share of the bare loop, {count} process(es), %": 100
            * (2 * claims[count])
            / bare[count],
        }
    return figures


def _rounds(root: Path) -> dict[str, float]:
    """What a task costs beside its work, and how much of that the finished rest adds."""
    figures = {}
    for finished in (0, _FINISHED):
        layout = _board(root / str(finished), _OPEN)
        for number in range(_OPEN + 1, _OPEN + finished + 1):
            _put(layout, {**_object(number), "status": "completed"})
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


def _chain(root: Path) -> dict[str, float]:
    layout = _board(root, 0)
    for number in range(1, _CHAINED + 1):
        _put(layout, {**_object(number), "blockedBy": [number - 1] if number > 1 else []})
    store = _store(layout)
    snapshot = store.scan()
    reasons = _median_ms(lambda: [snapshot.reason(task) for task in snapshot.tasks.values()])
    return {f"reasons of a chain of {_CHAINED:,} tasks, ms": reasons}


def _rate(kind: str, root: Path, count: int) -> float:
    """Rounds (or tasks) per second of `count` processes that start together."""
    command = [sys.executable, __file__, "--worker", kind, str(root)]
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    began = time.perf_counter()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    done = sum(int(worker.communicate()[0]) for worker in workers)
    return done / (time.perf_counter() - began)


def _worker(kind: str, root: Path) -> None:
    layout = Layout(root=root, workspace=root)
    store = _store(layout)
    store.scan()
    print("ready", flush=True)
    sys.stdin.readline()
    if kind == "bare":
        print(_bare(layout.tasks.parent / "bare", rounds=500))
        return
    done, me = 0, Claimant(name=f"worker-{os.getpid()}")
    while (task := store.claim_next(me)) is not None:
        store.complete(task.fence, result={"by": os.getpid()})
        done += 1
    print(done)


def _bare(folder: Path, rounds: int) -> int:
    """What every durable file queue has to pay for one change."""
    folder.mkdir(exist_ok=True)
    data = json.dumps(_object(1), indent=2).encode()
    for number in range(rounds):
        with FileLock(folder / "lock", preserve_lock_file=True):
            temporary = folder / f".{os.getpid()}.tmp"
            with temporary.open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(folder / f"{os.getpid()}-{number % 100}.json")
    return rounds


def _object(number: int) -> dict[str, object]:
    return {
        "id": number,
        "subject": f"Task {number} of a board that is not small",
        "description": "Do what is written here, with care, and say what was done. " * 6,
        "status": "pending",
        "blockedBy": [],
        "owner": "",
        "priority": number % 3,
        "labels": ["one", "two"],
    }


def _board(root: Path, count: int) -> Layout:
    layout = Layout(root=root, workspace=root)
    layout.tasks.mkdir(parents=True)
    layout.ensure_team()
    for number in range(1, count + 1):
        _put(layout, _object(number))
    return layout


def _put(layout: Layout, task: dict[str, object]) -> None:
    path = layout.tasks / f"task_{task['id']}.json"
    path.write_text(json.dumps(task, indent=2) + "\n", encoding="utf-8")


def _reset(layout: Layout) -> None:
    for number in range(1, _CLAIMED + 1):
        _put(layout, _object(number))
    layout.cli_journal.unlink(missing_ok=True)


def _store(layout: Layout) -> Store:
    clock = SystemClock()
    journal = Journal(layout.runs / f"bench-{os.getpid()}.jsonl", run=None, clock=clock)
    return Store(layout, clock=clock, journal=journal)


def _assert_once(layout: Layout) -> None:
    tasks = [json.loads(path.read_bytes()) for path in layout.tasks.glob("task_*.json")]
    twice = [task["id"] for task in tasks if task["attempt"] != 1 or task["status"] != "completed"]
    if twice or len(tasks) != _CLAIMED:
        raise SystemExit(f"handed out twice or not at all: {twice[:20]}")


def _read_plainly(folder: str) -> None:
    for name in os.listdir(folder):  # noqa: PTH208 - the fastest plain way is the fair measure
        with open(f"{folder}/{name}", "rb") as stream:  # noqa: PTH123
            json.loads(stream.read())


def _median_ms(call: Callable[[], object], rounds: int = _ROUNDS) -> float:
    """The median of a few calls, after one to warm up."""
    call()
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        took.append(1000 * (time.perf_counter() - began))
    return statistics.median(took)


if __name__ == "__main__":
    main()
