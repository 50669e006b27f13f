"""A process of the race tests: obeys lines on stdin, answers with one JSON line each.

Run as `python racer.py ROOT NAME [RUN]`; with a RUN it is a live run until it ends.
`claim ID` / `next` try to get a task; `drain` claims and completes until nothing is left;
`hold` takes the board lock and keeps it; `die` exits at once with everything held.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from runner.board.runs import RunLock
from runner.board.store import Store
from runner.board.task import Claimant
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.files import locked
from runner.core.layout import Layout
from runner.errors import NotClaimable


def _drain(store: Store, me: Claimant) -> list[Any]:
    done = []
    while (task := store.claim_next(me)) is not None:
        store.complete(task.fence)
        done.append(task.id)
    return done


def _claim(store: Store, me: Claimant, task_id: str) -> str | None:
    try:
        store.claim(task_id, me)
    except NotClaimable as error:
        return error.reason
    return None


def _answer(store: Store, me: Claimant, words: list[str]) -> Any:
    match words:
        case ["claim", task_id]:
            return _claim(store, me, task_id)
        case ["next"]:
            task = store.claim_next(me)
            return task.id if task is not None else None
        case ["drain"]:
            return _drain(store, me)
        case ["hold"]:
            with locked(store.layout.lock_file):
                print('"held"', flush=True)
                sys.stdin.readline()
            return "freed"
        case ["die"]:
            os._exit(9)
    raise AssertionError(words)


def main() -> None:
    root, name, *run = sys.argv[1:]
    layout = Layout(root=Path(root), workspace=Path(root))
    clock = SystemClock()
    lock = RunLock.start(layout, run[0]) if run else None
    journal = Journal(layout.runs / f"{name}.jsonl", run=name, clock=clock)
    store = Store(layout, clock=clock, journal=journal, run=run[0] if run else None)
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        print(json.dumps(_answer(store, Claimant(name=name), line.split())), flush=True)
    if lock is not None:
        lock.release()


if __name__ == "__main__":
    main()
