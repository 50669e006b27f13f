"""A process that works on a board without a model, for races and kills.

Run as `python -m runner.testing.racer ROOT NAME [OPTIONS]`; `runner.testing.Racer` starts one. It
says `"ready"`, then obeys each line of its standard input and answers with one line of JSON,
`{"error": TEXT}` where the board refused:

next             claim the next task: its id, or null
claim ID         claim this one: its id
drain            claim and complete until nothing is left for it: the ids
edit ID JSON     change fields as a person does: the id
lock             take the lock of the board: "locked"; keep it until the next line: "free"
exit             end at once, with everything that it holds

At the end of its input it ends as a run does.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from runner.board.runs import RunLock
from runner.board.store import Store
from runner.board.task import Claimant
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.files import locked
from runner.core.layout import Layout
from runner.errors import RunnerError
from runner.testing.crash import CRASHED, STEPS, die_at


class _ClockAhead(SystemClock):
    """The real clock, so many seconds in front."""

    def __init__(self, ahead_s: float) -> None:
        self._ahead = timedelta(seconds=ahead_s)

    def now(self) -> datetime:
        return super().now() + self._ahead


def main() -> None:
    """Obey the command line and the lines; see the module."""
    options = _options()
    layout = Layout(root=options.root, workspace=options.root)
    layout.ensure_team()
    layout.place()
    clock = _ClockAhead(options.ahead)
    run = None if options.by_hand else options.run or options.name
    lock = RunLock.start(layout, run) if run else None
    path = layout.runs / f"{run}.jsonl" if run else layout.cli_journal
    store = Store(layout, clock=clock, journal=Journal(path, run=run, clock=clock), run=run)
    _say("ready")
    with _room(options.room):
        if options.die:
            step, nth, file = options.die
            die_at(step, nth=nth, file=file)
        for line in sys.stdin:
            try:
                _say(_obeyed(store, Claimant(name=options.name), line.split(maxsplit=2)))
            except RunnerError as error:
                _say({"error": str(error)})
    if lock is not None:
        lock.release()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m runner.testing.racer")
    parser.add_argument("root", type=Path)
    parser.add_argument("name", help="of the teammate")
    parser.add_argument("--run", help="id of its run; default: NAME")
    parser.add_argument("--by-hand", action="store_true", help="a person, not a run")
    parser.add_argument("--ahead", type=float, default=0.0, help="seconds that its clock is ahead")
    parser.add_argument("--die", type=_death, metavar="STEP:NTH[:FILE]", help="see die_at")
    parser.add_argument("--room", type=int, help="bytes that a file may have: a full disk")
    return parser.parse_args()


def _death(text: str) -> tuple[Any, int, str]:
    step, nth, *file = text.split(":", 2)
    if step not in STEPS or not nth.isdecimal():
        raise argparse.ArgumentTypeError(f"found {text!r}, expected one of {', '.join(STEPS)}:NTH")
    return step, int(nth), file[0] if file else "*"


@contextlib.contextmanager
def _room(size: int | None) -> Iterator[None]:
    """The system itself refuses to write more into a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, before if size is None else (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _obeyed(store: Store, me: Claimant, words: list[str]) -> Any:
    match words:
        case ["next"]:
            task = store.claim_next(me)
            return task.id if task is not None else None
        case ["claim", task_id]:
            return store.claim(task_id, me).id
        case ["drain"]:
            return _drained(store, me)
        case ["edit", task_id, fields]:
            return store.edit(task_id, json.loads(fields), force=True).id
        case ["lock"]:
            with locked(store.layout.lock_file):
                _say("locked")
                sys.stdin.readline()
            return "free"
        case ["exit"]:
            os._exit(CRASHED)
    raise SystemExit(f"cannot obey {words!r}")


def _drained(store: Store, me: Claimant) -> list[int | str]:
    done: list[int | str] = []
    while (task := store.claim_next(me)) is not None:
        store.complete(task.fence)
        done.append(task.id)
    return done


def _say(value: Any) -> None:
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
