"""A process that works on a board without a model, for races and kills.

Run as `python -m runner.testing.racer ROOT NAME [--ahead S] [--die STEP:NTH[:FILE]] [--hold]`: a
live run of that name. It says `ready`, waits for a line on its standard input, then claims and
completes until it can claim nothing, and prints the ids that it completed as JSON. `--ahead` is
how far its clock is in front, so that back-offs of others are past. `--hold` claims one task, says
so and waits to be killed.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime, timedelta
from pathlib import Path

from runner.board.runs import RunLock
from runner.board.store import Store
from runner.board.task import Claimant
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.layout import Layout
from runner.testing.crash import STEPS, die_at


class _ClockAhead(SystemClock):
    """The real clock, so many seconds in front."""

    def __init__(self, ahead_s: float) -> None:
        self._ahead = timedelta(seconds=ahead_s)

    def now(self) -> datetime:
        return super().now() + self._ahead


def main() -> None:
    """Obey the command line; see the module."""
    parser = argparse.ArgumentParser(prog="python -m runner.testing.racer")
    parser.add_argument("root", type=Path)
    parser.add_argument("name")
    parser.add_argument("--ahead", type=float, default=0.0)
    parser.add_argument("--die", metavar="STEP:NTH[:FILE]")
    parser.add_argument("--hold", action="store_true")
    options = parser.parse_args()

    layout = Layout(root=options.root, workspace=options.root)
    clock = _ClockAhead(options.ahead)
    lock = RunLock.start(layout, options.name)
    journal = Journal(layout.runs / f"{options.name}.jsonl", run=options.name, clock=clock)
    store = Store(layout, clock=clock, journal=journal, run=options.name)
    _say("ready")
    sys.stdin.readline()
    if options.die:
        _arm(options.die)
    me = Claimant(name=options.name)
    if options.hold:
        task = store.claim_next(me)
        _say(json.dumps(task.id if task else None))
        sys.stdin.readline()
        return
    done = []
    while (task := store.claim_next(me)) is not None:
        store.complete(task.fence)
        done.append(task.id)
    _say(json.dumps(done))
    lock.release()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _arm(text: str) -> None:
    step, nth, *file = text.split(":")
    if step not in STEPS:
        raise SystemExit(f"--die: found {step!r}, expected one of {', '.join(STEPS)}")
    die_at(step, nth=int(nth), file=file[0] if file else "*")


if __name__ == "__main__":
    main()
