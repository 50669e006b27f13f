"""Where agent files lie, in order of precedence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.agents.definition import Source

# Each family with its user directory below the home directory.
_FAMILIES = (
    (".xcsh", Path(".xcsh/agent/agents")),
    (".claude", Path(".claude/agents")),
    (".codex", Path(".codex/agents")),
    (".gemini", Path(".gemini/agents")),
)

FAMILY_FOLDERS = tuple(family for family, _ in _FAMILIES)


@dataclass(frozen=True, slots=True)
class Place:
    """An existing directory of agent files."""

    directory: Path
    source: Source


def agent_places(cwd: Path, home: Path | None) -> tuple[Place, ...]:
    """The directories to read, first wins; each real directory once.

    `cwd` is where the run was started, `home` the home directory, if there is one. Roots of
    plugins belong after the families; bundled agents come after all places.
    """
    return tuple(_distinct(_family_places(cwd.absolute(), home)))


def _family_places(cwd: Path, home: Path | None) -> Iterator[Place]:
    for family, below_home in _FAMILIES:
        for folder in (cwd, *cwd.parents):
            directory = folder / family / "agents"
            if _is_directory(directory):
                yield Place(directory, "project")
                break
        if home is not None and _is_directory(home / below_home):
            yield Place(home / below_home, "user")


def _distinct(places: Iterable[Place]) -> Iterator[Place]:
    seen = set()
    for place in places:
        real = place.directory.resolve()
        if real not in seen:
            seen.add(real)
            yield place


def _is_directory(path: Path) -> bool:
    """Whether it is one that we may look into as far as that; what cannot be seen is not there."""
    with contextlib.suppress(OSError):
        return path.is_dir()
    return False
