"""Process groups that go on after their command, and how groups are signalled."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import Self

from runner.team.guardian import ProcessGroups
from runner.work.processes.mark import Mark

CHUNK = 65_536  # bytes of output read at once


class Leftovers:
    """What the commands of one attempt left running in the background; it dies with the attempt.

    Their output is read and thrown away meanwhile, so that a server which logs neither blocks nor
    is killed by a closed pipe. `mark` finds those that left their group. Used as an async context
    manager, whose end kills all of them.
    """

    def __init__(self, processes: ProcessGroups) -> None:
        self.processes = processes
        self.mark = Mark()
        self._outputs: dict[int, int | None] = {}

    @property
    def running(self) -> tuple[int, ...]:
        """The groups that still have a living member."""
        self._forget_ended()
        return tuple(self._outputs)

    def adopt(self, pgid: int, output: int) -> None:
        """Take over a group and the read end of its output."""
        self._forget_ended()
        self._outputs[pgid] = output
        asyncio.get_running_loop().add_reader(output, self._discard, pgid, output)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        self.close()
        await self.mark.wipe()

    def close(self) -> None:
        """Kill the groups."""
        for pgid in list(self._outputs):
            signal_group(pgid, signal.SIGKILL)
            self._forget(pgid)

    def _forget_ended(self) -> None:
        # soon, because the number of an empty group may be given to a stranger
        for pgid in list(self._outputs):
            if not group_lives(pgid):
                self._forget(pgid)

    def _forget(self, pgid: int) -> None:
        self._close_output(pgid)
        del self._outputs[pgid]
        self.processes.remove(pgid)

    def _close_output(self, pgid: int) -> None:
        output = self._outputs[pgid]
        if output is not None:
            asyncio.get_running_loop().remove_reader(output)
            os.close(output)
            self._outputs[pgid] = None

    def _discard(self, pgid: int, output: int) -> None:
        if os.read(output, CHUNK) == b"":
            self._close_output(pgid)


def signal_group(pgid: int, number: signal.Signals) -> None:
    """Send a signal to every member of a group; one that is gone is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, number)


def group_lives(pgid: int) -> bool:
    """Whether the group has a member that is still there."""
    try:
        os.killpg(pgid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # only on macOS: all that is left are zombies
        return False
    return True
