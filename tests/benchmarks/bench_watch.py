"""How soon who is idle begins on a new task, and what it costs to be idle.

Run: python -m tests.benchmarks.bench_watch [--json]

Wake-up: a task file is put in place and the time is taken until its work begins, by a team on a
watched board, and by one that only polls, every half second: a poll takes half its interval on
average, whatever the interval. Idle: the memory and the processor time of a team of 500 without
work, beside one of one, so that what a run needs anyway does not count.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import anyio

from runner.core.clock import SystemClock
from runner.core.settings import Limits, MemberSpec, Settings
from runner.team.outcome import Done, Outcome
from runner.team.team import Team
from runner.team.types import Assignment, Teammate
from runner.testing.board import make_board
from tests.benchmarks.kit import Figures, show

_TASKS = 25
_PRESENT = 1_000
_MATES = 500
_POLL_S = 0.5
_IDLE_S = 10.0


class _OtherClock:
    """The time of the system for a run that is not to watch any files."""

    def __init__(self) -> None:
        system = SystemClock()
        self.now, self.monotonic, self.sleep = system.now, system.monotonic, system.sleep


def measure() -> Figures:
    return _wake_ups() | _idling()


def _wake_ups() -> Figures:
    watched = anyio.run(_wake_up_ms, True)
    polled = anyio.run(_wake_up_ms, False)
    return {
        "from the new file to the beginning of its work, watched, median ms (aim 50)": watched[0],
        "from the new file to the beginning of its work, watched, worst ms": watched[1],
        f"the same by a poll every {_POLL_S:g} s, median ms": polled[0],
        "the same by a poll: share of its interval, %": 100 * polled[0] / (1000 * _POLL_S),
        "watched: times sooner than half of the default poll of 5 s": 2500 / watched[0],
    }


async def _wake_up_ms(watched: bool) -> tuple[float, float]:
    """Median and worst of several tasks, on a board with finished ones beside."""
    put, got = anyio.create_memory_object_stream[float](_TASKS)

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        put.send_nowait(time.perf_counter())
        return Done()

    with tempfile.TemporaryDirectory(prefix="bench-watch-") as folder:
        root = Path(folder)
        done = [{"id": number, "status": "completed"} for number in range(1, _PRESENT + 1)]
        limits = replace(Limits(), poll_interval_s=5.0 if watched else _POLL_S)
        clock = SystemClock() if watched else _OtherClock()
        team = Team(make_board(root, done), Settings(limits=limits), work, clock=clock)
        async with anyio.create_task_group() as group, put, got:
            group.start_soon(team.run)
            await anyio.sleep(1.5)
            took = []
            for number in range(_PRESENT + 1, _PRESENT + 1 + _TASKS):
                # at any moment of a tick, and after what the last task left to do
                await anyio.sleep(0.2 + random.random() * _POLL_S)  # noqa: S311
                temporary = root / "task.tmp"
                temporary.write_text(json.dumps({"id": number, "subject": "new"}))
                temporary.rename(root / ".tasks" / f"task_{number}.json")
                put_at = time.perf_counter()
                took.append(1000 * (await got.receive() - put_at))
            team.stop()
            team.stop()
    return statistics.median(took), max(took)


def _idling() -> Figures:
    """Each team in a process of its own."""
    one, many = (_idle_process(count) for count in (1, _MATES))
    return {
        "one idle teammate, % of one core": one["cpu"],
        f"{_MATES} idle teammates, % of one core": many["cpu"],
        f"{_MATES} idle teammates, kB each (aim 1,000)": (many["kb"] - one["kb"]) / (_MATES - 1),
    }


def _idle_process(count: int) -> Figures:
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, str(count)], capture_output=True, check=True
    )
    figures: Figures = json.loads(done.stdout)
    return figures


async def _idle(count: int) -> Figures:
    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        return Done()

    with tempfile.TemporaryDirectory(prefix="bench-idle-") as folder:
        settings = Settings(
            limits=replace(Limits(), idle_timeout_s=3600.0),
            members=tuple(MemberSpec(name=f"m{number}") for number in range(count)),
        )
        done = [{"id": number, "status": "completed"} for number in range(1, _PRESENT + 1)]
        team = Team(make_board(Path(folder), done), settings, work)
        async with anyio.create_task_group() as group:
            group.start_soon(team.run)
            # all of them have taken their first look, and the watcher has begun
            await anyio.sleep(4)
            began, used = time.perf_counter(), time.process_time()
            await anyio.sleep(_IDLE_S)
            cpu = 100 * (time.process_time() - used) / (time.perf_counter() - began)
            assert {mate.progress.status for mate in team.teammates} == {"idle"}
            team.stop()
            team.stop()
    return {"cpu": cpu, "kb": _resident_kb()}


def _resident_kb() -> float:
    """Most that this process ever had; the unit is that of Linux."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return float(line.split()[1])


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].isdecimal():
        print(json.dumps(anyio.run(_idle, int(sys.argv[1]))))
    else:
        show(measure, __doc__)
