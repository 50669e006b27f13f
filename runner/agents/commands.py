"""Finding workflow commands: as agents, in folders called `commands`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from runner.agents.command_file import ParsedCommand, WorkflowCommand, parse_command
from runner.agents.definition import Source
from runner.agents.places import Place, RepeatedPlace
from runner.agents.plugins import FoundRegistry
from runner.agents.reading import Reader
from runner.agents.sources import Sources, find_sources
from runner.core.data import data_dir
from runner.errors import BundledAgentBroken, UnknownCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCommand:
    """A file that was looked at.

    `shadowed_by` is the file whose command has its name, `plugin` the id of the plugin it is of.
    """

    parsed: ParsedCommand
    source: Source
    shadowed_by: str | None = None
    plugin: str | None = None

    @property
    def state(self) -> Literal["used", "shadowed", "skipped"]:
        if self.parsed.definition is None:
            return "skipped"
        return "shadowed" if self.shadowed_by else "used"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What was found, as it was at one moment.

    `commands` are those that count, in order of precedence, bundled ones last. `files` are all
    that were looked at, in the order of looking. `warnings` name their file. `registries` are the
    plugin registries that there are, `repeated` the directories that were read by another way.
    """

    commands: tuple[WorkflowCommand, ...]
    files: tuple[FoundCommand, ...] = ()
    warnings: tuple[str, ...] = ()
    registries: tuple[FoundRegistry, ...] = ()
    repeated: tuple[RepeatedPlace, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(command.name for command in self.commands)


def discover_commands(cwd: Path | str, home: Path | str | None = None) -> Commands:
    """Every workflow command that counts for a run started in `cwd`.

    `home` is the home directory, by default this user's. Synchronous: one thread hop.
    Raises: BundledAgentBroken.
    """
    sources = find_sources(cwd, home, "commands")
    found = [
        FoundCommand(parsed=parsed, source=place.source, plugin=place.plugin)
        for place in sources.places
        for parsed in _READER.directory(place)
    ]
    return _merge([*found, *bundled_commands(data_dir("bundled_agents") / "commands")], sources)


def get_command(among: Commands | Iterable[WorkflowCommand], name: str) -> WorkflowCommand:
    """The command of exactly this name. Raises: UnknownCommand."""
    commands = among.commands if isinstance(among, Commands) else tuple(among)
    for command in commands:
        if command.name == name:
            return command
    raise UnknownCommand(name, [command.name for command in commands])


def bundled_commands(folder: Path) -> Iterator[FoundCommand]:
    """The commands that ship with the package. Raises: BundledAgentBroken."""
    for parsed in _READER.directory(Place(folder, "bundled")):
        if parsed.definition is None:
            raise BundledAgentBroken(parsed.file, parsed.reason or "no command")
        yield FoundCommand(parsed=parsed, source="bundled")


def _merge(read: Iterable[FoundCommand], sources: Sources) -> Commands:
    commands: dict[str, WorkflowCommand] = {}
    files = []
    warnings = [
        f"{registry.file}: no plugin of it is used: {registry.problem}"
        for registry in sources.registries
        if registry.problem is not None
    ]
    for found in read:
        command = found.parsed.definition
        if command is not None and commands.setdefault(command.name, command) is not command:
            found = replace(found, shadowed_by=commands[command.name].file)
        files.append(found)
        warnings += _warnings(found)
    return Commands(
        commands=tuple(commands.values()),
        files=tuple(files),
        warnings=tuple(dict.fromkeys(warnings)),
        registries=sources.registries,
        repeated=sources.repeated,
    )


def _warnings(found: FoundCommand) -> Iterator[str]:
    if found.state == "used":
        for warning in found.parsed.warnings:
            yield f"{found.parsed.file}: {warning}"
    if found.state == "skipped":
        yield f"{found.parsed.file}: skipped: {found.parsed.reason}"


def _unreadable(file: str, reason: str) -> ParsedCommand:
    return ParsedCommand(file=file, reason=reason)


_READER = Reader(parse_command, _unreadable)
