"""Why an agent that a task, a member or a person names cannot be used here; told to people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runner.agents.availability import explained_absence
from runner.agents.discovery import Discovery, FoundFile
from runner.agents.effective import EffectiveAgent, effective_agent
from runner.agents.merging import Found
from runner.core.settings import Settings


def obstacle(agent: EffectiveAgent) -> str | None:
    """Why no task can use the agent, whatever thinks: something in its file; None if it can."""
    from runner.work.selection import NO_WORKTREES, usable_schema

    if agent.unusable:
        return agent.unusable
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
        return "; ".join([absence, *map(skipped_text, skipped_as(name, discovery))])
    definition = discovery.get(name)
    if definition is None:
        raise AssertionError("unreachable: a name that is not absent is there")
    agent = effective_agent(definition, max_depth=settings.limits.max_recursion_depth)
    found = obstacle(agent)
    return f"agent {name!r}: {found}" if found and not agent.unusable else found


def skipped_as(name: str, discovery: Discovery) -> list[FoundFile]:
    """The files that would have defined an agent of this name, but had to be skipped."""
    skipped = [found for found in discovery.files if found.state == "skipped"]
    return [found for found in skipped if Path(found.parsed.file).stem == name]


def skipped_text(found: Found[Any]) -> str:
    """`FILE was skipped: line N: REASON`."""
    return f"{found.parsed.file} was skipped: {found.parsed.reason}"
