"""The record of an attempt: one JSON line per thing that happened, written as it happens.

`.team/transcripts/task_<key>/<attempt>.jsonl`, message turns in `<teammate>/<run>.jsonl`; those of
subagents beside them: `<attempt>-1.jsonl`, and for one of that subagent `<attempt>-1-1.jsonl`. A
line is `{"version", "kind", "turn", "ts", ...}`. Kinds: `start`, `user`, `assistant`, `call`
(before the tool starts), `result` (when it ended), `compacted` (`turns` are now the whole history,
in the form of `runner.work.histories.turns`), `end`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import aiofiles
import anyio

from runner.board.task import Task
from runner.core.clock import Clock, to_iso
from runner.core.files import encode_line
from runner.core.ids import safe_name
from runner.core.layout import Layout

if TYPE_CHECKING:
    from aiofiles.threadpool.binary import AsyncFileIO

VERSION = 1
_WRITE_DEADLINE_S = 5.0


class Transcript:
    """Appends lines to one file; each is with the system before `write` returns.

    Used as an async context manager, which opens the file (its folder is made) and closes it.
    `size` is how many bytes the file has.
    """

    def __init__(self, path: Path, clock: Clock, redact: Callable[[str], str]) -> None:
        self.path = path
        self.turn = 0
        self.size = 0
        self._clock = clock
        self._redact = redact
        self._stream: AsyncFileIO | None = None

    async def __aenter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with anyio.CancelScope(shield=True):  # a file that is opened has somebody who closes it
            self._stream = await aiofiles.open(self.path, "ab", buffering=0)
            self.size = await self._stream.tell()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stream is not None:
            with anyio.move_on_after(_WRITE_DEADLINE_S, shield=True):
                await self._stream.close()

    async def write(self, kind: str, **facts: Any) -> None:
        """One line. A cancel waits for it: half a line would cost the one behind it too."""
        if self._stream is None:
            raise AssertionError("unreachable: a transcript is open while it is written")
        line = {
            "version": VERSION,
            "kind": kind,
            "turn": self.turn,
            "ts": to_iso(self._clock.now()),
            **facts,
        }
        data = self._redact(encode_line(line).decode()).encode()
        with anyio.move_on_after(_WRITE_DEADLINE_S, shield=True):
            written = await self._stream.write(data)
            self.size += written  # not in one step: calls side by side write too


def task_transcript(layout: Layout, task: Task) -> Path:
    """Where the transcript of this attempt lies. Raises: UnsafeName."""
    folder = "task_" + safe_name("task id", task.key)
    return layout.transcripts / folder / f"{task.attempt}.jsonl"


def message_transcript(layout: Layout, teammate: str, run: str) -> Path:
    """Where a teammate's message turns of this run lie. Raises: UnsafeName."""
    return layout.transcripts / safe_name("teammate", teammate) / f"{safe_name('run', run)}.jsonl"


def subagent_transcript(parent: Path, number: int) -> Path:
    """Where a subagent's lies, beside that of who started it."""
    return parent.with_name(f"{parent.stem}-{number}{parent.suffix}")
