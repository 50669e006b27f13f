"""Finding agent files, merging them, looking one up.

Discovery runs afresh at every claim; files that have not changed are not read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from runner.agents.bundled import load_bundled_agents
from runner.agents.codex_toml import parse_codex_agent
from runner.agents.definition import AgentDefinition, ParsedAgent, Source, parse_agent
from runner.agents.places import CODEX_AGENT, RepeatedPlace
from runner.agents.plugins import FoundRegistry
from runner.agents.reading import Reader
from runner.agents.sources import Sources, find_sources
from runner.errors import UnknownAgent


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that discovery looked at.

    `shadowed_by` is the file whose agent has its name, `plugin` the id of the plugin it is of.
    """

    parsed: ParsedAgent
    source: Source
    shadowed_by: str | None = None
    plugin: str | None = None

    @property
    def state(self) -> Literal["used", "shadowed", "skipped", "no agent"]:
        if self.parsed.definition is not None:
            return "shadowed" if self.shadowed_by else "used"
        return "skipped" if self.parsed.has_front_matter else "no agent"


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found, as it was at one moment.

    `agents` are those that count, in order of precedence, bundled ones last. `files` are all that
    were looked at, in the order of looking. `warnings` name their file and are the same text at
    every call, so that a run can say each once. `registries` are the plugin registries that there
    are, `repeated` the directories that were left out because they were read by another way.
    """

    agents: tuple[AgentDefinition, ...]
    files: tuple[FoundFile, ...] = ()
    warnings: tuple[str, ...] = ()
    registries: tuple[FoundRegistry, ...] = ()
    repeated: tuple[RepeatedPlace, ...] = ()
    _by_name: dict[str, AgentDefinition] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name: dict[str, AgentDefinition] = {}
        for agent in self.agents:
            by_name.setdefault(agent.name, agent)
        object.__setattr__(self, "_by_name", by_name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._by_name)

    @property
    def shadowed(self) -> tuple[FoundFile, ...]:
        return tuple(found for found in self.files if found.state == "shadowed")

    def get(self, name: str) -> AgentDefinition | None:
        """The agent of exactly this name."""
        return self._by_name.get(name)


def discover_agents(cwd: Path | str, home: Path | str | None = None) -> Discovery:
    """Every agent that counts for a run started in `cwd`.

    `home` is the home directory, by default this user's. Synchronous: one thread hop.
    Raises: BundledAgentBroken.
    """
    sources = find_sources(cwd, home)
    read = [
        FoundFile(parsed, place.source, plugin=place.plugin)
        for place in sources.places
        for parsed in _READER.directory(place)
    ]
    return _merge([*read, *_bundled()], sources)


def get_agent(among: Discovery | Iterable[AgentDefinition], name: str) -> AgentDefinition:
    """The agent of exactly this name. Raises: UnknownAgent."""
    discovery = among if isinstance(among, Discovery) else Discovery(tuple(among))
    agent = discovery.get(name)
    if agent is None:
        raise UnknownAgent(name, discovery.names)
    return agent


def read_agent_file(path: Path, source: Source) -> ParsedAgent:
    """Read one file, as TOML if its name says so; without an agent it has its reason.

    Never raises.
    """
    return _READER.file(path, source)


def _bundled() -> Iterator[FoundFile]:
    for agent in load_bundled_agents():
        parsed = ParsedAgent(file=agent.file, definition=agent, body=agent.system_prompt)
        yield FoundFile(parsed, "bundled")


def _merge(read: Iterable[FoundFile], sources: Sources) -> Discovery:
    agents: dict[str, AgentDefinition] = {}
    files = []
    warnings = list(_registry_warnings(sources.registries))
    for found in read:
        agent = found.parsed.definition
        if agent is not None and agents.setdefault(agent.name, agent) is not agent:
            found = replace(found, shadowed_by=agents[agent.name].file)
        files.append(found)
        warnings += _warnings(found)
    return Discovery(
        agents=tuple(agents.values()),
        files=tuple(files),
        warnings=tuple(dict.fromkeys(warnings)),
        registries=sources.registries,
        repeated=sources.repeated,
    )


def _registry_warnings(registries: Iterable[FoundRegistry]) -> Iterator[str]:
    for registry in registries:
        if registry.problem is not None:
            yield f"{registry.file}: no plugin of it is used: {registry.problem}"


def _warnings(found: FoundFile) -> Iterator[str]:
    if found.state in ("used", "skipped"):
        for warning in found.parsed.warnings:
            yield f"{found.parsed.file}: {warning}"
    if found.state == "skipped":
        yield f"{found.parsed.file}: skipped: {found.parsed.reason}"


def _parse(data: bytes, file: str, source: Source) -> ParsedAgent:
    parse = parse_codex_agent if file.endswith(CODEX_AGENT) else parse_agent
    return parse(data, file, source)


def _unreadable(file: str, reason: str) -> ParsedAgent:
    return ParsedAgent(file=file, reason=reason)


_READER = Reader(_parse, _unreadable)
