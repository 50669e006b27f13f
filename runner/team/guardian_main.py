"""The guardian process. Standard library only and little of it: it starts with every run."""

import os
import signal
import sys
import time

_PATIENCE_S = 0.5
_STEP_S = 0.005


def main() -> None:  # covered in a child process: with -I -S coverage cannot start in it
    """Read `+GROUP` and `-GROUP` lines from standard input until its end, then kill and exit.

    The descriptor of the run lock is inherited and simply stays open, so that the lock is free
    only when this process is gone; the starter closes everything else.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    kill(read_groups(sys.stdin.fileno()))


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


def kill(groups: set[int]) -> None:
    """Kill, and go on until nobody is left: a group may be forking while it is killed.

    A zombie that nobody reaps still counts as a member, so the patience has an end.
    """
    for _ in range(int(_PATIENCE_S / _STEP_S)):
        groups = {group for group in groups if strike(group)}
        if not groups:
            return
        time.sleep(_STEP_S)  # noqa: TID251 - no event loop and nobody to hand in a clock


def strike(group: int) -> bool:
    """Whether there was somebody to kill."""
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        return False
    return True


if __name__ == "__main__":  # covered in a child process: as above
    main()
