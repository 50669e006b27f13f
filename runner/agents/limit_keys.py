"""Keys that plainly mean a limit and are none of ours: mistyped ones, and those of other tools.

Such a key is never read in place of ours, since nobody can tell what its author relies on. But an
agent must not run with every tool because of it, so it is told what was probably meant.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

_TOOLS, _DISALLOWED, _SPAWNS = "`tools`", "`disallowedTools`", "`spawns`"
_LISTS = f"{_TOOLS} or {_DISALLOWED}"
_MODE, _PLAN = "`permissionMode`", "`permissionMode: plan`"
_SANDBOX = f"{_PLAN} (in TOML: `sandbox_mode`)"
_ISOLATION = "`isolation`"
_OFF = "`disabled_agents` in team.yaml"

_MEANINGS = {
    _TOOLS: "tools tool allowedtools allowtools",
    _DISALLOWED: "disallowedtools disallowtools deniedtools denytools blockedtools "
    "excludetools excludedtools disabledtools forbiddentools",
    _LISTS: "allow allowed allows deny denied denies disallow disallowed forbid forbidden "
    "permission permissions",
    _SPAWNS: "spawns spawn subagents allowedagents allowedsubagents",
    _MODE: "permissionmode permissionsmode permissionmodes",
    _SANDBOX: "sandboxmode",
    _ISOLATION: "isolation",
}
_NAMES = {name: ours for ours, names in _MEANINGS.items() for name in names.split()}

# Whatever has one of these in it names tools, or says what is allowed. The first that fits counts.
_PARTS = {
    "disallow": _DISALLOWED,
    "spawn": _SPAWNS,
    "subagent": _SPAWNS,
    "sandbox": _SANDBOX,
    "allowed": _LISTS,
    "denied": _LISTS,
    "forbidden": _LISTS,
    "restrict": _LISTS,
    "allowlist": _LISTS,
    "denylist": _LISTS,
    "blocklist": _LISTS,
    "whitelist": _LISTS,
    "blacklist": _LISTS,
    "tool": _TOOLS,
}
# Words of their own that look like one of the above.
_NO_LIMIT = frozenset("toolchain toolchains tooltip mission missions permissive span".split())

# Limits unless they are switched off.
_SWITCHES = {
    **dict.fromkeys("readonly readonlymode onlyread plan planmode planonly".split(), _PLAN),
    **dict.fromkeys("nowrite noedit nowrites noedits writeprotected".split(), _PLAN),
    **dict.fromkeys("isolated isolate worktree useworktree".split(), _ISOLATION),
    **dict.fromkeys("disable disabled".split(), _OFF),
}
_RELEASES = {"enable": _OFF, "enabled": _OFF}  # limits only if they are switched off
_MODES = ("mode", "access", "accessmode", "agentmode", "defaultmode", "approvalmode", "accesslevel")
_NOT = ("false", "no", "off", "none", "0")
_LEAST_LIKENESS = 0.8


def meant_limit(key: str, value: Any = True) -> str | None:
    """What to write in place of `key`, if that plainly limits an agent; None if it does not.

    `key` must be none that we read, and none that is known to mean nothing here.
    """
    word = plain(key)
    is_off = value is not None and plain(str(value)) in _NOT
    if word in _MODES:
        return _PLAN if _SWITCHES.get(plain(str(value))) == _PLAN else None
    if word in _SWITCHES:
        return None if is_off else _SWITCHES[word]
    if word in _RELEASES:
        return _RELEASES[word] if is_off else None
    if word == "agents":  # names, not the settings of agents
        return _SPAWNS if isinstance(value, str | list) else None
    if word in _NO_LIMIT:
        return None
    return _NAMES.get(word) or _with_part(word) or _nearly(word)


def is_limit(word: str) -> bool:
    """Whether a `plain` word is exactly the name of a limit, here or elsewhere."""
    return word in _NAMES


def nested_limits(value: Any) -> Iterator[str]:
    """The keys below a value, at every depth, that are exactly a limit."""
    if isinstance(value, list):
        for item in value:
            yield from nested_limits(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if is_limit(plain(key)):
                yield key
            yield from nested_limits(item)


def plain(text: str) -> str:
    """The letters and digits of `text`, without case, accents, signs and what does not show."""
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return "".join(character for character in decomposed if character.isalnum())


def _with_part(word: str) -> str | None:
    return next((ours for part, ours in _PARTS.items() if part in word), None)


def _nearly(word: str) -> str | None:
    """What a mistyped name means, or one with letters of another alphabet that look like ours."""
    letters = frozenset(word)
    # a cheap look first: a file may have any number of keys
    likely = [name for name, own in _LETTERS.items() if 2 * len(own & letters) >= len(own)]
    if near := difflib.get_close_matches(word, likely, 1, _LEAST_LIKENESS):
        return _NAMES.get(near[0]) or _SWITCHES[near[0]]
    return next((_NAMES[name] for name in _alike(word, _NAMES)), None)


def _alike(word: str, names: Iterable[str]) -> Iterator[str]:
    """Names that `word` shows, if every letter that is not of ours stands for any."""
    if word.isascii() or not any(letter.isascii() for letter in word):
        return
    for name in names:
        if len(name) == len(word) and all(
            mine == letter or not letter.isascii() for mine, letter in zip(name, word, strict=True)
        ):
            yield name


_LETTERS = {name: frozenset(name) for name in (*_NAMES, "readonly", "planmode", "worktree")}
