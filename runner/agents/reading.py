"""Reading the files of a directory, from memory where they are as they were.

What was read is kept per directory, keyed on each file's mtime, size, inode and ctime (a changed
mode, or a copy that keeps the old mtime, is a change too). So a change is seen at the next call.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from runner.agents.definition import Source
from runner.agents.frontmatter import MAX_BYTES
from runner.agents.places import Place
from runner.core.clock import SystemClock

T = TypeVar("T")

# Two writes within one tick of the file system's clock leave the same times, so what was read
# this soon (seconds) after the file's change is read again at the next call.
_SETTLES_AFTER_S = 0.05
_KEPT_DIRECTORIES = 1_000

_Stamp = tuple[int, int, int, int]
_NOTHING: _Stamp = (0, 0, 0, 0)


class NotRegular(Exception):
    """A directory, pipe or device where a file is expected."""


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    stamp: _Stamp
    settled: bool
    value: T


class Reader(Generic[T]):
    """Files of one kind: `parse(data, path, source)` is what they hold.

    `unreadable(path, reason)` stands for one that cannot be read. Neither may raise, and values
    must not be changed by whoever gets them: they are handed out again. For threads at once.
    """

    def __init__(
        self,
        parse: Callable[[bytes, str, Source], T],
        unreadable: Callable[[str, str], T],
    ) -> None:
        self._parse, self._unreadable = parse, unreadable
        # Entries are never changed after they are put in, so threads need no lock: the last one
        # to put its own in wins.
        self._kept: dict[tuple[str, Source], dict[str, _Kept[T]]] = {}

    def directory(self, place: Place) -> tuple[T, ...]:
        """The files and links to files of a place, in the order of their whole names."""
        try:
            found = sorted(_files(place))
        except FileNotFoundError:  # gone since it was found
            return ()
        except OSError as error:
            reason = f"the directory cannot be read: {error.strerror}"
            return (self._unreadable(str(place.directory), reason),)
        return self._values((str(place.directory), place.source), found)

    def kept_file(self, path: Path, source: Source) -> T | None:
        """One file; None if there is none."""
        try:
            stamp = _stamp(path.stat())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError):
            stamp = _NOTHING
        (value,) = self._values((str(path), source), [(path.name, str(path), stamp)])
        return value

    def file(self, path: Path, source: Source) -> T:
        """One file, read now."""
        try:
            data = _read_bytes(path)
        except NotRegular:
            return self._unreadable(str(path), "not a regular file")
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            return self._unreadable(str(path), f"cannot be read: {why}")
        return self._parse(data, str(path), source)

    def _values(
        self, key: tuple[str, Source], found: list[tuple[str, str, _Stamp]]
    ) -> tuple[T, ...]:
        before = self._kept.get(key, {})
        after: dict[str, _Kept[T]] = {}
        for name, path, stamp in found:
            known = before.get(name)
            if known is None or not known.settled or known.stamp != stamp:
                known = self._read(Path(path), key[1], stamp)
            after[name] = known
        if len(self._kept) >= _KEPT_DIRECTORIES:
            self._kept.clear()
        self._kept[key] = after
        return tuple(kept.value for kept in after.values())

    def _read(self, path: Path, source: Source, stamp: _Stamp) -> _Kept[T]:
        age_s = SystemClock().now().timestamp() - stamp[-1] / 1e9
        settled = stamp != _NOTHING and age_s > _SETTLES_AFTER_S
        return _Kept(stamp, settled, self.file(path, source))


def _read_bytes(path: Path) -> bytes:
    """At most one more than a file may have. Raises: NotRegular, OSError, ValueError."""
    # looked at first: opening a pipe would wait for its writer
    if not stat.S_ISREG(path.stat().st_mode):
        raise NotRegular
    with path.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _stamp(status: os.stat_result) -> _Stamp:
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns


def _files(place: Place) -> Iterator[tuple[str, str, _Stamp]]:
    """(name, path, stamp); a link to nothing has an empty stamp. Raises: OSError."""
    with os.scandir(place.directory) as entries:
        for entry in entries:
            if not entry.name.endswith(place.suffixes):
                continue
            try:
                status = entry.stat()
            except OSError:
                yield entry.name, entry.path, _NOTHING
                continue
            if stat.S_ISREG(status.st_mode):
                yield entry.name, entry.path, _stamp(status)
