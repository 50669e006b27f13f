"""Plain commands: each in a process group of its own, and nothing of it left running.

The order of a start is what makes `kill -9` of the run safe at any instant: the child waits at a
gate (a line on its standard input), its group is made known to the guardian, then the gate is
opened. A run that dies before that closes the pipe and the child ends without having begun; one
that dies later is cleaned up after by the guardian.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from runner.core.clock import Clock, SystemClock
from runner.errors import ToolError
from runner.team.guardian import ProcessGroups
from runner.work.processes.capture import Capture, Keep
from runner.work.processes.environment import tool_environment
from runner.work.processes.leftovers import CHUNK, Leftovers, group_lives, signal_group
from runner.work.processes.mark import Mark

OUTPUT_LIMIT = 65_536  # bytes
TERM_GRACE_S = 2.0
_KILL_WAIT_S = 5.0  # only a process stuck in the kernel outlives SIGKILL by that much
_DRAIN_LIMIT = 1_048_576  # bytes; as much as a pipe can hold
_GATE = b'read -r _ && exec "$@" </dev/null'

Command = str | Sequence[str]
"""Text for `sh -c`, or an argument vector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """How a command ended.

    `exit` is the exit status as a shell shows it (128 + N for death by signal N), None after a
    timeout. `output` is standard output and standard error as they came; `truncated` when the
    bound left some of it out.
    """

    exit: int | None
    output: str
    seconds: float
    timed_out: bool
    truncated: bool


async def run_command(
    command: Command,
    *,
    cwd: Path,
    timeout_s: float,
    processes: ProcessGroups,
    leftovers: Leftovers | None = None,
    mark: Mark | None = None,
    output_limit: int = OUTPUT_LIMIT,
    keep: Keep = "tail",
    clock: Clock | None = None,
) -> CommandResult:
    """Run one command with an empty standard input and wait for its foreground process.

    A background process does not delay the return, whatever it holds open. It goes to `leftovers`
    or, without them, is killed here. At the timeout the group gets SIGTERM, two seconds later
    SIGKILL; a cancelled call kills it at once. It sees our environment without keys, and the mark
    (that of `leftovers`, else `mark`) by which its attempt finds what has left the group; a
    command without one is an attempt by itself.

    Raises: ToolError, when the command cannot be started.
    """
    argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    clock = clock or SystemClock()
    started = clock.monotonic()
    capture = Capture(output_limit, keep)
    own_mark = Mark()
    mark = leftovers.mark if leftovers else mark or own_mark
    variables = {**processes.environment, **mark.environment()}
    process, output = await anyio.to_thread.run_sync(_start, argv, cwd, processes, variables)
    child = _Child(process, output, capture)
    finished = False
    try:
        finished = await child.attend(timeout_s)
    finally:
        if finished and leftovers is not None and group_lives(child.pgid):
            leftovers.adopt(child.pgid, child.output)
        else:
            signal_group(child.pgid, signal.SIGKILL)
            os.close(child.output)
            processes.remove(child.pgid)
        await own_mark.wipe()
    return CommandResult(
        exit=child.exit_status if finished else None,
        output=capture.text(),
        seconds=clock.monotonic() - started,
        timed_out=not finished,
        truncated=capture.truncated,
    )


_Started = tuple[subprocess.Popen[bytes], int]


def _start(
    argv: Sequence[str], cwd: Path, processes: ProcessGroups, variables: Mapping[str, str]
) -> _Started:
    """Start, make known, open the gate; in this order, in one hop."""
    if not argv:
        raise ToolError("the command is empty")
    output, write_end = os.pipe()
    os.set_blocking(output, False)
    try:
        process = subprocess.Popen(
            [b"/bin/sh", b"-c", _GATE, b"sh", *map(_encoded, argv)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=write_end,
            stderr=write_end,
            cwd=cwd,
            env={
                os.fsencode(name): os.fsencode(value)
                for name, value in {**tool_environment(os.environ), **variables}.items()
            },
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        os.close(output)
        raise ToolError(f"the command could not be started in {cwd}: {error}") from error
    finally:
        os.close(write_end)
    try:
        _let_go(process, processes)
    except BaseException:
        signal_group(process.pid, signal.SIGKILL)
        process.wait()
        os.close(output)
        with contextlib.suppress(OSError):
            processes.remove(process.pid)
        raise
    return process, output


def _encoded(text: str) -> bytes:
    """UTF-8 as our files are, whatever the locale. Raises: ValueError, for what has no bytes."""
    return text.encode("utf-8", "surrogateescape")


def _let_go(process: subprocess.Popen[bytes], processes: ProcessGroups) -> None:
    if process.stdin is None:
        raise AssertionError("unreachable: started with a pipe")
    with process.stdin as gate:
        processes.add(process.pid)
        with contextlib.suppress(BrokenPipeError):  # it was killed meanwhile: its exit says so
            gate.write(b"\n")


class _Child:
    """A started command: its process, its group (of the same number), its output's read end."""

    def __init__(self, process: subprocess.Popen[bytes], output: int, capture: Capture) -> None:
        self.pgid = process.pid
        self.output = output
        self._capture = capture
        self._process = process
        self._ended = anyio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(output, self._read)
        # a thread of its own, not a hop: it neither takes a place in the shared pool nor makes a
        # cancelled call, or the end of the program, wait for a process stuck in the kernel
        threading.Thread(target=self._reap, daemon=True).start()

    @property
    def exit_status(self) -> int | None:
        code = self._process.returncode
        return 128 - code if code is not None and code < 0 else code

    async def attend(self, timeout_s: float) -> bool:
        """Wait for the process, then stop reading; False when the time was up and it was ended."""
        try:
            with anyio.move_on_after(timeout_s):
                await self._ended.wait()
            finished = self._ended.is_set()
            if not finished:
                signal_group(self.pgid, signal.SIGTERM)
                with anyio.move_on_after(TERM_GRACE_S):
                    await self._ended.wait()
        finally:
            await self._make_sure()
            self._drain()
            self._loop.remove_reader(self.output)
        return finished

    async def _make_sure(self) -> None:
        if not self._ended.is_set():
            signal_group(self.pgid, signal.SIGKILL)
            with anyio.move_on_after(_KILL_WAIT_S, shield=True):
                await self._ended.wait()

    def _reap(self) -> None:
        self._process.wait()
        with contextlib.suppress(RuntimeError):  # nobody waits any more: the loop is closed
            self._loop.call_soon_threadsafe(self._ended.set)

    def _drain(self) -> None:
        """Take what is in the pipe now; whoever writes later was not the foreground process."""
        left = _DRAIN_LIMIT
        with contextlib.suppress(BlockingIOError):
            while left > 0 and (count := self._read()):
                left -= count

    def _read(self) -> int:
        data = os.read(self.output, CHUNK)
        if data:
            self._capture.feed(data)
        else:
            self._loop.remove_reader(self.output)
        return len(data)
