"""Where files of the families lie, in order of precedence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runner.agents.definition import Source

Folder = Literal["agents", "commands"]
"""Which kind of files is looked for: the name of their directory in every family and plugin."""

MARKDOWN = ".md"
CODEX_AGENT = ".toml"

# Each family with the directory below home that holds a user's folders.
_FAMILIES = (
    (".xcsh", Path(".xcsh/agent")),
    (".claude", Path(".claude")),
    (".codex", Path(".codex")),
    (".gemini", Path(".gemini")),
)

FAMILY_FOLDERS = tuple(family for family, _ in _FAMILIES)


@dataclass(frozen=True, slots=True)
class Place:
    """An existing directory of agent or command files.

    `plugin` is the id of the plugin that it belongs to. `suffixes` are the ends of the names that
    are read there.
    """

    directory: Path
    source: Source
    plugin: str | None = None
    suffixes: tuple[str, ...] = (MARKDOWN,)


@dataclass(frozen=True, slots=True)
class RepeatedPlace:
    """Another way to a directory that is read already, at `same_as`; often a link."""

    place: Place
    same_as: Path


def family_places(cwd: Path, home: Path | None, folder: Folder = "agents") -> Iterator[Place]:
    """The directories of the families, first wins.

    `cwd` is where the run was started, `home` the home directory, if there is one. Each family has
    its nearest project directory, then its user directory.
    """
    cwd = cwd.absolute()
    for family, below_home in _FAMILIES:
        codex_agents = family == ".codex" and folder == "agents"
        suffixes = (MARKDOWN, CODEX_AGENT) if codex_agents else (MARKDOWN,)
        for above in (cwd, *cwd.parents):
            directory = above / family / folder
            if is_directory(directory):
                yield Place(directory, "project", suffixes=suffixes)
                break
        if home is not None and is_directory(home / below_home / folder):
            yield Place(home / below_home / folder, "user", suffixes=suffixes)


def distinct(places: Iterable[Place]) -> tuple[tuple[Place, ...], tuple[RepeatedPlace, ...]]:
    """Each real directory once, where it comes first, and the other ways to it."""
    first: dict[tuple[int, int], Place] = {}
    repeated = []
    for place in places:
        try:
            status = place.directory.stat()
        except OSError:  # only after a lost race: gone since it was found
            continue
        known = first.setdefault((status.st_dev, status.st_ino), place)
        if known is not place:
            repeated.append(RepeatedPlace(place, known.directory))
    return tuple(first.values()), tuple(repeated)


def is_directory(path: Path) -> bool:
    """Whether it is one that we may look into as far as that; what cannot be seen is not there."""
    with contextlib.suppress(OSError, ValueError):
        return path.is_dir()
    return False
