"""What the runner itself costs: start-up, and a scripted task with a durable transcript.

Run: python -m tests.benchmarks.bench_run [--json]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import anyio

from runner import MemberSpec, Settings, run_team
from runner.testing import ScriptedModel, call, make_board, submit
from tests.benchmarks.kit import Figures, show

ROUNDS = 9
TASKS = 200
TURNS = 5


def start_up(argv: Sequence[str]) -> float:
    """Milliseconds of a whole process, median of several."""
    took = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run(argv, check=True, capture_output=True)
        took.append((time.perf_counter() - start) * 1e3)
    return statistics.median(took)


def scripted(count: int, members: int) -> float:
    """Seconds of a drain over `count` tasks of `TURNS` turns each, every tool call a real one."""
    turns = [*(call("write", path="note.txt", content=str(n)) for n in range(TURNS - 1)), submit(1)]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_board(root, [{"id": number + 1} for number in range(count)])
        names = [MemberSpec(name=f"m{number}") for number in range(members)]
        model = ScriptedModel(tasks={str(number + 1): list(turns) for number in range(count)})

        async def run() -> float:
            start = time.perf_counter()
            report = await run_team(
                root, settings=Settings(members=tuple(names)), model=model, drain=True, home=root
            )
            assert report.exit_code == 0
            return time.perf_counter() - start

        return anyio.run(run)


def measure() -> Figures:
    bare = start_up([sys.executable, "-c", "pass"])
    figures = {"a bare python -c pass, ms": bare}
    for words in (["--version"], ["--help"], ["agents", "list"]):
        took, name = start_up([sys.executable, "-m", "runner", *words]), " ".join(words)
        figures |= {f"runner {name}, ms": took, f"runner {name}: times a bare python": took / bare}
    for members in (1, 4):
        took = 1000 * scripted(TASKS, members) / TASKS
        what = f"scripted, {members} teammate(s)"
        figures |= {f"a task of {TURNS} turns, {what}, ms": took}
        figures |= {f"a turn, {what}, ms (aim 3)": took / TURNS}
    return figures


if __name__ == "__main__":
    show(measure, __doc__)
