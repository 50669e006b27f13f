"""Definitions from many places as one list: the first of a name wins, and each file is explained.

Agents and workflow commands are merged in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, Literal, Protocol, TypeVar

from runner.agents.definition import Source
from runner.agents.parsed import Parsed
from runner.agents.plugins import FoundRegistry
from runner.agents.reading import Reader
from runner.agents.sources import Sources
from runner.agents.unread import unread


class Definition(Protocol):
    """What an agent and a command have in common."""

    @property
    def name(self) -> str: ...

    @property
    def file(self) -> str: ...


D = TypeVar("D", bound=Definition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Generic[D]):
    """A file that was looked at.

    `shadowed_by` is the file whose definition has its name, `plugin` the id of the plugin it is of.
    """

    parsed: Parsed[D]
    source: Source
    shadowed_by: str | None = None
    plugin: str | None = None

    @property
    def state(self) -> Literal["used", "shadowed", "skipped", "no agent"]:
        if self.parsed.definition is not None:
            return "shadowed" if self.shadowed_by else "used"
        return "skipped" if self.parsed.has_front_matter else "no agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged(Generic[D]):
    """`definitions` are those that count, `files` all files, `warnings` name their file."""

    definitions: tuple[D, ...]
    files: tuple[Found[D], ...]
    warnings: tuple[str, ...]


def read_all(reader: Reader[Parsed[D]], sources: Sources) -> Iterator[Found[D]]:
    """The files of every place, in order of precedence, and what lies there and is not read."""
    for place in sources.places:
        for parsed in (*reader.directory(place), *unread(place)):
            yield Found(parsed=parsed, source=place.source, plugin=place.plugin)


def merge(read: Iterable[Found[D]], registries: Iterable[FoundRegistry]) -> Merged[D]:
    """`read` in order of precedence; `registries` are those that named the plugins among it."""
    first: dict[str, D] = {}
    files = []
    warnings = [
        f"{registry.file}: no plugin of it is used: {registry.problem}"
        for registry in registries
        if registry.problem is not None
    ]
    for found in read:
        definition = found.parsed.definition
        if definition is not None:
            winner = first.setdefault(definition.name, definition)
            if winner is not definition:
                found = replace(found, shadowed_by=winner.file)
        files.append(found)
        warnings += _warnings(found)
    return Merged(
        definitions=tuple(first.values()),
        files=tuple(files),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def shadows(files: Iterable[Found[D]]) -> dict[str, list[str]]:
    """For the name of each definition that counts, the files that it shadows."""
    shadowed: dict[str, list[str]] = {}
    for found in files:
        if found.parsed.definition is not None:
            hidden = shadowed.setdefault(found.parsed.definition.name, [])
            if found.state == "shadowed":
                hidden.append(found.parsed.file)
    return shadowed


def _warnings(found: Found[D]) -> Iterator[str]:
    if found.state in ("used", "skipped"):
        for warning in found.parsed.warnings:
            yield f"{found.parsed.file}: {warning}"
    if found.state == "skipped":
        yield f"{found.parsed.file}: skipped: {found.parsed.reason}"
