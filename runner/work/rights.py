"""Files that decide what agents may do: only who may run commands anyway may write them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from runner.agents.places import FAMILY_FOLDERS, Folder
from runner.agents.sources import find_sources
from runner.core.layout import Layout

_ONLY_WITH_BASH = (
    "it decides what agents may do, so only an agent that has bash without limits may write it; "
    "reading it is allowed"
)
_FOLDERS: tuple[Folder, ...] = ("agents", "commands")


class Rights:
    """Agents and commands of every family and plugin, `team.yaml` and `scripts`, in the workspace.

    Judged on real paths at the time of asking: what a link there leads to counts as well. `home`
    is the home directory whose files count, by default this user's.
    """

    def __init__(
        self, layout: Layout, scripts: Iterable[Path] = (), *, home: Path | None = None
    ) -> None:
        self._cwd = layout.agents_from
        self._root = layout.workspace.resolve()
        self._home = home
        self._files = (layout.team_yaml, *scripts)
        self._team_yaml = layout.team_yaml.name

    def locked(self, path: Path) -> str | None:
        """Why an agent without `bash` must not write this real path of the workspace."""
        parts = [part.lower() for part in path.relative_to(self._root).parts]
        if (
            self._team_yaml in parts[-1:]
            or not set(parts).isdisjoint(FAMILY_FOLDERS)
            or any(path.is_relative_to(place) for place in self._linked())
        ):
            return _ONLY_WITH_BASH
        return None

    def _linked(self) -> Iterator[Path]:
        """Real paths of what counts under another name than that of a family."""
        places = [*self._files, *(self._root / family for family in FAMILY_FOLDERS)]
        for folder in _FOLDERS:
            for directory in self._directories(folder):
                places += [directory, *_links(directory)]
        for place in places:
            with contextlib.suppress(OSError, RuntimeError, ValueError):
                yield place.resolve()

    def _directories(self, folder: Folder) -> Iterator[Path]:
        """Also those that are not there yet, and those of plugins that are not used now."""
        yield from (self._root / family / folder for family in FAMILY_FOLDERS)
        sources = find_sources(self._cwd, self._home, folder)
        yield from (place.directory for place in sources.places)
        for registry in sources.registries:
            yield Path(registry.file)
            yield from (Path(plugin.path, folder) for plugin in registry.plugins if plugin.path)


def _links(directory: Path) -> list[Path]:
    """The links in it; its other entries lie where it lies."""
    with contextlib.suppress(OSError, ValueError), os.scandir(directory) as entries:
        return [Path(entry.path) for entry in entries if entry.is_symlink()]
    return []
