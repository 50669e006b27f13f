"""Claims and completions a second, beside what any durable queue of files has to pay.

Run: python -m tests.benchmarks.bench_claims [--json]

2,000 tasks are claimed and completed by 1, 4 and 8 processes. Right before and right after, as many
processes run a bare loop of lock, write, fsync and replace over the files of such a board, each
twice: once for the claim and once for the completion. It reads nothing, decides nothing and leaves
no journal. The share is that of the mean of both loops, the median of three rounds. A task that is
handed out twice ends the benchmark with an error.

Beside it huey, where it is installed (`pip install --group bench`): its SQLite queue with fsync, as
many jobs that do nothing. It takes a job with one durable write, and a job is lost when its process
dies.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from filelock import FileLock

from runner.board.store import Store
from runner.board.task import Claimant
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.layout import Layout
from tests.benchmarks.kit import Figures, board, show, task_object

_TASKS = 2_000
_PROCESSES = (1, 4, 8)
_ROUNDS = 3


def measure() -> Figures:
    figures: Figures = {}
    with tempfile.TemporaryDirectory(prefix="bench-claims-") as folder:
        for count in _PROCESSES:
            figures |= _beside_the_bare_loop(Path(folder) / str(count), count)
        if importlib.util.find_spec("huey") is not None:
            for count in _PROCESSES:
                rate = _huey_rate(Path(folder) / f"huey-{count}", count)
                figures[f"jobs of huey on SQLite a second, {count} process(es)"] = rate
    return figures


def _beside_the_bare_loop(root: Path, count: int) -> Figures:
    shares, rates, saves = [], [], []
    for number in range(_ROUNDS):
        place = root / str(number)
        before = _bare_rate(place / "before", count)
        rate = _claim_rate(place / "board", count)
        bare = statistics.mean((before, _bare_rate(place / "after", count)))
        rates.append(rate)
        saves.append(bare)
        shares.append(100 * 2 * rate / bare)
        shutil.rmtree(place)
    return {
        f"saves of the bare loop a second, {count} process(es)": statistics.median(saves),
        f"tasks claimed and completed a second, {count} process(es)": statistics.median(rates),
        f"claims, {count} process(es): % of the bare loop (aim 70)": statistics.median(shares),
    }


def _bare_rate(folder: Path, count: int) -> float:
    board(folder, _TASKS)
    os.sync()
    return _rate("bare", folder, count)


def _claim_rate(root: Path, count: int) -> float:
    layout = board(root, _TASKS)
    os.sync()  # what was written here is not to be paid for there
    rate = _rate("claims", root, count)
    tasks = [json.loads(path.read_bytes()) for path in layout.tasks.glob("task_*.json")]
    wrong = [task["id"] for task in tasks if task["attempt"] != 1 or task["status"] != "completed"]
    if wrong or len(tasks) != _TASKS:
        raise SystemExit(f"handed out twice or not at all: {wrong[:20]}")
    return rate


def _huey_rate(folder: Path, count: int) -> float:
    folder.mkdir()
    queue, job = _huey(folder)
    for number in range(_TASKS):
        job(number)
    os.sync()
    rate = _rate("huey", folder, count)
    if len(queue):
        raise SystemExit("huey left jobs in its queue")
    return rate


def _rate(kind: str, folder: Path, count: int) -> float:
    """What `count` processes that start together get done a second."""
    command = [sys.executable, "-m", __spec__.name, kind, str(folder), str(count)]
    workers = [
        subprocess.Popen(
            [*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for number in range(count)
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


def _worker(kind: str, folder: Path, count: int, number: int) -> None:
    """One of `count`; prints how much it got done."""
    if kind == "bare":
        _begin()
        print(_save(folder / ".tasks", range(number + 1, _TASKS + 1, count)))
    elif kind == "huey":
        queue, _ = _huey(folder)
        _begin()
        print(_drain_huey(queue))
    else:
        layout = Layout(root=folder, workspace=folder)
        clock = SystemClock()
        journal = Journal(layout.runs / f"bench-{os.getpid()}.jsonl", run=None, clock=clock)
        store = Store(layout, clock=clock, journal=journal)
        store.scan()
        _begin()
        print(_drain(store))


def _begin() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


def _drain(store: Store) -> int:
    done, me = 0, Claimant(name=f"worker-{os.getpid()}")
    while (task := store.claim_next(me)) is not None:
        store.complete(task.fence, result={"by": os.getpid()})
        done += 1
    return done


def _save(folder: Path, numbers: Iterable[int]) -> int:
    """What every durable queue of files has to pay for its changes."""
    done = 0
    for number in numbers:
        data = json.dumps(task_object(number), indent=2).encode()
        for _ in ("claim", "completion"):
            with FileLock(folder / "lock", preserve_lock_file=True):
                temporary = folder / f".{os.getpid()}.tmp"
                with temporary.open("wb") as stream:
                    stream.write(data)
                    stream.flush()
                    os.fsync(stream.fileno())
                temporary.replace(folder / f"task_{number}.json")
            done += 1
    return done


def _huey(folder: Path) -> tuple[Any, Any]:
    """The queue, and a job that does nothing. Imported by name: it need not be installed."""
    queue = importlib.import_module("huey").SqliteHuey(
        "bench", filename=str(folder / "huey.db"), results=False, fsync=True, timeout=60
    )

    def nothing(number: int) -> int:
        return number

    return queue, queue.task(name="nothing")(nothing)


def _drain_huey(queue: Any) -> int:
    done = 0
    while (job := queue.dequeue()) is not None:
        queue.execute(job)
        done += 1
    return done


if __name__ == "__main__":
    if len(sys.argv) == 5:
        _worker(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    else:
        show(measure, __doc__)
