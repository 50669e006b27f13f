"""The place in an inbox up to which it is read, and whether a file is still the one it is in."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

_HEAD_BYTES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """How far an inbox is read: `offset` bytes of the file that begins with `head`.

    `head` is a digest of the first line, `inode`, `size` and `mtime_ns` are what the file had when
    it was read: a new file may have the same first line, or get the inode of an old one. `ids` are
    those of the messages before `offset`: they tell a rewritten file from new mail. Damaged lines
    before `reported` have been set aside.
    """

    head: str = ""
    inode: int = 0
    size: int = 0
    mtime_ns: int = 0
    offset: int = 0
    ids: frozenset[str] = frozenset()
    reported: int = 0

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Cursor:
        """Raises: KeyError, TypeError, ValueError, for what `to_json` has not written."""
        return cls(
            head=str(value["head"]),
            inode=int(value["inode"]),
            size=int(value["size"]),
            mtime_ns=int(value["mtime_ns"]),
            offset=int(value["offset"]),
            ids=frozenset(str(one) for one in value["ids"]),
            reported=int(value["reported"]),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "head": self.head,
            "inode": self.inode,
            "size": self.size,
            "mtime_ns": self.mtime_ns,
            "offset": self.offset,
            "reported": self.reported,
            "ids": sorted(self.ids),
        }

    def is_in(self, found: Cursor) -> bool:
        """Whether this is a place in the file as it was `found`, which lines were only added to."""
        grown = found.size > self.size
        untouched = (found.size, found.mtime_ns) == (self.size, self.mtime_ns)
        return (self.head, self.inode) == (found.head, found.inode) and (grown or untouched)


NOWHERE = Cursor()


def beginning(stream: BinaryIO) -> Cursor:
    """The place before the first line of this file."""
    status = os.fstat(stream.fileno())
    stream.seek(0)
    first = stream.readline(_HEAD_BYTES).rstrip(b"\r\n")
    return Cursor(
        head=hashlib.sha256(first).hexdigest()[:16],
        inode=status.st_ino,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
    )


def seek_unread(stream: BinaryIO, *known: Cursor) -> Cursor:
    """Where to go on in the file that is there now; `stream` is left at that place."""
    found = beginning(stream)
    same = [one for one in known if one.is_in(found)]
    if same:
        furthest = max(same, key=lambda one: one.offset)
        reported = max(one.reported for one in same)
        start = replace(found, offset=furthest.offset, ids=furthest.ids, reported=reported)
    else:
        # another file under this name: read it all, but nothing a second time
        start = replace(found, ids=frozenset().union(*(one.ids for one in known)))
    stream.seek(start.offset)
    return start
