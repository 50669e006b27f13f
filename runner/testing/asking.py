"""Who asks, as far as a server can tell from what it is sent."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runner.core.ids import key_of
from runner.work.histories.summary import SUMS_UP
from runner.work.messages import Asker, AssistantTurn, Turn, UserTurn
from runner.work.tags import AUTO_CLAIMED

_WHO = re.compile(
    r"You are (?:subagent (?P<subagent>\S+) of )?(?P<name>[^,\n]+), role: [^\n]*, "
    r"agent: (?P<agent>[^\n]+)\.\n"
)
_TASK = re.compile(r"open task(?: is)?: task #(?P<id>[^:\n]+):")
_ATTEMPT = re.compile(r"^This is attempt (\d+)", re.MULTILINE)


def asker_of(system: str, turns: Sequence[Turn]) -> Asker:
    """The asker of a request of ours; an empty one for any other.

    `turn` counts the replies that the request shows since the task was assigned.
    """
    who, task = _WHO.match(system), _TASK.search(system)
    if who is None:
        return Asker()
    subagent = who["subagent"]
    told = turns if subagent else turns[_assignment(turns) :]
    attempt = _ATTEMPT.search(told[0].text) if told and not subagent else None
    return Asker(
        teammate=who["name"],
        agent=who["agent"],
        task=key_of(task["id"]) if task else None,
        attempt=int(attempt[1]) if attempt else int(task is not None),
        turn=sum(isinstance(turn, AssistantTurn) for turn in told),
        subagent=subagent,
        summary=SUMS_UP in system,
    )


def _assignment(turns: Sequence[Turn]) -> int:
    """Where the last assignment stands; 0 if there is none."""
    opening = f"<{AUTO_CLAIMED}>"
    places = (
        at
        for at in range(len(turns) - 1, 0, -1)
        if isinstance(turns[at], UserTurn) and opening in turns[at].text
    )
    return next(places, 0)
