"""The guardian: whatever happens to a run, the processes of its tools die with it.

One small process per run, in its own session. It inherits the run lock and reads a pipe on which
the run names every process group it starts; at the end of that pipe (the run is gone, however it
went) it kills those groups and, on Linux, every process that carries the run's mark in its
environment, and exits. Only then is the run lock free, so whoever sees the lock free knows that
nothing of that run works on.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from runner.core.ids import random_id

_MAIN = Path(__file__).with_name("guardian_main.py")
_LAST_WORD_S = 1.0
_MAX_SUCCESSORS = 20

RUN_VARIABLE = "BOARDRUNNER_RUN"
"""Set in the environment of every command of a run, to its id: also who leaves its process group
is found by it."""


class ProcessGroups:
    """The process groups that are running now. This base class tells nobody: for tests.

    Safe to call from any thread. Ids are process group ids, as `os.killpg` takes them.
    """

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._mutex = threading.Lock()

    @property
    def environment(self) -> Mapping[str, str]:
        """What to add to the environment of each command."""
        return {}

    @property
    def groups(self) -> frozenset[int]:
        with self._mutex:
            return frozenset(self._groups)

    def add(self, group: int) -> None:
        """Register a group before it is let run.

        Raises: OSError, when nothing can guard it; it stays registered until it is removed.
        """
        with self._mutex:
            self._groups.add(group)
            self._tell(f"+{group}\n")

    def remove(self, group: int) -> None:
        """Forget a group that has ended; unknown ones are no error."""
        with self._mutex:
            if group in self._groups:
                self._groups.discard(group)
                with contextlib.suppress(OSError):  # no guardian, so nobody who has to forget it
                    self._tell(f"-{group}\n")

    def kill_all(self) -> None:
        """Kill every registered group and forget it."""
        for group in self.groups:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
            self.remove(group)

    def close(self) -> None:
        """Kill what is left; nothing may be added afterwards."""
        self.kill_all()

    def _tell(self, line: str) -> None:
        """Called with the mutex held."""


class GuardedGroups(ProcessGroups):
    """Process groups with a guardian, which is started with the first group.

    `lock_descriptor` is the open descriptor of the run lock; None, as `run`, without a run. Before
    the first group there is nothing to guard, and the lock is free as soon as the run is gone: a
    run without commands pays for no process. A guardian that somebody kills is replaced at once.
    """

    def __init__(self, lock_descriptor: int | None, run: str | None = None) -> None:
        super().__init__()
        self._inherited = () if lock_descriptor is None else (lock_descriptor,)
        self._run = run or random_id("no-run-")
        self._process: subprocess.Popen[bytes] | None = None
        self._successors = 0

    @property
    def environment(self) -> Mapping[str, str]:
        return {RUN_VARIABLE: self._run}

    @property
    def pid(self) -> int | None:
        """The guardian's process id; None while there is none."""
        return self._process.pid if self._process is not None else None

    def close(self) -> None:
        self.kill_all()
        with self._mutex:
            self._dismiss()

    def _tell(self, line: str) -> None:
        try:
            self._write(line)
        except BrokenPipeError:
            # somebody killed the guardian: a new one gets the whole list, this line included
            self._dismiss()
            self._write(self._all_groups())

    def _all_groups(self) -> str:
        return "".join(f"+{group}\n" for group in sorted(self._groups))

    def _write(self, text: str) -> None:
        if self._process is None:
            self._process = self._start()
            threading.Thread(target=self._succeed, args=(self._process,), daemon=True).start()
        stream = self._process.stdin
        if stream is None:
            raise AssertionError("unreachable: the guardian is started with a pipe")
        os.write(stream.fileno(), text.encode())

    def _succeed(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for this guardian's end; if nobody dismissed it, another takes over."""
        process.wait()
        with self._mutex:
            # one that cannot even start must not be tried without end
            if self._process is not process or self._successors == _MAX_SUCCESSORS:
                return
            self._successors += 1
            self._dismiss()
            with contextlib.suppress(OSError):  # the next command tries again, and says so
                self._write(self._all_groups())

    def _start(self) -> subprocess.Popen[bytes]:
        """Nothing else of ours stays open in it: not the terminal, not a pipe that CI waits for."""
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(_MAIN), f"{RUN_VARIABLE}={self._run}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env={},
            pass_fds=self._inherited,
            start_new_session=True,
        )

    def _dismiss(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            # closes the pipe too, which is the guardian's sign to end
            process.communicate(timeout=_LAST_WORD_S)
        process.kill()
        process.wait()
