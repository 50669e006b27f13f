"""Plugins: directories that registries name, with agents and commands in them."""

from __future__ import annotations

import contextlib
from collections.abc import Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from runner.agents.frontmatter import MAX_BYTES
from runner.agents.places import Folder, Place, is_directory
from runner.agents.reading import Reader
from runner.core.strict_json import read_json

Scope = Literal["project", "user"]

_OURS = ".xcsh"
_REGISTRY = Path("plugins/installed_plugins.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPlugin:
    """One install of a plugin as a registry names it.

    `path` is its directory, None where the entry names none. `project` is the only directory for
    which it is installed, None where that is not said. `reason` says why it is not `used`.
    """

    id: str
    path: str | None
    scope: Scope
    project: str | None = None
    state: Literal["used", "disabled", "replaced", "skipped"] = "used"
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRegistry:
    """A registry file that is there. `problem` says why nothing in it counts."""

    file: str
    source: Scope
    problem: str | None = None
    plugins: tuple[FoundPlugin, ...] = ()

    def ids(self, *states: str) -> frozenset[str]:
        """The plugins with an entry in one of these states."""
        return frozenset(plugin.id for plugin in self.plugins if plugin.state in states)


def plugin_places(
    cwd: Path, home: Path | None, folder: Folder = "agents"
) -> tuple[tuple[Place, ...], tuple[FoundRegistry, ...]]:
    """The `folder` directories of the plugins that count, first wins, and the registries.

    Those of project scope come before those of user scope, and what the registry of the project
    names before all others. `cwd` and `home` are absolute.
    """
    registries = [
        replace(found, plugins=tuple(_looked_at(plugin, cwd, folder) for plugin in found.plugins))
        for found in _registries(cwd, home)
    ]
    places = [
        Place(Path(plugin.path, folder), plugin.scope, plugin.id)
        for found in registries
        for plugin in found.plugins
        if plugin.state == "used" and plugin.path is not None
    ]
    return tuple(sorted(places, key=lambda place: place.source != "project")), tuple(registries)


def _registries(cwd: Path, home: Path | None) -> list[FoundRegistry]:
    """Those that there are, each without the entries that another one replaces."""
    file = _project_registry(cwd, home)
    project = _read(file, "project") if file else None
    claude = _read(home / ".claude" / _REGISTRY, "user") if home else None
    ours = _read(home / _OURS / _REGISTRY, "user") if home else None
    if claude and ours:
        claude = _replaced(claude, ours.ids("used", "disabled"), ours.file)
    found = [claude, ours]
    if project:
        # It only adds: an install that is switched off in the project hides nothing of the user.
        ids = project.ids("used")
        found = [project, *(one and _replaced(one, ids, project.file) for one in found)]
    return [one for one in found if one is not None]


def _project_registry(cwd: Path, home: Path | None) -> Path | None:
    """That of the nearest directory with a folder of ours, whether it is there or not.

    The home directory is no project: what lies there is the user's.
    """
    for above in (cwd, *cwd.parents):
        if home is not None and _is_same(above, home):
            return None
        if is_directory(above / _OURS):
            return above / _OURS / _REGISTRY
    return None


def _is_same(one: Path, other: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return one == other or one.samefile(other)
    return False


def _replaced(registry: FoundRegistry, ids: Set[str], by: str) -> FoundRegistry:
    plugins = tuple(
        replace(plugin, state="replaced", reason=f"{by} has its own entry for it")
        if plugin.state == "used" and plugin.id in ids
        else plugin
        for plugin in registry.plugins
    )
    return replace(registry, plugins=plugins)


def _looked_at(plugin: FoundPlugin, cwd: Path, folder: Folder) -> FoundPlugin:
    """The plugin, skipped if it is not for `cwd` or has no such directory."""
    if plugin.state != "used" or plugin.path is None:
        return plugin
    reason = None
    if plugin.project is not None and not _is_within(cwd, plugin.project):
        reason = f"it is installed for another project: {plugin.project}"
    elif not is_directory(Path(plugin.path)):
        reason = "its directory is not there"
    elif not is_directory(Path(plugin.path, folder)):
        reason = f"it has no directory {folder}"
    return replace(plugin, state="skipped", reason=reason) if reason else plugin


def _is_within(cwd: Path, project: str) -> bool:
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        return cwd.resolve().is_relative_to(Path(project).resolve())
    return False


_Content = tuple[str | None, tuple[FoundPlugin, ...]]


def _read(file: Path, source: Scope) -> FoundRegistry | None:
    """The registry in this file, from memory if it has not changed; None if there is none."""
    content = _READER.kept_file(file, source)
    if content is None:
        return None
    problem, plugins = content
    return FoundRegistry(file=str(file), source=source, problem=problem, plugins=plugins)


def _parse(data: bytes, _file: str, source: str) -> _Content:
    if len(data) > MAX_BYTES:
        return f"larger than {MAX_BYTES:,} bytes", ()
    try:
        value = read_json(data)
    except ValueError as error:
        return f"not JSON: {error}", ()
    if not isinstance(value, dict):
        return "not an object", ()
    version, plugins = value.get("version"), value.get("plugins")
    if isinstance(version, bool) or not isinstance(version, int | float):
        return "`version` is not a number", ()
    if not isinstance(plugins, dict):
        return "`plugins` is not an object", ()
    # What the registry of the project names is of the project, whatever it says itself.
    scope: Scope | None = "project" if source == "project" else None
    return None, tuple(
        _plugin(_clean(name), entry, scope)
        for name, entries in plugins.items()
        # a value that is no list is explained like an entry that is no object
        for entry in (entries if isinstance(entries, list) else [entries])
    )


def _plugin(name: str, entry: Any, scope: Scope | None) -> FoundPlugin:
    if not isinstance(entry, dict):
        return FoundPlugin(
            id=name,
            path=None,
            scope=scope or "user",
            state="skipped",
            reason="its value is not a list of objects",
        )
    path, project = _text(entry.get("installPath")), _text(entry.get("projectPath"))
    own_scope: Scope = "project" if entry.get("scope") in ("project", "local") else "user"
    reason = None
    if "@" not in name:
        reason = "its id has no @ with the marketplace behind it"
    elif path is None:
        reason = "its entry has no installPath"
    elif not Path(path).is_absolute():
        reason = "its installPath does not start at the root"
    found = FoundPlugin(
        id=name,
        path=path,
        scope=scope or own_scope,
        project=None if scope else project,
    )
    if reason:
        return replace(found, state="skipped", reason=reason)
    if entry.get("enabled") is False:
        return replace(found, state="disabled", reason="its entry says `enabled: false`")
    return found


def _text(value: Any) -> str | None:
    return _clean(value) if isinstance(value, str) and value else None


def _clean(text: str) -> str:
    """`text` without halves of characters: JSON can hold them, names of files cannot."""
    return text.encode("utf-8", "replace").decode()


def _unreadable(_file: str, reason: str) -> _Content:
    return reason, ()


_READER = Reader(_parse, _unreadable)
