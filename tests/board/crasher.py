"""Dies at every step of a save, one fork a step, and says what each death left behind.

Run as `python crasher.py ROOT claim|add|complete`. Prints a JSON list: for each death the content
of the board folder; the last entry is that of the undisturbed run.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from runner.board.store import Store
from runner.board.task import Claimant
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.layout import Layout

_CALLS = set("open write flush fsync replace rename unlink link fchmod close pread flock".split())
_ADA = Claimant(name="ada")


class Countdown:
    """A profile function that ends the process at the n-th call or return of a file operation."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def __call__(self, frame: object, event: str, arg: Any) -> None:
        if event in ("c_call", "c_return") and arg.__name__ in _CALLS:
            self.left -= 1
            if self.left == 0:
                os._exit(9)


def _store(root: Path) -> Store:
    layout = Layout(root=root, workspace=root)
    layout.ensure_team()
    clock = SystemClock()
    return Store(layout, clock=clock, journal=Journal(layout.cli_journal, run=None, clock=clock))


def _act(root: Path, verb: str, steps: int) -> None:
    store = _store(root)
    fence = store.claim(1, _ADA).fence if verb == "complete" else None
    sys.setprofile(Countdown(steps))
    if verb == "claim":
        store.claim(1, _ADA)
    elif verb == "add":
        store.add({"subject": "new"})
    elif fence is not None:
        store.complete(fence, result="x" * 20_000)
    os._exit(0)


def main() -> None:
    root, verb = Path(sys.argv[1]), sys.argv[2]
    tasks = root / ".tasks"
    start = {path.name: path.read_bytes() for path in tasks.iterdir()}
    found: list[dict[str, str]] = []
    for steps in range(1, 1000):
        child = os.fork()
        if child == 0:
            _act(root, verb, steps)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        found.append({path.name: path.read_text(encoding="utf-8") for path in tasks.iterdir()})
        if code == 0:
            break
        assert code == 9, code
        for path in tasks.iterdir():
            path.unlink()
        for name, data in start.items():
            (tasks / name).write_bytes(data)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
