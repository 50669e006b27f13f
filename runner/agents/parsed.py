"""A file that was looked at: what it defines, or why it defines nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Generic, TypeVar

D = TypeVar("D")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed(Generic[D]):
    """One file of an agent or a command.

    Either `definition` or `reason` (why there is none) is there. `has_front_matter` is False for
    a file that does not pretend to be an agent. `fallback` tells that the line parser was used.
    `line` is the line of the file that `reason` is about, from 1. `warnings` do not name the file.
    `unknown_keys` are top-level keys that mean nothing to us, `foreign_keys` those of other tools
    that are known to mean nothing here. `names` are those that a file without definition seems to
    have been written for, beside the one that it has itself.
    """

    file: str
    definition: D | None = None
    reason: str | None = None
    line: int | None = None
    has_front_matter: bool = True
    fallback: bool = False
    warnings: tuple[str, ...] = ()
    unknown_keys: tuple[str, ...] = ()
    foreign_keys: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    body: str | None = None

    def is_meant_as(self, name: str) -> bool:
        """Whether a file that defines nothing was probably to define this name."""
        return self.definition is None and name in (*self.names, PurePath(self.file).stem)


def unreadable(file: str, reason: str) -> Parsed[D]:
    """What stands for a file that cannot be read."""
    return Parsed(file=file, reason=reason)
