"""The rounds that tests run a few of, and `score.py` all."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.board.store import Store
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.layout import Layout
from runner.testing import STEPS, Racer, broken_promises, make_board, race

GENERATION_S = 3600.0
"""Each later process has its clock so far in front of the one before: back-offs are past."""


def race_round(root: Path, *, processes: int, tasks: int) -> list[str]:
    """What went wrong when so many processes emptied a board of free tasks; empty is good."""
    make_board(root, [{}] * tasks)
    raced = race(root, [f"p{number}" for number in range(processes)])
    done = [task for ids in raced.done for task in ids]
    faults = [f"task {task} was done twice" for task in raced.twice]
    lost = set(range(1, tasks + 1)) - {int(task) for task in done}
    faults += [f"task {task} was lost" for task in sorted(lost)]
    return [*faults, *broken_promises(root, swept=True)]


def layered_board(root: Path, chance: random.Random) -> list[dict[str, Any]]:
    """Twelve tasks in four layers; each waits for some of the layer before."""
    tasks: list[dict[str, Any]] = []
    for number in range(1, 13):
        layer = (number - 1) // 3
        before = range(layer * 3 - 2, layer * 3 + 1) if layer else ()
        blockers = [one for one in before if chance.random() < 0.7]
        tasks.append({"id": number, "blockedBy": blockers, "estimate": number})
    make_board(root, tasks)
    return tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """A round of kills. `faults` is what went wrong; `completed` and `explained` count tasks."""

    faults: tuple[str, ...]
    completed: int
    explained: int


def kill_round(root: Path, seed: int) -> Killed:
    """Processes on a layered board that are killed at random, then two that end what is left."""
    chance = random.Random(seed)  # noqa: S311 - a seed repeats a round
    tasks = layered_board(root, chance)
    for generation in range(chance.randint(1, 3)):
        _killed_generation(root, generation, chance)
    race(root, ["last-a", "last-b"], ahead_s=5 * GENERATION_S)
    _sweep(root)
    states = _states(root)
    # who failed after three deaths blocks others for ever: that is told, not lost
    bad = [state for state in states.values() if state not in ("completed", "failed", "blocked")]
    faults = [f"a task was left {state}" for state in bad]
    if "blocked" in states.values() and "failed" not in states.values():
        faults.append("a task is blocked and nothing has failed")
    faults += [*_changed(root, tasks), *broken_promises(root, swept=True)]
    done = list(states.values()).count("completed")
    return Killed(faults=tuple(faults), completed=done, explained=len(states) - done)


def _killed_generation(root: Path, generation: int, chance: random.Random) -> None:
    """Three processes: one dies at a step of a save, one at any moment, one holding a task."""
    ahead_s = generation * GENERATION_S
    step = f"{chance.choice(STEPS)}:{chance.randint(1, 12)}:*.json"
    with (
        Racer(root, f"g{generation}-step", ahead_s=ahead_s, die=step) as dying,
        Racer(root, f"g{generation}-moment", ahead_s=ahead_s) as killed,
        Racer(root, f"g{generation}-holding", ahead_s=ahead_s) as holding,
    ):
        some = [one for one in (dying, killed, holding) if chance.random() < 0.7]
        for racer in some:
            racer.tell("next" if racer is holding else "drain")
        killed.kill(after_s=chance.random() * 0.06)
        if holding in some:
            holding.answer()
        holding.kill()
        dying.close()


def _changed(root: Path, tasks: list[dict[str, Any]]) -> Iterator[str]:
    """What a task waits or waited for, and what is not ours, is as it was written."""
    for task in tasks:
        raw = json.loads((root / f".tasks/task_{task['id']}.json").read_bytes())
        edges = sorted([*raw["blockedBy"], *raw.get("unblockedBy", [])])
        if (edges, raw["estimate"]) != (task["blockedBy"], task["estimate"]):
            yield f"task {task['id']}: found {edges} and {raw['estimate']}, made as {task}"


def _sweep(root: Path) -> None:
    """The next start: the first change of a process removes what dead saves have left."""
    with Racer(root, "sweeper", by_hand=True, ahead_s=6 * GENERATION_S) as racer:
        racer.ask('edit 1 {"note": "swept"}')


def _states(root: Path) -> dict[str, str]:
    layout, clock = Layout(root=root, workspace=root), SystemClock()
    journal = Journal(layout.cli_journal, run=None, clock=clock)
    snapshot = Store(layout, clock=clock, journal=journal).scan(settle=True)
    return {key: snapshot.state(task) for key, task in snapshot.tasks.items()}


def fresh(folder: Path) -> Iterator[Path]:
    """Folders one after the other, each gone when the next is asked for."""
    number = 0
    while True:
        root = folder / f"round-{number}"
        root.mkdir()
        yield root
        shutil.rmtree(root)
        number += 1
