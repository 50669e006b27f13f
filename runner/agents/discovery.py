"""Finding agent files, merging them, looking one up.

Discovery runs afresh at every claim; files that have not changed are not read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from runner.agents.bundled import load_bundled_agents
from runner.agents.codex_toml import parse_codex_agent
from runner.agents.definition import AgentDefinition, ParsedAgent, Source, parse_agent
from runner.agents.merging import Found, merge, read_all
from runner.agents.parsed import Parsed, unreadable
from runner.agents.places import CODEX_AGENT, RepeatedPlace
from runner.agents.plugins import FoundRegistry
from runner.agents.reading import Reader
from runner.agents.sources import find_sources
from runner.errors import UnknownAgent

# for annotations only: Python 3.11 cannot call such an alias of a frozen class
FoundFile = Found[AgentDefinition]


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

    def skipped_as(self, name: str) -> FoundFile | None:
        """The first file without an agent that seems to be meant as the one of this name.

        It has the name in it, or in its file name; `parsed` has the reason and the line.
        """
        return next((found for found in self.files if found.parsed.is_meant_as(name)), None)


def discover_agents(cwd: Path | str, home: Path | str | None = None) -> Discovery:
    """Every agent that counts for a run started in `cwd`.

    `home` is the home directory, by default this user's. Synchronous: one thread hop.
    Raises: BundledAgentBroken.
    """
    sources = find_sources(cwd, home)
    merged = merge([*read_all(_READER, sources), *_bundled()], sources.registries)
    return Discovery(
        agents=merged.definitions,
        files=merged.files,
        warnings=merged.warnings,
        registries=sources.registries,
        repeated=sources.repeated,
    )


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
        parsed = Parsed(file=agent.file, definition=agent, body=agent.system_prompt)
        yield Found(parsed=parsed, source="bundled")


def _parse(data: bytes, file: str, source: Source) -> ParsedAgent:
    parse = parse_codex_agent if file.endswith(CODEX_AGENT) else parse_agent
    return parse(data, file, source)


_READER: Reader[ParsedAgent] = Reader(_parse, unreadable)
