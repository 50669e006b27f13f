"""Which model thinks: patterns and aliases, resolved to something that can be used here."""

from __future__ import annotations

import difflib
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from runner.core.clock import Clock
from runner.core.settings import Settings
from runner.errors import ConfigError, ModelUnavailable
from runner.work.messages import Model
from runner.work.models.catalog import listed_names, provider_of
from runner.work.retry import Gate

if TYPE_CHECKING:
    from runner.work.models.opening import Providers
    from runner.work.models.script import ScriptModel

_LATER_PROVIDERS = frozenset({"acp"})
_PROVIDERS = ("anthropic", "openai", "ollama")
_ALIAS_PREFIX = "pi/"
_SCRIPT = "script/"
_OWN, _DEFAULT, _PARENT = "the agent's list", "the team's default", "the parent's model"
_INHERIT = "inherit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A model with the reason why it was taken, for the journal and for people.

    `substitute`: it is the team's default, because nothing of the agent's own list can be used.
    """

    model: Model
    reason: str
    substitute: bool = False


class Models:
    """The models of one run, opened once and shared by its teammates.

    `base_dir` is the folder of team.yaml, from which script paths count. `given` is a model that
    was handed in from outside: it serves every pattern. `environ` has keys and addresses of
    providers, by default the process's own.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        base_dir: Path,
        given: Model | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = settings
        self._environ = os.environ if environ is None else environ
        self._base_dir = base_dir
        self._given = given
        self._gates: dict[str, Gate] = {}
        self._scripts: dict[Path, tuple[tuple[int, int], ScriptModel]] = {}
        self._providers: Providers | None = None
        self._opening = threading.Lock()

    def choose(self, patterns: Sequence[str] | None, parent: Model | None = None) -> Choice:
        """The first pattern that can be used here, else the team's default.

        `parent` is the model of the session that starts a child: `inherit` means it, and it is
        the last resort of a team without a default.
        Raises: ModelUnavailable, with a line for every pattern that was looked at.
        """
        if self._given is not None:
            return Choice(model=self._given, reason="handed in by the caller")
        refusals: list[str] = []
        wanted = [(pattern, _OWN) for pattern in patterns or ()]
        if self._settings.model:
            wanted.append((self._settings.model, _DEFAULT))
        for pattern, source in wanted:
            for name in self._names(pattern, refusals, parent):
                try:
                    model = self._open(name, parent)
                except (ModelUnavailable, ConfigError) as error:
                    refusals.append(f"{_via(pattern, name)}: {error}")
                else:
                    return Choice(
                        model=model,
                        reason=_reason(pattern, model, source, refusals),
                        substitute=source is _DEFAULT and bool(patterns),
                    )
        if parent is not None:
            reason = _reason(parent.name, parent, _PARENT, refusals)
            return Choice(model=parent, reason=reason, substitute=bool(patterns))
        if not self._settings.model:
            refusals.append("no default model is set")
        raise ModelUnavailable("no usable model: " + "; ".join(dict.fromkeys(refusals)))

    def script_files(self) -> tuple[Path, ...]:
        """The scripts that were opened, and those that the settings name."""
        named = [self._settings.model or "", *chain.from_iterable(self._settings.models.values())]
        paths = [name.removeprefix(_SCRIPT) for name in named if name.startswith(_SCRIPT)]
        return (*self._scripts, *(self._base_dir / path for path in paths))

    def gate(self, model: Model, clock: Clock) -> Gate:
        """The gate of the model's provider, one for all teammates."""
        provider = model.name.partition("/")[0]
        return self._gates.setdefault(provider, Gate(clock))

    async def aclose(self) -> None:
        """Close the clients of providers at the end of the run."""
        if self._providers is not None:
            await self._providers.aclose()

    def _names(self, pattern: str, refusals: list[str], parent: Model | None) -> list[str]:
        """`provider/name` in order of preference, aliases followed.

        Each alias is followed once: a second time could only give the same names again.
        """
        names: list[str] = []
        followed: set[str] = set()
        waiting: list[tuple[str, tuple[str, ...]]] = [(pattern, ())]
        while waiting:
            one, above = waiting.pop()
            meant = self._meant(one, parent)
            if meant is None:
                if parent is not None and one.removeprefix(_ALIAS_PREFIX) == _INHERIT:
                    names.append(parent.name)
                elif "/" in one.removeprefix(_ALIAS_PREFIX):
                    names.append(one)
                else:
                    refusals.append(
                        f"{one}: no such alias under `models:` in team.yaml{self._near(one)}"
                    )
            elif one in above:
                refusals.append(f"{one}: aliases under `models:` lead in a circle")
            elif one not in followed:
                followed.add(one)
                waiting += [(inner, (*above, one)) for inner in reversed(meant)]
        return names

    def _meant(self, pattern: str, parent: Model | None) -> tuple[str, ...] | None:
        """What an alias stands for; None if it is none. `inherit` of a child is its parent's."""
        alias = pattern.removeprefix(_ALIAS_PREFIX)
        models = self._settings.models
        meant = models.get(pattern) or models.get(alias)
        default = self._settings.model
        if meant is None and alias == _INHERIT and parent is None and default:
            return (default,)
        return meant

    def _near(self, word: str) -> str:
        """What may be meant by a word that is no alias: an alias, or a model of the list."""
        alias = word.removeprefix(_ALIAS_PREFIX)
        vendor = provider_of(alias)
        if vendor is not None:
            return f" (did you mean {vendor}/{alias}?)"
        near = _nearest(alias, (*self._settings.models, *listed_names()))
        if near is None:
            return ""
        vendor = None if near in self._settings.models else provider_of(near)
        return f" (did you mean {f'{vendor}/{near}' if vendor else near}?)"

    def _open(self, name: str, parent: Model | None) -> Model:
        if parent is not None and name == parent.name:
            return parent
        provider, _, rest = name.partition("/")
        if provider == "script":
            return self._script(name, self._base_dir / rest)
        if provider in _PROVIDERS:
            return self._real().open(provider, rest)
        if provider in _LATER_PROVIDERS:
            raise ModelUnavailable(f"provider {provider} is not part of this version")
        near = _nearest(provider, ("script", *_PROVIDERS))
        meant = f" (did you mean {near}/{rest}?)" if near else ""
        raise ModelUnavailable(
            f"no provider {provider!r}{meant}; there are script/PATH, "
            + ", ".join(f"{one}/NAME" for one in _PROVIDERS)
        )

    def _real(self) -> Providers:
        with self._opening:  # teammates choose their models in threads
            if self._providers is None:
                from runner.work.models.opening import Providers

                self._providers = Providers(self._settings, self._environ)
            return self._providers

    def _script(self, name: str, path: Path) -> Model:
        from runner.work.models.script import ScriptModel, load_script

        try:
            stat = path.stat()
        except OSError as error:
            raise ModelUnavailable(f"script file {path} is missing") from error
        stamp = (stat.st_mtime_ns, stat.st_size)
        known = self._scripts.get(path)
        if known is None or known[0] != stamp:
            known = (stamp, ScriptModel(name, load_script(path)))
            self._scripts[path] = known
        return known[1]


def _reason(pattern: str, model: Model, source: str, refusals: Sequence[str]) -> str:
    skipped = f"; not usable: {'; '.join(refusals)}" if refusals else ""
    return f"{_via(pattern, model.name)} ({source}){skipped}"


def _nearest(word: str, known: Sequence[str]) -> str | None:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.75)
    return near[0] if near else None


def _via(pattern: str, name: str) -> str:
    return name if pattern == name else f"{pattern} -> {name}"
