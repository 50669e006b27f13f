"""A file that gets line after line, and stays open meanwhile."""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from runner.core.files import append_to
from runner.errors import SaveFailed


class Appender:
    """Appends whole lines to one file; for one call at a time.

    The file is the one that has the path at that moment: what was moved away or deleted meanwhile
    is let go. It is closed with the last reference to this object.
    """

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._inode: tuple[int, int] | None = None
        self._descriptor = -1
        self._closing: weakref.finalize[[int], Appender] | None = None

    def append(self, line: bytes) -> None:
        """Append what ends in a newline, whole or not at all; a torn last line is closed first.

        Raises: FileNotFoundError, if there is no such folder; SaveFailed.
        """
        try:
            append_to(self._opened(), line)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise SaveFailed(self._path, error.strerror or str(error)) from error

    def _opened(self) -> int:
        """Raises: OSError."""
        try:
            now = os.stat(self._path)  # noqa: PTH116 - once for every event of a run
            if (now.st_dev, now.st_ino) == self._inode:
                return self._descriptor
        except FileNotFoundError:
            pass
        # forgotten first: the number of a closed file soon is that of another one
        self._inode = None
        if self._closing is not None:
            self._closing()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(self._path, flags, 0o644)
        self._closing = weakref.finalize(self, os.close, self._descriptor)
        status = os.fstat(self._descriptor)
        self._inode = (status.st_dev, status.st_ino)
        return self._descriptor
