"""The mark of an attempt: who has left its process group is found by what it inherited."""

from __future__ import annotations

from collections.abc import Mapping

import anyio
import anyio.to_thread

from runner.core.ids import random_id
from runner.team.guardian_main import kill_marked

ATTEMPT_VARIABLE = "BOARDRUNNER_ATTEMPT"
_DEADLINE_S = 2.0


class Mark:
    """One per attempt. Every command of it has it in its environment, and so has its offspring.

    Whoever makes one calls `wipe` at the end.
    """

    def __init__(self) -> None:
        self._value = random_id()
        self._given = False

    def environment(self) -> Mapping[str, str]:
        """What to add to the environment of a command that is started now."""
        self._given = True
        return {ATTEMPT_VARIABLE: self._value}

    async def wipe(self) -> None:
        """Kill whoever still carries it (on Linux; elsewhere groups are all that can be killed).

        Costs one walk over the processes of this machine, none when no command was started. A
        cancel waits for it.
        """
        if self._given:
            marker = f"{ATTEMPT_VARIABLE}={self._value}".encode()
            with anyio.move_on_after(_DEADLINE_S, shield=True):
                await anyio.to_thread.run_sync(kill_marked, marker)
