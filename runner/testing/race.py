"""Real processes on one board: let go together, killed, waited for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_WAIT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Raced:
    """What a race came to. `done` has the ids that each process completed, in its order."""

    done: tuple[tuple[int | str, ...], ...]

    @property
    def twice(self) -> list[int | str]:
        """The ids that were completed more than once."""
        counted = Counter(task for ids in self.done for task in ids)
        return [task for task, count in counted.items() if count > 1]


class Racer:
    """One process of a race: a live run that claims and completes; see `runner.testing.racer`.

    A context manager, at whose end it is gone. It is ready when it is made.
    """

    def __init__(self, root: Path, name: str, *options: str) -> None:
        # a measurement of coverage that is killed would leave half a file
        environment = {key: text for key, text in os.environ.items() if "COVERAGE" not in key}
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, "-m", "runner.testing.racer", str(root), name, *options],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_ready(self) -> None:
        """Wait until it stands at the line. Raises: RuntimeError, when it died before."""
        if self._line() != "ready\n":
            raise RuntimeError(f"{self.name} ended with {self.process.wait()} before it was ready")

    def go(self) -> None:
        """Let it begin."""
        if self.process.stdin is None:
            raise AssertionError("unreachable: started with a pipe")
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def result(self) -> Any:
        """What it prints at its end; None if it died."""
        line = self._line()
        return json.loads(line) if line else None

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send it a signal; one that has ended is no error."""
        self.process.send_signal(number)

    def _line(self) -> str:
        if self.process.stdout is None:
            raise AssertionError("unreachable: started with a pipe")
        return self.process.stdout.readline()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.communicate(timeout=_WAIT_S)


def race(root: Path | str, names: Sequence[str], *options: str) -> Raced:
    """Start a process for each name, release them together, wait until no task is left for them.

    Every process is a run of its own. Raises: RuntimeError, when one dies.
    """
    racers: list[Racer] = []
    try:
        racers += [Racer(Path(root), name, *options) for name in names]
        for racer in racers:
            racer.wait_ready()
        for racer in racers:
            racer.go()
        results = [racer.result() for racer in racers]
    finally:
        for racer in racers:
            racer.__exit__(None, None, None)
    for racer, result in zip(racers, results, strict=True):
        if result is None:
            raise RuntimeError(f"{racer.name} died in the race")
    return Raced(done=tuple(tuple(ids) for ids in results))
