"""How fast the board is, as ratios within one run.

Run: python tests/benchmarks/bench_board.py [--json]

Scans: 10,000 task files, cold and unchanged, beside a plain read and parse of every file.
Claims: 1,000 tasks claimed and completed by four processes, beside a bare loop of lock, fsync and
replace; a task handed out twice ends the benchmark with an error.
Rounds of a teammate: look, claim, complete, with and without 9,800 finished tasks beside.
Chain: the reasons of 5,000 tasks that wait for one another.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from runner.board.reading import parse_task
from runner.board.store import Store
from runner.board.task import Claimant
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.layout import Layout

_SCANNED = 10_000
_CLAIMED = 1_000
_PROCESSES = 4
_ROUNDS = 7
_OPEN = 200
_FINISHED = 9_800
_CHAINED = 5_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    parser.add_argument("--worker", nargs=2, metavar=("KIND", "DIR"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        _worker(options.worker[0], Path(options.worker[1]))
        return
    with tempfile.TemporaryDirectory(prefix="bench-board-") as folder:
        figures = (
            _scans(Path(folder) / "scans")
            | _claims(Path(folder) / "claims")
            | _rounds(Path(folder) / "rounds")
            | _chain(Path(folder) / "chain")
        )
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    for name, figure in figures.items():
        print(f"{name:<58} {figure:>10,.2f}")


def _scans(root: Path) -> dict[str, float]:
    layout = _board(root, _SCANNED)
    folder = str(layout.tasks)
    plain = _best_ms(lambda: _read_plainly(folder))
    natural = _best_ms(
        lambda: [json.loads(p.read_bytes()) for p in layout.tasks.glob("task_*.json")]
    )
    lenient = _best_ms(lambda: [_read_as_task(p) for p in layout.tasks.glob("task_*.json")])
    cold = _best_ms(lambda: _store(layout).scan(), rounds=3)
    store = _store(layout)
    store.scan()
    idle = _best_ms(store.scan)
    return {
        f"open + json.loads of {_SCANNED:,} files, ms": plain,
        f"Path.read_bytes + json.loads of {_SCANNED:,} files, ms": natural,
        f"read as tasks, without a cache, {_SCANNED:,} files, ms": lenient,
        "cold scan, ms": cold,
        "idle re-scan, ms": idle,
        "idle re-scan: times faster than open + json.loads": plain / idle,
        "idle re-scan: times faster than Path.read_bytes + json.loads": natural / idle,
        "idle re-scan: times faster than reading every task": lenient / idle,
        "cold scan: times the cost of open + json.loads": cold / plain,
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
    reasons = _best_ms(lambda: [snapshot.reason(task) for task in snapshot.tasks.values()])
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


def _read_as_task(path: Path) -> object:
    return parse_task(path.name, path.read_bytes())


def _best_ms(call: Callable[[], object], rounds: int = _ROUNDS) -> float:
    """The best of a few calls, after one to warm up: the rest is what else the machine did."""
    call()
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        took.append(1000 * (time.perf_counter() - began))
    return min(took)


if __name__ == "__main__":
    main()
