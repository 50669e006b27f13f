"""Plugins: directories that registries name, with agents and commands in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runner.agents.places import Folder, Place

Scope = Literal["project", "user"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPlugin:
    """One install of a plugin as a registry names it.

    `path` is its directory, None where the entry names none. `reason` says why it is not `used`.
    """

    id: str
    path: str | None
    scope: Scope
    state: Literal["used", "disabled", "replaced", "skipped"] = "used"
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRegistry:
    """A registry file that is there. `problem` says why nothing in it counts."""

    file: str
    source: Scope
    problem: str | None = None
    plugins: tuple[FoundPlugin, ...] = ()


def plugin_places(
    cwd: Path, home: Path | None, folder: Folder = "agents"
) -> tuple[tuple[Place, ...], tuple[FoundRegistry, ...]]:
    """The `folder` directories of the plugins that count, first wins, and the registries."""
    return (), ()
