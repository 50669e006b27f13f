"""The whole of races and kills, with its score: `python -m tests.multiprocess.score`.

Twenty rounds of eight processes on 2,000 tasks, then two hundred boards whose processes are killed
at random. `--races N --kills N --tasks N` make it shorter. Exit 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from tests.multiprocess.rounds import fresh, kill_round, race_round


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--races", type=int, default=20)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=2000)
    options = parser.parse_args()
    faults: list[str] = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        roots = fresh(Path(folder))
        for number in range(options.races):
            found = race_round(next(roots), processes=8, tasks=options.tasks)
            faults += [f"race {number}: {fault}" for fault in found]
        print(
            f"races: {options.races} rounds of 8 processes x {options.tasks} tasks, "
            f"{len(faults)} faults, {time.perf_counter() - began:.0f} s",
            flush=True,
        )
        before, began = len(faults), time.perf_counter()
        completed = explained = 0
        for seed in range(options.kills):
            round_ = kill_round(next(roots), seed)
            faults += [f"kill {seed}: {fault}" for fault in round_.faults]
            completed, explained = completed + round_.completed, explained + round_.explained
        print(
            f"kills: {options.kills} boards, {completed} tasks completed, {explained} explained, "
            f"{len(faults) - before} faults, {time.perf_counter() - began:.0f} s",
            flush=True,
        )
    for fault in faults:
        print(fault)
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())
