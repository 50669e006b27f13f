"""Tasks of other tools: what was found there, and what it becomes on this board. Pure.

Each tool's form is read in `importing_json` and `importing_markdown`. All of them give `Found`;
`importing_plan` makes a `Plan` of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from runner.board.task import Status, Task
from runner.core.ids import key_of

Tool = Literal["task-master", "beads", "backlog.md", "claude-code"]

Ref = str
"""An id of the other tool, made fit for comparing (`ref_of`)."""

IMPORTED = "imported"
"""The key in a task's `metadata` that says where it came from, and holds what has no field here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One task of another tool. `where` says for people where it stands: a file, a line, a place.

    Ids are as written there; `id` is None if there is none. `held` says why nobody may begin it
    without a word of a person. `parent` is the task that this one is a part of. `metadata` is the
    other tool's own free data; `fields` is everything that has no place in a task of ours.
    """

    id: int | str | None
    where: str
    subject: str
    description: str = ""
    status: Status = "pending"
    held: str | None = None
    priority: int = 0
    waits_for: tuple[int | str, ...] = ()
    parent: int | str | None = None
    assignee: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """What becomes no task. `broken`: it should have been one, and a person has to look."""

    where: str
    reason: str
    broken: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one source holds, in its order. `part` tells lists of one file apart (a tag)."""

    tool: Tool
    entries: tuple[Entry, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    part: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A new task: what to hand to the board, and what a person should know of it."""

    entry: Entry
    fields: Mapping[str, Any]
    notes: tuple[str, ...]

    @property
    def id(self) -> int | str:
        found: int | str = self.fields["id"]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """An entry that was imported before, and the task that it became."""

    entry: Entry
    task: Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    new: tuple[Planned, ...] = ()
    known: tuple[Known, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def ref_of(value: object) -> Ref | None:
    """An id of another tool for comparing: `7`, `"7"` and `"007"` are one, and letters of any case
    are.
    """
    key = key_of(value)
    return key.casefold() if key is not None else None
