"""Real processes on one board: let go together, killed, stopped, waited for."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_END_S = 10.0


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
    """One process on a board: a teammate called `name`, in a run of its own of that name.

    It obeys the words of `runner.testing.racer`: `drain`, `next`, `claim ID`, `edit ID JSON`,
    `lock`, `exit`. `run` is another id for its run; `by_hand` makes it a person without one.
    `ahead_s` puts its clock in front, so that back-offs are past. `die` is `STEP:NTH` or
    `STEP:NTH:FILE`: it ends there as with `die_at`. `room` is how many bytes a file may have: a
    full disk. As a context manager it is ready inside the block and gone after it.
    """

    def __init__(
        self,
        root: Path | str,
        name: str,
        *,
        run: str | None = None,
        by_hand: bool = False,
        ahead_s: float = 0.0,
        die: str | None = None,
        room: int | None = None,
    ) -> None:
        argv = [sys.executable, "-m", "runner.testing.racer", str(root), name]
        argv += ["--ahead", str(ahead_s), *(["--by-hand"] if by_hand else [])]
        for option, value in (("--run", run), ("--die", die), ("--room", room)):
            if value is not None:
                argv += [option, str(value)]
        self.name = name
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def wait_ready(self) -> None:
        """Wait until it stands at the line; once. Raises: RuntimeError, when it died before."""
        self.answer()

    def tell(self, words: str) -> None:
        """Let it do something, and go on."""
        if self.process.stdin is None:
            raise AssertionError("unreachable: started with a pipe")
        # one that is dead says so when it is asked for its answer
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f"{words}\n")
            self.process.stdin.flush()

    def answer(self) -> Any:
        """What it says to the oldest of the words that it was told.

        Raises: RuntimeError, when it died.
        """
        if self.process.stdout is None:
            raise AssertionError("unreachable: started with a pipe")
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with {self.process.wait()} and gave no answer")
        return json.loads(line)

    def ask(self, words: str) -> Any:
        """Tell it something and wait for the answer. Raises: RuntimeError, when it died."""
        self.tell(words)
        return self.answer()

    def kill(self, *, after_s: float = 0.0) -> None:
        """`kill -9`, after so long at most; gone when this returns."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(after_s)
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Let it come to its end, also if it was stopped; kill it if it does not."""
        self.process.send_signal(signal.SIGCONT)
        try:
            # what it was still told is lost if it is dead
            with contextlib.suppress(BrokenPipeError):
                self.process.communicate(timeout=_END_S)
        finally:
            self.kill()

    def __enter__(self) -> Self:
        try:
            self.wait_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@contextlib.contextmanager
def racers(
    root: Path | str, names: Sequence[str], *, by_hand: bool = False, ahead_s: float = 0.0
) -> Iterator[list[Racer]]:
    """A process for each name, all of them ready inside the block and gone after it."""
    with contextlib.ExitStack() as stack:
        started = []
        for name in names:
            started.append(Racer(root, name, by_hand=by_hand, ahead_s=ahead_s))
            stack.callback(started[-1].close)
        for racer in started:
            racer.wait_ready()
        yield started


def together(racing: Sequence[Racer], words: str) -> list[Any]:
    """Let all of them do it at once; their answers in order. Raises: as `Racer.answer`."""
    for racer in racing:
        racer.tell(words)
    return [racer.answer() for racer in racing]


def race(root: Path | str, names: Sequence[str], *, ahead_s: float = 0.0) -> Raced:
    """Processes that claim and complete together until no task is left for them.

    Every process is a run of its own. Raises: RuntimeError, when one dies or is refused.
    """
    with racers(root, names, ahead_s=ahead_s) as racing:
        answers = together(racing, "drain")
    refused = [
        f"{name} gave up: {answer['error']}"
        for name, answer in zip(names, answers, strict=True)
        if isinstance(answer, dict)
    ]
    if refused:
        raise RuntimeError("; ".join(refused))
    return Raced(done=tuple(tuple(ids) for ids in answers))
