"""Files that decide what agents may do: only who may run commands anyway may write them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from runner.agents.places import FAMILY_FOLDERS
from runner.core.layout import Layout

_ONLY_WITH_BASH = (
    "it decides what agents may do, so only an agent that has bash may write it; "
    "reading it is allowed"
)


class Rights:
    """Agent folders of every family, `team.yaml` and `scripts`, in the workspace of `layout`.

    Judged on real paths at the time of asking: what a link there leads to counts as well.
    """

    def __init__(self, layout: Layout, scripts: Iterable[Path] = ()) -> None:
        self._root = layout.workspace.resolve()
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
        places = list(self._files)
        for family in FAMILY_FOLDERS:
            agents = self._root / family / "agents"
            places += [agents.parent, agents]
            with contextlib.suppress(OSError):
                places += agents.iterdir()
        for place in places:
            with contextlib.suppress(OSError, RuntimeError):
                yield place.resolve()
