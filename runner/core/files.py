"""Files that are never half there: atomic replace, exclusive creation, whole lines, one lock.

A save is: temporary dotfile in the same folder, write, flush, fsync, `os.replace`. A reader sees
the old file or the new one. A death in between leaves a dotfile `.<name>.<random>.tmp`, which no
scan takes for a task and `sweep_leftovers` removes later.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from runner.core.ids import random_id
from runner.errors import BoardBusy, SaveFailed

Step = Literal["written", "synced", "replacing", "replaced"]
"""The places of a save where a process may die with different things on disk."""

LOCK_TIMEOUT_S = 10.0
_PROC_LOCKS = Path("/proc/locks")
_LOCK_POLL_S = 0.02
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_TMP_SUFFIX = ".tmp"


_on_step: Callable[[Step, Path], None] | None = None


def watch_steps(watcher: Callable[[Step, Path], None] | None) -> None:
    """Have `watcher` called at each step of each save of this process, with the saved file's path.

    For tests of what a death at that place leaves behind; None ends it.
    """
    global _on_step
    _on_step = watcher


def _at(step: Step, path: Path) -> None:
    if _on_step is not None:
        _on_step(step, path)


_indented = json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=2).encode
_compact = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def encode_json(value: Any) -> bytes:
    """JSON as every file of ours has it: indent 2, readable non-ASCII, final newline, UTF-8.

    Lone surrogates, which UTF-8 cannot hold, become U+FFFD. Raises: ValueError, for a number that
    JSON has no way to write (NaN, Infinity).
    """
    return clean_text(_indented(value)).encode() + b"\n"


def encode_line(value: Any) -> bytes:
    """One JSON object as one line of a `.jsonl` file. Raises: as `encode_json`."""
    return clean_text(_compact(value)).encode() + b"\n"


def clean_text(text: str) -> str:
    """`text` with lone surrogates replaced by U+FFFD, so that it always encodes."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def atomic_write(path: Path, data: bytes, *, guard: Callable[[], None] | None = None) -> None:
    """Replace `path` by `data`, whole or not at all; the file's mode is kept.

    `guard` runs right before the replace and may raise to call it off. Raises: SaveFailed.
    """
    mode: int | None = None
    with contextlib.suppress(FileNotFoundError):
        mode = stat.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116 - see `_write_temporary`
    # root may write anything, so the bits are looked at, not tried
    if mode is not None and not mode & 0o222:
        raise SaveFailed(path, "the file is read-only (no write bits)")
    temporary, in_place = _write_temporary(path, data, mode), False
    try:
        if guard is not None:
            guard()
        _at("replacing", path)
        os.replace(temporary, path)  # noqa: PTH105
        in_place = True
    except OSError as error:
        raise SaveFailed(path, error.strerror or str(error)) from error
    finally:
        if not in_place:
            _discard(temporary)
    _at("replaced", path)


def create_exclusive(path: Path, data: bytes) -> bool:
    """Put a whole new file in place; False if the name is taken. Raises: SaveFailed."""
    temporary = _write_temporary(path, data, None)
    try:
        _at("replacing", path)
        os.link(temporary, path)
        _at("replaced", path)
    except FileExistsError:
        return False
    except OSError as error:
        raise SaveFailed(path, error.strerror or str(error)) from error
    finally:
        _discard(temporary)
    return True


def _write_temporary(path: Path, data: bytes, mode: int | None) -> str:
    """The path of a new file beside `path`, written and synced."""
    # a plain path and the system's own calls: a save is most of what a claim costs
    folder = str(path)[: -len(path.name)]
    # 50 characters: 200 bytes at most, so that the rest of the name fits into 255
    temporary = f"{folder}.{path.name[:50]}.{random_id()}{_TMP_SUFFIX}"
    try:
        descriptor = os.open(temporary, _NEW_FILE, 0o666)
        try:
            if mode is not None:
                os.fchmod(descriptor, mode)
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            _at("written", path)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _at("synced", path)
    except OSError as error:
        _discard(temporary)
        raise SaveFailed(path, error.strerror or str(error)) from error
    return temporary


def _discard(temporary: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)  # noqa: PTH108


def leftovers(folder: Path, *, older_than: float) -> list[Path]:
    """The temporaries of dead saves whose mtime (epoch seconds) is before `older_than`."""
    found = []
    for path in folder.glob(f".*{_TMP_SUFFIX}"):
        with contextlib.suppress(OSError):
            if path.lstat().st_mtime < older_than:
                found.append(path)
    return found


def sweep_leftovers(folder: Path, *, older_than: float) -> list[Path]:
    """Remove the `leftovers`, and give those that are gone."""
    removed = []
    for path in leftovers(folder, older_than=older_than):
        with contextlib.suppress(OSError):
            path.unlink()
            removed.append(path)
    return removed


def append_line(path: Path, line: bytes) -> None:
    """Append one line (ending in a newline), whole or not at all; a torn last line is closed first.

    Whoever else appends to the file must be kept out meanwhile. Raises: SaveFailed.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            append_to(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SaveFailed(path, error.strerror or str(error)) from error


def append_to(descriptor: int, line: bytes) -> None:
    """`append_line`, to a file that is open for reading and appending. Raises: OSError."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        line = b"\n" + line
    _write_whole(descriptor, line, size)


def _write_whole(descriptor: int, data: bytes, size: int) -> None:
    """Write all of `data`, or leave the file at its old `size`. Raises: OSError."""
    rest = memoryview(data)
    try:
        while rest:  # a full disk takes a part, and says so only at the next write
            rest = rest[os.write(descriptor, rest) :]
    except OSError:
        os.ftruncate(descriptor, size)
        raise


class WaitCancelled(BoardBusy):
    """The wait for the lock was called off by the one who waited."""


class LockVanished(BoardBusy):
    """Somebody deleted the lock file while it was held: start again."""


@dataclass(frozen=True, slots=True)
class Held:
    """A lock that is held now."""

    path: Path
    inode: int

    def check(self) -> None:
        """Make sure that the held file is still the one at the path.

        Raises: LockVanished.
        """
        try:
            if os.stat(self.path).st_ino == self.inode:  # noqa: PTH116
                return
        except FileNotFoundError:
            pass
        raise LockVanished(self.path, 0.0, "nobody: the lock file was deleted meanwhile")


@contextlib.contextmanager
def locked(
    path: Path,
    *,
    timeout_s: float = LOCK_TIMEOUT_S,
    cancelled: Callable[[], bool] | None = None,
) -> Iterator[Held]:
    """Hold the lock file `path` inside the block. For use within one synchronous hop only.

    A new lock object every time: a shared one is reentrant and would let two teammates in.
    `cancelled` is asked while waiting; what it raises passes through. Raises: BoardBusy after
    `timeout_s`; WaitCancelled, when `cancelled` says so.
    """
    # here: looking at a board takes no lock, and need not pay 15 ms for the import
    from filelock import FileLock, Timeout

    held: list[int] = []
    lock = FileLock(
        path,
        timeout=timeout_s,
        poll_interval=_LOCK_POLL_S,
        fallback_to_soft=False,
        preserve_lock_file=True,
        on_acquired=lambda descriptor: held.append(os.fstat(descriptor).st_ino),
    )
    try:
        lock.acquire(cancel_check=cancelled)
    except Timeout as error:
        if cancelled is not None and cancelled():
            raise WaitCancelled(path, 0.0, "somebody else; the wait was called off") from error
        raise BoardBusy(path, timeout_s, holder_of(path)) from error
    except OSError as error:
        raise SaveFailed(path, error.strerror or str(error)) from error
    try:
        yield Held(path, held[-1])
    finally:
        lock.release()


def holder_of(path: Path) -> str | None:
    """`process N`, where the system tells who holds a lock; for an error message only."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        inode = str(path.stat().st_ino)
        for line in _PROC_LOCKS.read_text(encoding="ascii").splitlines():
            # 1: FLOCK  ADVISORY  WRITE 2811 fe:00:131 0 EOF
            words = line.split()
            if words[1] == "FLOCK" and words[5].rpartition(":")[2] == inode and int(words[4]) > 0:
                return f"process {words[4]}"
    return None
