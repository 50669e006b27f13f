"""Finding workflow commands: as agents, in folders called `commands`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.agents.command_file import ParsedCommand, WorkflowCommand, parse_command
from runner.agents.merging import Found, merge, read_all
from runner.agents.parsed import unreadable
from runner.agents.places import Place
from runner.agents.reading import Reader
from runner.agents.sources import find_sources
from runner.core.data import data_dir
from runner.errors import BundledAgentBroken, UnknownCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What was found, as it was at one moment.

    `commands` are those that count, in order of precedence, bundled ones last. `files` are all
    that were looked at, in the order of looking. `warnings` name their file.
    """

    commands: tuple[WorkflowCommand, ...]
    files: tuple[Found[WorkflowCommand], ...] = ()
    warnings: tuple[str, ...] = ()


def discover_commands(cwd: Path | str, home: Path | str | None = None) -> Commands:
    """Every workflow command that counts for a run started in `cwd`.

    `home` is the home directory, by default this user's. Synchronous: one thread hop.
    Raises: BundledAgentBroken.
    """
    sources = find_sources(cwd, home, "commands")
    bundled = bundled_commands(data_dir("bundled_agents") / "commands")
    merged = merge([*read_all(_READER, sources), *bundled], sources.registries)
    return Commands(commands=merged.definitions, files=merged.files, warnings=merged.warnings)


def get_command(among: Commands | Iterable[WorkflowCommand], name: str) -> WorkflowCommand:
    """The command of exactly this name. Raises: UnknownCommand."""
    commands = among.commands if isinstance(among, Commands) else tuple(among)
    for command in commands:
        if command.name == name:
            return command
    raise UnknownCommand(name, [command.name for command in commands])


def bundled_commands(folder: Path) -> Iterator[Found[WorkflowCommand]]:
    """The commands that ship with the package. Raises: BundledAgentBroken."""
    for parsed in _READER.directory(Place(folder, "bundled")):
        if parsed.definition is None:
            raise BundledAgentBroken(parsed.file, parsed.reason or "no command")
        yield Found(parsed=parsed, source="bundled")


_READER: Reader[ParsedCommand] = Reader(parse_command, unreadable)
