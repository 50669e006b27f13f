"""Finding agent files, merging them, looking one up.

Discovery runs afresh at every claim. Files that have not changed are not read again: what was
read is kept per directory, keyed on each file's mtime, size, inode and ctime (a changed mode, or
a copy that keeps the old mtime, is a change too).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runner.agents.bundled import load_bundled_agents
from runner.agents.definition import AgentDefinition, ParsedAgent, Source, parse_agent
from runner.agents.frontmatter import MAX_BYTES
from runner.agents.places import Place, agent_places
from runner.core.clock import SystemClock
from runner.errors import UnknownAgent

# Two writes within one tick of the file system's clock leave the same times, so what was read
# this soon (seconds) after the file's change is read again at the next call.
_SETTLES_AFTER_S = 0.05
_KEPT_DIRECTORIES = 64


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that discovery looked at. `shadowed_by` is the file whose agent has its name."""

    parsed: ParsedAgent
    source: Source
    shadowed_by: str | None = None

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
    every call, so that a run can say each once.
    """

    agents: tuple[AgentDefinition, ...]
    files: tuple[FoundFile, ...]
    warnings: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(agent.name for agent in self.agents)

    @property
    def shadowed(self) -> tuple[FoundFile, ...]:
        return tuple(found for found in self.files if found.state == "shadowed")

    def get(self, name: str) -> AgentDefinition | None:
        """The agent of exactly this name."""
        return next((agent for agent in self.agents if agent.name == name), None)


def discover_agents(cwd: Path | str, home: Path | str | None = None) -> Discovery:
    """Every agent that counts for a run started in `cwd`.

    `home` is the home directory, by default this user's. Synchronous: one thread hop.
    Raises: BundledAgentBroken.
    """
    places = agent_places(Path(cwd), _home() if home is None else Path(home))
    read = [(parsed, place.source) for place in places for parsed in _read_directory(place)]
    return _merge([*read, *_bundled()])


def get_agent(among: Discovery | Iterable[AgentDefinition], name: str) -> AgentDefinition:
    """The agent of exactly this name. Raises: UnknownAgent."""
    agents = among.agents if isinstance(among, Discovery) else tuple(among)
    for agent in agents:
        if agent.name == name:
            return agent
    raise UnknownAgent(name, [agent.name for agent in agents])


def read_agent_file(path: Path, source: Source) -> ParsedAgent:
    """Read one file; one that cannot be read has its reason. Never raises."""
    try:
        # looked at first: opening a pipe would wait for its writer
        if not stat.S_ISREG(path.stat().st_mode):
            return ParsedAgent(file=str(path), reason="not a regular file")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return ParsedAgent(file=str(path), reason=f"cannot be read: {reason}")
    return parse_agent(data, str(path), source)


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # neither HOME nor an entry for this user
        return None


def _bundled() -> Iterator[tuple[ParsedAgent, Source]]:
    for agent in load_bundled_agents():
        yield ParsedAgent(file=agent.file, definition=agent, body=agent.system_prompt), "bundled"


def _merge(read: Iterable[tuple[ParsedAgent, Source]]) -> Discovery:
    agents: dict[str, AgentDefinition] = {}
    files = []
    warnings: list[str] = []
    for parsed, source in read:
        found = FoundFile(parsed, source)
        agent = parsed.definition
        if agent is not None and agent.name in agents:
            found = FoundFile(parsed, source, agents[agent.name].file)
        elif agent is not None:
            agents[agent.name] = agent
        files.append(found)
        warnings += _warnings(found)
    return Discovery(tuple(agents.values()), tuple(files), tuple(dict.fromkeys(warnings)))


def _warnings(found: FoundFile) -> Iterator[str]:
    if found.state in ("used", "skipped"):
        for warning in found.parsed.warnings:
            yield f"{found.parsed.file}: {warning}"
    if found.state == "skipped":
        yield f"{found.parsed.file}: skipped: {found.parsed.reason}"


_Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Kept:
    stamp: _Stamp
    settled: bool
    parsed: ParsedAgent


# Values are never changed after they are put in, so threads need no lock: the last one wins.
_kept: dict[tuple[str, Source], dict[str, _Kept]] = {}


def _read_directory(place: Place) -> Iterator[ParsedAgent]:
    """The files of one directory by name, from memory where they are as they were."""
    key = (str(place.directory), place.source)
    before = _kept.get(key, {})
    after: dict[str, _Kept] = {}
    for name, path, found in sorted(_markdown_files(place.directory)):
        known = before.get(name)
        if known is None or not known.settled or known.stamp != found:
            known = _read(Path(path), place.source, found)
        after[name] = known
    if len(_kept) >= _KEPT_DIRECTORIES:
        _kept.clear()
    _kept[key] = after
    return (kept.parsed for kept in after.values())


def _read(path: Path, source: Source, stamp: _Stamp) -> _Kept:
    age_s = SystemClock().now().timestamp() - stamp[-1] / 1e9
    return _Kept(stamp, age_s > _SETTLES_AFTER_S, read_agent_file(path, source))


def _stamp(status: os.stat_result) -> _Stamp:
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns


def _markdown_files(directory: Path) -> Iterator[tuple[str, str, _Stamp]]:
    """(name, path, stamp) of the files and links to files; a link to nothing has an empty stamp."""
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if not entry.name.endswith(".md"):
                    continue
                try:
                    status = entry.stat()
                except OSError:
                    yield entry.name, entry.path, (0, 0, 0, 0)
                    continue
                if stat.S_ISREG(status.st_mode):
                    yield entry.name, entry.path, _stamp(status)
    except OSError:  # only after a lost race: gone, or closed to us, counts as empty
        return
