"""Ends that no journal tells of: a run that died between a task's file and the line about it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from runner.board.attempts import is_untold
from runner.board.runs import is_alive
from runner.board.task import Task
from runner.core.events import events_in, read_journal
from runner.core.ids import Key, key_of
from runner.core.layout import Layout

_TAIL = 4096


def ended_by_dead_runs(tasks: Iterable[Task], layout: Layout, *, place: str) -> list[Task]:
    """Those of `tasks` that are completed or failed, by a run of `place` that is dead.

    What is done by hand has no run.
    """
    alive = lru_cache(maxsize=None)(lambda run: is_alive(layout, run))
    return [
        task
        for task in tasks
        if task.status in ("completed", "failed")
        and (claim := task.claim) is not None
        and claim.run is not None
        and claim.place == place
        and not alive(claim.run)
    ]


def untold(tasks: Iterable[Task], layout: Layout) -> list[Task]:
    """Those of `tasks`, ended all of them, whose last attempt began in a journal and ended in none.

    Reads every journal, if there is any task at all.
    """
    wanted = list(tasks)
    if not wanted:
        return []
    about: dict[Key | None, list[Mapping[str, Any]]] = {}
    for event in chain.from_iterable(map(read_journal, layout.journals())):
        about.setdefault(key_of(event.get("task")), []).append(event)
    return [task for task in wanted if is_untold(task, about.get(task.key, ()))]


def of_runs_cut_short(tasks: Iterable[Task], layout: Layout) -> list[Task]:
    """Those of `tasks` whose run never wrote that it ended; one that did has told all it did."""
    cut = lru_cache(maxsize=None)(lambda run: not _told_its_end(layout.runs / f"{run}.jsonl"))
    return [task for task in tasks if task.claim is not None and cut(task.claim.run)]


def _told_its_end(journal: Path) -> bool:
    try:
        with journal.open("rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _TAIL))
            tail = stream.read()
    except FileNotFoundError:
        return True  # somebody cleared it away: it tells of nothing any more
    return any(event["event"] == "run.ended" for event in events_in(tail))
