"""A history kept in a teammate's memory for its next task."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.core.settings import Settings
from runner.work.attempt import Means
from runner.work.histories.history import History

_PLACE = "carried history"


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A history that fits only the same agent, model and workspace.

    The first `size` bytes of `transcript` record it.
    """

    agent: str
    model: str
    workspace: Path
    history: History
    transcript: Path
    size: int


def recall(means: Means, settings: Settings) -> Carried | None:
    """What was kept, if it fits and histories are carried here."""
    carried = means.teammate.memory.get(_PLACE)
    if settings.history != "carry" or not isinstance(carried, Carried):
        return None
    wanted = (means.agent.name, means.model.name, means.workspace.root)
    return carried if (carried.agent, carried.model, carried.workspace) == wanted else None


def keep(means: Means, history: History) -> None:
    """Keep the history of an attempt that ended in whatever way."""
    history.settle()
    means.teammate.memory[_PLACE] = Carried(
        agent=means.agent.name,
        model=means.model.name,
        workspace=means.workspace.root,
        history=history,
        transcript=means.transcript.path,
        size=means.transcript.size,
    )
