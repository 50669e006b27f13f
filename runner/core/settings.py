"""What can be set: `team.yaml` beside `.tasks/`, then `RUNNER_*`, then flags; later wins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

DEFAULT_MEMBER_NAMES = ("alice", "bob", "carol")
DEFAULT_ROLE = "worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds and counts; the keys of `limits:` are these names without `_s`."""

    poll_interval_s: float = 5.0
    idle_timeout_s: float = 60.0
    grace_s: float = 10.0
    max_turns: int = 50
    timeout_s: float = 1800.0
    max_recursion_depth: int = 2
    max_subagents: int = 50
    verify_timeout_s: float = 600.0
    approval_timeout_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Ceilings of one run; None is no ceiling."""

    usd: float | None = None
    tokens: int | None = None
    time_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSpec:
    """One wanted teammate. `agent` None means: the agent named like the role, else `task`."""

    name: str
    role: str = DEFAULT_ROLE
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that was set, checked. `source` is the team.yaml it came from, if there is one."""

    team: str = "team"
    model: str | None = None
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    members: tuple[MemberSpec, ...] = tuple(MemberSpec(name=name) for name in DEFAULT_MEMBER_NAMES)
    schema: Mapping[str, Any] | None = None
    history: Literal["carry", "fresh"] = "carry"
    disabled_agents: frozenset[str] = frozenset()
    limits: Limits = Limits()
    budget: Budget = Budget()
    isolation: bool = False
    source: str | None = None
