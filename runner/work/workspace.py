"""The directory an attempt works in, and the one way from a path a model wrote to a real file."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from runner.core.files import atomic_write
from runner.errors import SaveFailed, ToolError

CLOSED = frozenset({".tasks", ".team", ".git"})
"""Never touched by file tools, at any depth: the board, the run-time state, the repository."""

_LONGEST_PATH = 4096
_LONGEST_NAME = 255


class Workspace:
    """A root that file tools stay in; links are resolved before anything is compared.

    `readable` are further folders that may be read, by absolute path: where long tool output is
    kept. `locked` says why a real path must not be written. The files written are remembered in
    `changed_files`, relative to the root.
    """

    def __init__(
        self,
        root: Path,
        *,
        readable: tuple[Path, ...] = (),
        locked: Callable[[Path], str | None] | None = None,
    ) -> None:
        self.root = root.resolve()
        self._locked = locked
        self._readable = tuple(folder.resolve() for folder in readable)
        self._changed: set[str] = set()

    @property
    def changed_files(self) -> tuple[str, ...]:
        return tuple(sorted(self._changed))

    def resolve(self, text: str, *, for_write: bool = False) -> Path:
        """The real path that `text` means, with no link in it. Raises: ToolError."""
        _check_text(text)
        try:
            path = (self.root / text).resolve()
        except (OSError, RuntimeError) as error:
            raise ToolError(f"{text}: {_reason(error)}") from error
        if not for_write and any(path.is_relative_to(folder) for folder in self._readable):
            return path
        if not path.is_relative_to(self.root):
            raise ToolError(f"{text}: outside the workspace {self.root}; use a path inside it")
        closed = [part for part in path.relative_to(self.root).parts if part.lower() in CLOSED]
        if closed:
            raise ToolError(f"{text}: {closed[0]} is not open to file tools")
        if for_write and self._locked and (reason := self._locked(path)):
            raise ToolError(f"{text}: {reason}")
        return path

    def name(self, path: Path) -> str:
        """How `path` is shown: relative to the root, where it lies inside."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)

    @contextlib.contextmanager
    def opened(self, path: Path) -> Iterator[int]:
        """A descriptor for reading a resolved regular file. Raises: ToolError."""
        # O_NOFOLLOW: the path had no link when it was resolved; O_NONBLOCK: a pipe must not hang us
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(path, flags)
        except OSError as error:
            raise ToolError(f"{self.name(path)}: {_reason(error)}") from error
        try:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(mode):
                raise ToolError(f"{self.name(path)} is a directory; use ls")
            if not stat.S_ISREG(mode):
                raise ToolError(f"{self.name(path)} is not a regular file")
            yield descriptor
        finally:
            os.close(descriptor)

    def write(self, path: Path, data: bytes) -> None:
        """Replace a resolved path whole, parents made, and remember it. Raises: ToolError."""
        name = self.name(path)
        if path.exists() and not path.is_file():
            raise ToolError(f"{name} is not a regular file")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(path, data)
        except OSError as error:
            raise ToolError(f"{name}: {_reason(error)}") from error
        except SaveFailed as error:
            raise ToolError(f"{name} could not be saved: {error.reason}") from error
        self._changed.add(name)


def _check_text(text: str) -> None:
    if not text.strip():
        raise ToolError("the path is empty")
    if "\0" in text:
        raise ToolError("the path holds a NUL character")
    if text == "~" or text.startswith("~/"):
        raise ToolError(f"{text}: ~ is not expanded; use a path inside the workspace")
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError as error:
        raise ToolError("the path holds characters that no file name can hold") from error
    if len(encoded) > _LONGEST_PATH or any(
        len(part) > _LONGEST_NAME for part in encoded.split(b"/")
    ):
        raise ToolError(f"the path is too long ({len(encoded)} bytes)")


def _reason(error: OSError | RuntimeError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:]
    return "the links in it go round in a circle"
