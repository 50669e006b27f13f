"""A file that was looked at: what it defines, or why it defines nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

D = TypeVar("D")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed(Generic[D]):
    """One file of an agent or a command.

    Either `definition` or `reason` (why there is none) is there. `has_front_matter` is False for
    a file that does not pretend to be an agent. `fallback` tells that the line parser was used.
    `line` is the line of the file that `reason` is about, from 1. `warnings` do not name the file.
    `unknown_keys` are top-level keys that mean nothing to us.
    """

    file: str
    definition: D | None = None
    reason: str | None = None
    line: int | None = None
    has_front_matter: bool = True
    fallback: bool = False
    warnings: tuple[str, ...] = ()
    unknown_keys: tuple[str, ...] = ()
    body: str | None = None


def unreadable(file: str, reason: str) -> Parsed[D]:
    """What stands for a file that cannot be read."""
    return Parsed(file=file, reason=reason)
