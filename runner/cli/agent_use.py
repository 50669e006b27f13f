"""Why an agent that a task, a member or a person names cannot be used here; told to people."""

from __future__ import annotations

from typing import Any

from runner.agents.availability import explained_absence
from runner.agents.discovery import Discovery
from runner.agents.effective import EffectiveAgent, effective_agent
from runner.agents.merging import Found
from runner.core.settings import Settings


def obstacle(agent: EffectiveAgent) -> str | None:
    """Why no task can use the agent, whatever thinks: something in its file; None if it can."""
    from runner.work.selection import NO_WORKTREES, usable_schema

    if why := agent.definition.unusable or agent.unusable:
        return why
    if word := agent.definition.isolation:
        return f"`isolation` is {word!r}: {NO_WORKTREES}"
    if agent.definition.output is not None:
        try:
            usable_schema(agent.definition.output)
        except ValueError as error:
            return f"`output` cannot be used: {error}"
    return None


def why_not_used(name: str, discovery: Discovery, settings: Settings) -> str | None:
    """Why nothing that names this agent can be done here; None if it can, if a model is there."""
    absence = explained_absence(name, discovery.names, settings.disabled_agents)
    if absence is not None:
        skipped = discovery.skipped_as(name)
        return f"{absence}; {skipped_text(skipped)}" if skipped else absence
    definition = discovery.get(name)
    if definition is None:
        raise AssertionError("unreachable: a name that is not absent is there")
    agent = effective_agent(definition, max_depth=settings.limits.max_recursion_depth)
    found = obstacle(agent)
    return agent.unusable or (found and f"agent {name!r}: {found}")


def skipped_text(found: Found[Any]) -> str:
    """`FILE was skipped: line N: REASON`."""
    return f"{found.parsed.file} was skipped: {found.parsed.reason}"
