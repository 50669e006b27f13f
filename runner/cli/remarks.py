"""What is odd about agent files, told to whoever starts a run: only what that run is about."""

from __future__ import annotations

from collections.abc import Iterator

from runner.agents.discovery import Discovery, FoundFile, discover_agents
from runner.board.snapshot import Snapshot
from runner.cli.agent_use import skipped_text
from runner.cli.output import counted
from runner.core.ids import Key
from runner.core.layout import Layout
from runner.core.settings import Settings
from runner.work.admission import claimants
from runner.work.selection import default_agent


def remarks(
    layout: Layout, settings: Settings, snapshot: Snapshot, only: frozenset[Key] | None
) -> list[str]:
    """A line for each remark on a file whose agent an open task or a member names.

    All other files that have any are one line together. Synchronous: looks at the agent files.
    """
    discovery = discover_agents(layout.agents_from)
    files = {found.parsed.file: found for found in discovery.files if _lines(found)}
    told = []
    for name in sorted(set(_named(discovery, settings, snapshot, only))):
        agent = discovery.get(name)
        if agent is not None:
            if found := files.pop(agent.file, None):
                told += _lines(found)
        elif skipped := discovery.skipped_as(name):
            files.pop(skipped.parsed.file, None)
            told.append(skipped_text(skipped))
    if files:
        have = "has" if len(files) == 1 else "have"
        told.append(f"{counted(len(files), 'agent file')} {have} remarks: `runner agents check`")
    return told


def _named(
    discovery: Discovery, settings: Settings, snapshot: Snapshot, only: frozenset[Key] | None
) -> Iterator[str]:
    """The agents of the members, and those that open tasks ask for by name."""
    yield from (default_agent(claimant, discovery) for claimant in claimants(settings))
    for task in snapshot.unfinished:
        if task.agent is not None and task.run is None and (only is None or task.key in only):
            yield task.agent


def _lines(found: FoundFile) -> list[str]:
    """Why it is no agent, or what is odd about one that counts."""
    if found.state == "skipped":
        return [skipped_text(found)]
    if found.state == "used":
        return [f"{found.parsed.file}: {warning}" for warning in found.parsed.warnings]
    return []
