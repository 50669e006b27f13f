"""What can be set: `team.yaml` beside `.tasks/`, then `RUNNER_*`, then flags; later wins.

Every value is checked where it comes from, so a wrong one is named with its file, variable or
flag. Of the environment only the names in `VARIABLES` are ours: build systems set many other
`RUNNER_*` variables (`RUNNER_OS`, `RUNNER_TEMP`), and those are ignored, spelling mistakes too.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from runner.core import readers
from runner.core.layout import Layout
from runner.core.members import DEFAULT_MEMBER_NAMES, first_members, read_members
from runner.core.members import MemberSpec as MemberSpec  # part of the settings
from runner.core.model_settings import CatalogEntry as CatalogEntry  # part of the settings
from runner.core.model_settings import ProviderSettings as ProviderSettings  # part of the settings
from runner.core.model_settings import read_catalog, read_providers
from runner.core.readers import Reader, Unfit
from runner.core.strict_json import read_json
from runner.core.strict_yaml import read_yaml
from runner.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds and counts; the keys of `limits:` are these names without `_s`."""

    poll_interval_s: float = 5.0
    idle_timeout_s: float = 60.0
    grace_s: float = 10.0
    max_turns: int = 50
    timeout_s: float = 1800.0
    max_recursion_depth: int = 2
    max_subagents: int = 50
    max_parallel_subagents: int = 4
    verify_timeout_s: float = 600.0
    approval_timeout_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Ceilings of one run; None is no ceiling."""

    usd: float | None = None
    tokens: int | None = None
    time_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that was set, checked. `source` is the team.yaml it came from, if there is one."""

    team: str = "team"
    model: str | None = None
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    providers: Mapping[str, ProviderSettings] = field(default_factory=dict)
    catalog: Mapping[str, CatalogEntry] = field(default_factory=dict)
    members: tuple[MemberSpec, ...] = tuple(MemberSpec(name=name) for name in DEFAULT_MEMBER_NAMES)
    schema: Mapping[str, Any] | None = None
    history: Literal["carry", "fresh"] = "carry"
    disabled_agents: frozenset[str] = frozenset()
    limits: Limits = Limits()
    budget: Budget = Budget()
    isolation: bool = False
    source: str | None = None


VARIABLES: Mapping[str, str] = {
    "RUNNER_TEAM": "team",
    "RUNNER_MODEL": "model",
    "RUNNER_MEMBERS": "members",
    "RUNNER_SCHEMA": "schema",
    "RUNNER_HISTORY": "history",
    "RUNNER_DISABLED_AGENTS": "disabled_agents",
    "RUNNER_ISOLATION": "isolation",
    "RUNNER_POLL_INTERVAL": "limits.poll_interval",
    "RUNNER_IDLE_TIMEOUT": "limits.idle_timeout",
    "RUNNER_GRACE": "limits.grace",
    "RUNNER_MAX_TURNS": "limits.max_turns",
    "RUNNER_TIMEOUT": "limits.timeout",
    "RUNNER_MAX_RECURSION_DEPTH": "limits.max_recursion_depth",
    "RUNNER_MAX_SUBAGENTS": "limits.max_subagents",
    "RUNNER_MAX_PARALLEL_SUBAGENTS": "limits.max_parallel_subagents",
    "RUNNER_VERIFY_TIMEOUT": "limits.verify_timeout",
    "RUNNER_APPROVAL_TIMEOUT": "limits.approval_timeout",
    "RUNNER_MAX_USD": "budget.usd",
    "RUNNER_MAX_TOKENS": "budget.tokens",
    "RUNNER_MAX_TIME": "budget.time",
}
"""The environment variables that are read, and the key of team.yaml that each one sets."""
_FLAGS: Mapping[str, str] = {
    "members": "--members",
    "model": "--model",
    "budget.usd": "--max-usd",
    "budget.tokens": "--max-tokens",
    "budget.time": "--max-time",
}
_SECTIONS = ("limits", "budget")


def load_settings(
    layout: Layout, environ: Mapping[str, str], overrides: Mapping[str, Any]
) -> Settings:
    """Settings of one run: `team.yaml`, then `environ`, then `overrides`; later wins.

    `overrides` has keys as in team.yaml, dotted inside a section (`budget.usd`); None is not set.
    A number of members keeps the first of a listed team and adds workers only beyond its end.
    Raises: ConfigError.
    """
    listed: tuple[MemberSpec, ...] = ()
    values: dict[str, Any] = {}
    for where, shown, key, found in _layers(layout.team_yaml, environ, overrides):
        try:
            value = _READERS[key](found)
        except Unfit as unfit:
            at = f"{shown}{unfit.at}"
            raise ConfigError(where, at, unfit.of(found), unfit.expected) from None
        if key == "members":
            if isinstance(value, int):
                value = first_members(listed, value)
            listed = value
        values[key] = value
    source = str(layout.team_yaml) if layout.team_yaml.is_file() else None
    return _settings(values, source)


def _layers(
    team_yaml: Path, environ: Mapping[str, str], overrides: Mapping[str, Any]
) -> Iterator[tuple[str, str, str, Any]]:
    """(where, key as shown, dotted key, value) of all that was set, weakest first."""
    for key, value in _flatten(team_yaml):
        yield str(team_yaml), key, key, value
    for variable, key in VARIABLES.items():
        text = environ.get(variable, "").strip()
        if text:
            yield "environment", variable, key, _WRITTEN.get(key, readers.written_number)(text)
    for key, value in overrides.items():
        if value is not None:
            yield "command line", _FLAGS.get(key, key), key, value


def _flatten(team_yaml: Path) -> Iterator[tuple[str, Any]]:
    """The set values of the file under dotted keys; a value of null is not set."""
    known = {key.partition(".")[0]: None for key in _READERS}
    for key, value in _checked_keys(team_yaml, "", read_yaml(team_yaml), list(known)):
        if key not in _SECTIONS:
            yield key, value
            continue
        if not isinstance(value, dict):
            raise ConfigError(team_yaml, key, value, "a mapping")
        inner = [name.partition(".")[2] for name in _READERS if name.startswith(f"{key}.")]
        for name, setting in _checked_keys(team_yaml, f"{key}.", value, inner):
            yield f"{key}.{name}", setting


def _checked_keys(
    file: Path, prefix: str, mapping: Mapping[Any, Any], known: list[str]
) -> Iterator[tuple[str, Any]]:
    for key, value in mapping.items():
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            expected = f"one of {', '.join(known)}{meant}"
            raise ConfigError(file, f"{prefix}{key}", "an unknown key", expected)
        if value is not None:
            yield key, value


def _settings(values: Mapping[str, Any], source: str | None) -> Settings:
    plain = {key: value for key, value in values.items() if "." not in key}
    limits = {
        key.partition(".")[2]: value for key, value in values.items() if key.startswith("limits.")
    }
    in_seconds = {f"{key}_s" if key not in _COUNTS else key: limits[key] for key in limits}
    return Settings(
        **plain,
        limits=Limits(**in_seconds),
        budget=Budget(
            usd=values.get("budget.usd"),
            tokens=values.get("budget.tokens"),
            time_s=values.get("budget.time"),
        ),
        source=source,
    )


def _aliases(value: Any) -> Mapping[str, tuple[str, ...]]:
    aliases = {}
    for alias, names in readers.mapping(value).items():
        listed = [names] if isinstance(names, str) else names
        if not isinstance(listed, list) or not listed:
            raise Unfit("a model name or a list of them", at=f".{alias}", found=names)
        if not all(isinstance(name, str) and name for name in listed):
            raise Unfit("a list of model names", at=f".{alias}", found=names)
        aliases[str(alias)] = tuple(listed)
    return aliases


def _schema(value: Any) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise Unfit("a mapping (in a variable: an object as JSON)")


def _json_object(text: str) -> Any:
    """The value, or the text itself for the reader to refuse."""
    try:
        return read_json(text)
    except ValueError:
        return text


def _comma_list(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _names(value: Any) -> frozenset[str]:
    listed = [value] if isinstance(value, str) else value
    if isinstance(listed, list) and all(isinstance(name, str) and name for name in listed):
        return frozenset(listed)
    raise Unfit("a list of names")


def _isolation(value: Any) -> bool:
    if value == "none":
        return False
    raise Unfit("none: own worktrees are not part of this version")


_WRITTEN: Mapping[str, Callable[[str], Any]] = {
    "team": str,
    "model": str,
    "history": str,
    "isolation": str,
    "schema": _json_object,
    "disabled_agents": _comma_list,
}
"""How the text of a variable is read; numbers without being named here."""
_COUNTS = ("max_turns", "max_recursion_depth", "max_subagents", "max_parallel_subagents")
_READERS: Mapping[str, Reader] = {
    "team": readers.one_line,
    "model": readers.text,
    "models": _aliases,
    "providers": read_providers,
    "catalog": read_catalog,
    "members": read_members,
    "schema": _schema,
    "history": readers.one_of("carry", "fresh"),
    "disabled_agents": _names,
    "isolation": _isolation,
    "limits.poll_interval": readers.number(above=0),
    "limits.idle_timeout": readers.number(above=0),
    "limits.grace": readers.number(),
    "limits.max_turns": readers.count(least=1),
    "limits.timeout": readers.number(above=0),
    "limits.max_recursion_depth": readers.count(least=None),
    "limits.max_subagents": readers.count(least=0),
    "limits.max_parallel_subagents": readers.count(least=1),
    "limits.verify_timeout": readers.number(above=0),
    "limits.approval_timeout": readers.number(),
    "budget.usd": readers.number(),
    "budget.tokens": readers.count(least=0),
    "budget.time": readers.number(above=0),
}
