"""One task file as it was read: its bytes, its stat, and what they say."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from runner.board.problem import Problem
from runner.board.reading import parse_task
from runner.board.task import Task

FINISHED = ("completed", "deleted")
"""The states in which a task stays, unless a person reopens it."""

_LEAST_READ = 4096
_READ_ONLY = "the file is read-only (no write bits)"


class Signature(NamedTuple):
    """What tells one state of a file from the next without reading it.

    The time is that of the last change of the inode: no program can set it, and it covers the mode.
    """

    ctime_ns: int
    size: int
    inode: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One task file as it was read. `settled` is false for one that may be half-written.

    `digest` is `Content.digest` of what was read; None if nothing could be.
    """

    file: str
    signature: Signature
    task: Task | None
    problems: tuple[Problem, ...]
    settled: bool = True
    digest: int | None = None

    def says(self, content: Content) -> bool:
        """Whether `content` is what was read, so that it need not be understood again."""
        return self.signature == content.signature and self.digest == content.digest


class Content(NamedTuple):
    """The bytes of a file, the signature that they belong to, and whether it has write bits."""

    data: bytes
    signature: Signature
    writable: bool = True

    @property
    def digest(self) -> int:
        """Of the bytes, and whether they may be written; good within one process.

        Beside the signature, because the time in it moves in steps of milliseconds.
        """
        return hash((self.data, self.writable))


def signature_of(status: os.stat_result) -> Signature:
    return Signature(status.st_ctime_ns, status.st_size, status.st_ino)


def read_content(path: Path | str, *, folder: int | None = None) -> Content:
    """Read a regular file, links not followed. `folder`: the open folder that a name lies in.

    Raises: OSError.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        parts = []
        while part := os.read(descriptor, max(status.st_size, _LEAST_READ)):
            parts.append(part)
        return Content(b"".join(parts), signature_of(status), bool(status.st_mode & 0o222))
    finally:
        os.close(descriptor)


def read_entry(file: str, content: Content) -> Entry:
    """What `content` says as the task file of this name."""
    task, problems = parse_task(file, content.data)
    if task is not None and not content.writable:
        task = replace(task, unclaimable=task.unclaimable or _READ_ONLY)
        if task.status not in FINISHED:
            problems += (
                Problem(
                    severity="warning",
                    kind="bad-field",
                    file=file,
                    id=task.id,
                    message=f"{_READ_ONLY}, so the task cannot be worked on",
                ),
            )
    return Entry(file, content.signature, task, problems, digest=content.digest)


def read_now(file: str, folder: int) -> Entry | None:
    """What a file of an open folder says, or why it cannot be read; None if there is none."""
    try:
        return read_entry(file, read_content(file, folder=folder))
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror or str(error)
    try:
        status = os.stat(file, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:  # only after a lost race: gone since it was opened
        return None
    regular = stat.S_ISREG(status.st_mode)
    problem = Problem(
        severity="error",
        kind="invalid-json" if regular else "not-a-file",
        file=file,
        id=None,
        message=f"cannot be read: {reason}" if regular else "a link or a folder: not read",
    )
    return Entry(file, signature_of(status), None, (problem,))
