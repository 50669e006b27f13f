"""One task: the record that the rest works with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from runner.core.ids import Key

Status = Literal["pending", "in_progress", "completed", "failed", "deleted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The exclusive right to work on a task, as the file holds it.

    `run` is None for a claim by hand; `place` is `Layout.place()` of where it was made; `was` is
    the owner before the claim (None: nobody), restored when the task goes back to pending.
    """

    id: str
    run: str | None
    by: str
    at: str
    source: Literal["run", "manual"]
    place: str
    was: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task as read from its file; nothing here writes.

    `id` is as written, `key` for comparing, `file` the name inside `.tasks/`. `status` is None when
    the written word is unknown. `run` keeps the form of the file: a str is for `sh -c`, a tuple is
    argv. `verify` is a tuple of shell commands. `unclaimable` says why this file can never be
    claimed as it stands (a field that decides and cannot be understood). `attempt` counts claims,
    `faults` those attempts that ended in a fault; `max_attempts` bounds the faults. `raw` is the
    whole object, unknown fields included.
    """

    id: int | str
    key: Key
    file: str
    subject: str = ""
    description: str = ""
    status: Status | None = "pending"
    owner: str | None = None
    blocked_by: tuple[Key, ...] = ()
    agent: str | None = None
    required_role: str | None = None
    priority: int = 0
    schema: Mapping[str, Any] | None = None
    run: str | tuple[str, ...] | None = None
    verify: tuple[str, ...] = ()
    plan: bool = False
    isolated: bool = False
    timeout_s: float | None = None
    max_attempts: int | None = None
    attempt: int = 0
    faults: int = 0
    claim: Claim | None = None
    retry_at: datetime | None = None
    result: Any = None
    error: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    usage: Mapping[str, Any] | None = None
    unclaimable: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def fence(self) -> Fence:
        """What a write on this task has to present. Only for a task that was just claimed."""
        if self.claim is None:
            raise AssertionError("unreachable: a fence is asked of a claimed task")
        return Fence(key=self.key, claim_id=self.claim.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Presented with every write by the holder; refused with ClaimLost when stale."""

    key: Key
    claim_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """Who asks for a task. `agent` is the agent used for tasks that name none."""

    name: str
    role: str | None = None
    agent: str | None = None
