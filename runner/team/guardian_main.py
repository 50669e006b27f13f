"""The guardian process, and what it shares with the run: ending processes for certain.

Standard library only and little of it: it starts with the first command of a run, and without
anything of ours to import.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

_PROC = "/proc"
_PATIENCE_S = 0.5
_STEP_S = 0.002


def main() -> None:  # covered in a child process: with -I -S coverage cannot start in it
    """Read `+GROUP` and `-GROUP` lines from standard input until its end, then kill and exit.

    The argument is the marker of the run, as `kill_marked` takes it. The descriptor of the run
    lock is inherited and simply stays open, so that the lock is free only when this process is
    gone; the starter closes everything else.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    kill(read_groups(sys.stdin.fileno()), os.fsencode(sys.argv[1]))


def read_groups(descriptor: int) -> set[int]:
    groups: set[int] = set()
    rest = b""
    while chunk := os.read(descriptor, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"+"):
                groups.add(int(line[1:]))
            elif line.startswith(b"-"):
                groups.discard(int(line[1:]))
    return groups


def kill(groups: set[int], marker: bytes, *, proc: str = _PROC) -> None:
    """Kill the groups and, on Linux, whoever has left them but carries the marker."""
    for group in groups:
        with suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    if os.path.isdir(proc):  # noqa: PTH112 - pathlib would double the time of our start
        _strike(lambda pid, of: of in groups or _is_marked(f"{proc}/{pid}", marker), proc)
        return
    # only on macOS: a zombie that nobody reaps still counts, so the patience has an end
    for _ in range(int(_PATIENCE_S / _STEP_S)):
        groups = {group for group in groups if _is_there(group)}
        if not groups:
            return
        time.sleep(_STEP_S)  # noqa: TID251 - no event loop and nobody to hand in a clock


def kill_marked(marker: bytes, *, proc: str = _PROC) -> int:
    """Kill every process that was started with this entry, `NAME=value`, in its environment.

    How many there were; 0 where there is no /proc (macOS). Goes on until none is found, also
    while they fork, for half a second at most. Never kills the calling process.
    """
    return _strike(lambda pid, _: _is_marked(f"{proc}/{pid}", marker), proc)


def lives(pid: int, *, proc: str = _PROC) -> bool:
    """Whether a process runs. Where there is no /proc, a zombie counts too."""
    if os.path.isdir(proc):  # noqa: PTH112 - as above
        return _living(f"{proc}/{pid}") is not None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # only on macOS: somebody else's
        return True
    return True


def _strike(chosen: Callable[[int, int], bool], proc: str) -> int:
    """Kill the chosen, asked by process id and group id, until a whole pass finds none alive."""
    struck: set[int] = set()
    for _ in range(int(_PATIENCE_S / _STEP_S)):
        found = {pid for pid, group in _processes(proc) if chosen(pid, group)} - {os.getpid()}
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        struck |= found
        if not found:
            break
        time.sleep(_STEP_S)  # noqa: TID251 - as above; a killed process needs a moment to end
    return len(struck)


def _processes(proc: str) -> Iterator[tuple[int, int]]:
    """Process and group ids of all that are alive; zombies are not."""
    with suppress(OSError):
        for name in os.listdir(proc):  # noqa: PTH208 - a path object each costs more than the look
            group = _living(f"{proc}/{name}") if name.isdecimal() else None
            if group is not None:
                yield int(name), group


def _living(folder: str) -> int | None:
    """The group of a process that is not dead."""
    try:
        # 42 (its name, with anything in it) S parent group ...
        state, _, group, *_ = _read(f"{folder}/stat").rpartition(b")")[2].split()
    except (OSError, ValueError):
        return None
    return None if state in (b"Z", b"X") else int(group)


def _is_marked(folder: str, marker: bytes) -> bool:
    """Whether the environment, which only its own user may read, has the marker."""
    try:
        return marker in _read(f"{folder}/environ").split(b"\0")
    except OSError:
        return False


def _read(path: str) -> bytes:
    """Raises: OSError, also when the process has ended meanwhile."""
    descriptor, data = os.open(path, os.O_RDONLY), b""
    try:
        while piece := os.read(descriptor, 65536):
            data += piece
    finally:
        os.close(descriptor)
    return data


def _is_there(group: int) -> bool:  # only on macOS: elsewhere /proc tells
    """Whether there was somebody to kill."""
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        return False
    return True


if __name__ == "__main__":  # covered in a child process: as above
    main()
