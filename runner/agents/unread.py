"""What lies beside the files that are read and looks like one of them: it is told, not read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path, PurePath

from runner.agents.parsed import D, Parsed
from runner.agents.places import Place

_LIKE = (".md", ".markdown", ".mdx", ".toml")
_DEEPEST = 3  # a link may lead to the root of the file system
_MOST_NAMED = 5


def unread(place: Place) -> Iterator[Parsed[D]]:
    """One for each folder with files that would be read in the place itself, and each other file.

    Their reasons say what they are. What cannot be looked into is passed over.
    """
    for entry in sorted(_entries(place.directory), key=lambda entry: entry.name):
        if _is_folder(entry):
            depth = 1 if entry.is_symlink() else _DEEPEST
            if names := sorted(_names_below(entry.path, place.suffixes, depth)):
                yield _told(entry.path, _in_folder(names, place), names)
        elif entry.name.lower().endswith(_LIKE) and not entry.name.endswith(place.suffixes):
            ends = " and ".join(f"*{suffix}" for suffix in place.suffixes)
            name = f"{PurePath(entry.name).stem}{place.suffixes[0]}"
            yield _told(entry.path, f"not read: only {ends} are read here; write it as {name}", [])


def _told(path: str, reason: str, names: list[str]) -> Parsed[D]:
    stems = tuple(PurePath(name).stem for name in names)
    return Parsed(file=path, reason=reason, has_front_matter=False, names=stems)


def _in_folder(names: list[str], place: Place) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        shown += f" and {len(names) - _MOST_NAMED} more"
    return (
        f"not looked into: only files directly in {place.directory.name} are read; in it: {shown}"
    )


def _names_below(directory: str, suffixes: tuple[str, ...], depth: int) -> Iterator[str]:
    for entry in _entries(directory):
        if not _is_folder(entry):
            if entry.name.endswith(suffixes):
                yield entry.name
        elif depth > 1 and not entry.is_symlink():
            yield from _names_below(entry.path, suffixes, depth - 1)


def _entries(directory: Path | str) -> list[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        return list(entries)
    return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    with contextlib.suppress(OSError):
        return entry.is_dir()
    return False
