"""The rounds that tests run a few of, and `score.py` all."""

from __future__ import annotations

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
from runner.testing import Racer, broken_promises, make_board, race

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


def layered_board(root: Path, chance: random.Random) -> None:
    """Twelve tasks in four layers; each waits for some of the layer before."""
    tasks: list[dict[str, Any]] = []
    for number in range(1, 13):
        layer = (number - 1) // 3
        before = range(layer * 3 - 2, layer * 3 + 1) if layer else ()
        blockers = [one for one in before if chance.random() < 0.7]
        tasks.append({"id": number, "blockedBy": blockers, "estimate": number})
    make_board(root, tasks)


@dataclass(frozen=True, slots=True)
class Killed:
    """A round of kills. `faults` is what went wrong; `completed` and `explained` count tasks."""

    faults: tuple[str, ...]
    completed: int
    explained: int


def kill_round(root: Path, seed: int) -> Killed:
    """Processes on a layered board that are killed at random, then two that end what is left."""
    chance = random.Random(seed)  # noqa: S311 - a seed repeats a round
    layered_board(root, chance)
    for generation, _ in enumerate(range(chance.randint(1, 3))):
        _killed_generation(root, generation, chance)
    ahead = 5 * GENERATION_S
    faults: list[str] = []
    race(root, ["last-a", "last-b"], "--ahead", str(ahead))
    states = _states(root)
    # who failed after three deaths blocks others for ever: that is told, not lost
    bad = [state for state in states.values() if state not in ("completed", "failed", "blocked")]
    faults += [f"task left {state}" for state in bad]
    if "blocked" in states.values() and "failed" not in states.values():
        faults.append("a task is blocked and nothing has failed")
    faults += broken_promises(root)
    done = list(states.values()).count("completed")
    return Killed(tuple(faults), done, len(states) - done)


def _killed_generation(root: Path, generation: int, chance: random.Random) -> None:
    """Two processes; one dies at a random step of a save, or is killed while it holds a task."""
    ahead = ["--ahead", str(generation * GENERATION_S)]
    if chance.random() < 0.5:
        step = chance.choice(["written", "synced", "replacing", "replaced"])
        dying = ["--die", f"{step}:{chance.randint(1, 12)}:*.json"]
        names = [(f"g{generation}-dying", dying), (f"g{generation}-other", [])]
    else:
        names = [(f"g{generation}-held", ["--hold"]), (f"g{generation}-killed", [])]
    racers = [Racer(root, name, *ahead, *options) for name, options in names]
    try:
        for racer in racers:
            racer.wait_ready()
        for racer in racers:
            racer.go()
        racers[0].result()
        racers[0].kill()
        if chance.random() < 0.5:
            racers[1].kill()
        racers[1].result()
    finally:
        for racer in racers:
            racer.__exit__(None, None, None)


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
