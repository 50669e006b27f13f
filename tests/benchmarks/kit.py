"""What the benchmarks share: how figures are taken and shown, and boards to take them from."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from runner.core.layout import Layout

Figures = dict[str, float]
"""What was measured, and how much it was; the unit, or of what it is a multiple, is in the name."""


def show(measure: Callable[[], Figures], doc: str | None) -> None:
    """The command line of one benchmark: a table, or with `--json` one object."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    figures = measure()
    print(json.dumps(figures, indent=2) if options.json else table(figures))


def table(figures: Mapping[str, float]) -> str:
    return "\n".join(f"{name:<76} {figure:>10,.2f}" for name, figure in figures.items())


def median_ms(call: Callable[[], object], rounds: int = 7) -> float:
    """The median of a few calls, after one to warm up."""
    call()
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        took.append(1000 * (time.perf_counter() - began))
    return statistics.median(took)


def side_by_side_ms(calls: Mapping[str, Callable[[], object]], rounds: int = 7) -> Figures:
    """The median of each, taken in turns: what else the machine does then weighs on all alike."""
    took: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            if number:  # the first time is to warm up
                took[name].append(1000 * (time.perf_counter() - began))
    return {name: statistics.median(times) for name, times in took.items()}


def task_object(number: int) -> dict[str, object]:
    return {
        "id": number,
        "subject": f"Task {number} of a board that is not small",
        "description": "Do what is written here, with care, and say what was done. " * 6,
        "status": "pending",
        "blockedBy": [],
        "owner": "",
        "priority": number % 3,
        "labels": ["one", "two"],
    }


def put(layout: Layout, task: Mapping[str, object]) -> None:
    path = layout.tasks / f"task_{task['id']}.json"
    path.write_text(json.dumps(task, indent=2) + "\n", encoding="utf-8")


def board(root: Path, count: int) -> Layout:
    """A board of `count` open tasks of half a kilobyte each."""
    layout = Layout(root=root, workspace=root)
    layout.tasks.mkdir(parents=True)
    layout.ensure_team()
    for number in range(1, count + 1):
        put(layout, task_object(number))
    return layout
