"""All places where agents or commands come from, for one working directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.agents.places import Folder, Place, RepeatedPlace, distinct, family_places
from runner.agents.plugins import FoundRegistry, plugin_places


@dataclass(frozen=True, slots=True)
class Sources:
    """`places` in order of precedence, each real directory once; bundled files come after them.

    `repeated` are the other ways to a directory among them, `registries` the plugin registries.
    """

    places: tuple[Place, ...]
    repeated: tuple[RepeatedPlace, ...]
    registries: tuple[FoundRegistry, ...]


def find_sources(
    cwd: Path | str, home: Path | str | None = None, folder: Folder = "agents"
) -> Sources:
    """Where files of this kind lie; `home` is by default this user's."""
    at = _without_parents(Path(cwd).absolute())
    user = _home() if home is None else Path(home).absolute()
    plugins, registries = plugin_places(at, user, folder)
    places, repeated = distinct([*family_places(at, user, folder), *plugins])
    return Sources(places, repeated, registries)


def _without_parents(path: Path) -> Path:
    """An absolute path that can be walked up; `a/b/..` would lead through `a/b`."""
    return path.resolve() if ".." in path.parts else path


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # neither HOME nor an entry for this user
        return None
