"""Telling a model who it is when its history is too short to show it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from runner.team.types import Teammate
from runner.work.messages import AssistantTurn, Turn, UserTurn
from runner.work.tags import IDENTITY, tagged

SHORT_HISTORY = 3  # messages; a longer history speaks for itself

_PAIR_USER = re.compile(
    r"<identity>You are '[^\n]*', role: [^\n]*, team: [^\n]*\. Continue your work\.</identity>\Z"
)
_PAIR_ASSISTANT = re.compile(r"I am [^\n]*\. Continuing\.\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who works here. The texts of the pair are a contract."""

    name: str
    role: str
    team: str

    @classmethod
    def of(cls, teammate: Teammate) -> Identity:
        return cls(name=teammate.name, role=teammate.role, team=teammate.team)

    def pair(self) -> tuple[UserTurn, AssistantTurn]:
        told = f"You are '{self.name}', role: {self.role}, team: {self.team}. Continue your work."
        return (
            UserTurn(text=tagged(IDENTITY, told)),
            AssistantTurn(text=f"I am {self.name}. Continuing."),
        )


def with_identity(history: Sequence[Turn], who: Identity) -> tuple[Turn, ...]:
    """`history` (merged, without the assignment to come) with the pair in front if it is short.

    To be used when a task was claimed and after a compaction. A pair of ours that stands there
    already is replaced by this one's, so it is never there twice; text of others cannot pass for
    a pair because our tags in it are neutralised on the way in.
    """
    if starts_with_pair(history):
        return (*who.pair(), *history[2:])
    if len(history) > SHORT_HISTORY:
        return tuple(history)
    return (*who.pair(), *history)


def starts_with_pair(history: Sequence[Turn]) -> bool:
    """Whether the runner's own pair, for whomever, stands in front."""
    if len(history) < 2:
        return False
    first, second = history[0], history[1]
    return (
        isinstance(first, UserTurn)
        and not first.results
        and bool(_PAIR_USER.match(first.text))
        and isinstance(second, AssistantTurn)
        and not second.calls
        and bool(_PAIR_ASSISTANT.match(second.text))
    )
