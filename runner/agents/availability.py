"""Which agents can be used beyond being there: switched off, not allowed, or blocked."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from runner.agents.definition import AgentDefinition
from runner.agents.effective import EffectiveAgent
from runner.errors import UnknownAgent

_BLOCKED_VARIABLES = ("PI_BLOCKED_AGENT", "RUNNER_BLOCKED_AGENT")
_MOST_NEAR = 3


def blocked_agents(environ: Mapping[str, str]) -> frozenset[str]:
    """The agents that whoever started this process forbids to start again."""
    return frozenset(name for key in _BLOCKED_VARIABLES if (name := environ.get(key, "").strip()))


def absence(name: str, names: Sequence[str], disabled: Collection[str]) -> str | None:
    """Why there is no agent of exactly this name to use; None if there is.

    `names` are those that discovery found, in its order, `disabled` those that the settings switch
    off.
    """
    available = [one for one in names if one not in disabled]
    if name in available:
        return None
    if name in names:
        listed = ", ".join(available) or "none"
        return f'Agent "{name}" is switched off by disabled_agents. Available: {listed}'
    return str(UnknownAgent(name, available))


def explained_absence(name: str, names: Sequence[str], disabled: Collection[str]) -> str | None:
    """The same for people, who may have mistyped the name."""
    reason = absence(name, names, disabled)
    if reason is None:
        return None
    near = nearest(name, [one for one in names if one not in disabled])
    return f"{reason}; near: {', '.join(near)}" if near else reason


def unknown_disabled(names: Sequence[str], disabled: Iterable[str]) -> Iterator[str]:
    """A warning for each name that is to be switched off and that no agent has."""
    for name in sorted(disabled):
        if reason := explained_absence(name, names, ()):
            yield f"disabled_agents: {reason}"


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """A few names like this one, whatever their case."""
    folded: dict[str, list[str]] = {}
    for one in names:
        folded.setdefault(one.casefold(), []).append(one)
    alike = difflib.get_close_matches(name.casefold(), folded, n=_MOST_NEAR)
    return [one for key in alike for one in folded[key]][:_MOST_NEAR]


def spawn_refusal(
    name: str,
    *,
    parent: EffectiveAgent,
    names: Sequence[str],
    disabled: Collection[str],
    blocked: Collection[str],
) -> str | None:
    """Why `parent` must not start this agent as a subagent; None if it may.

    An agent never starts itself, whatever `blocked` holds.
    """
    return absence(name, names, disabled) or _spawn_bar(name, parent, blocked)


def _spawn_bar(name: str, parent: EffectiveAgent, blocked: Collection[str]) -> str | None:
    """Why `parent` must not start an agent that is there; None if it may."""
    if not parent.spawns.allows(name):
        return f"Cannot spawn '{name}'. Allowed: {parent.spawns}"
    if name in blocked or name == parent.name:
        return (
            f"Cannot spawn {name} agent from within itself (recursion prevention). "
            "Use a different agent type."
        )
    return None


def startable(
    agents: Iterable[AgentDefinition],
    *,
    parent: EffectiveAgent,
    disabled: Collection[str],
    blocked: Collection[str],
) -> tuple[AgentDefinition, ...]:
    """Those of `agents` that `parent` may start and whose files need no mending."""
    return tuple(
        agent
        for agent in agents
        if agent.unusable is None
        and agent.name not in disabled
        and _spawn_bar(agent.name, parent, blocked) is None
    )
