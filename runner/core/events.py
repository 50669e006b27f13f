"""The journal: one line per thing that happened, one file per run.

A line is `{"ts", "event", "run", "teammate", "task", "attempt", ...}`; the event names are
those of `EVENTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from runner.core.appender import Appender
from runner.core.clock import Clock, to_iso
from runner.core.files import encode_line
from runner.core.json_lines import objects_in
from runner.core.log import get_logger
from runner.errors import SaveFailed

EVENTS = frozenset(
    """
    run.started run.ended
    teammate.spawned teammate.working teammate.idle teammate.shutdown teammate.crashed
    task.claimed task.lost task.released task.stale task.retried task.reported task.verified
    task.verify_failed task.integrated task.completed task.failed task.unclaimable
    task.added task.edited task.deleted
    agent.resolved model.chosen model.waits turn.ended tool.ended
    message.sent message.delivered request.opened request.decided
    history.compacted history.resumed identity.injected budget.reached board.problem subagent.ended
    """.split()
)

_KEPT_LINES = 1000  # while the disk takes none
_ALWAYS = ("ts", "event", "run", "teammate", "task", "attempt")

Listener = Callable[[dict[str, Any]], None]


class Journal:
    """Appends to one `.jsonl` file and tells listeners. One writer per file; any thread.

    What happens before the folder exists is written with the first line after: a run that is
    refused at its start leaves nothing behind. So is what a full disk refused, the newest of it.
    """

    def __init__(self, path: Path, *, run: str | None, clock: Clock) -> None:
        self.path = path
        self._run = run
        self._clock = clock
        self._file = Appender(path)
        self._lock = Lock()
        self._listeners: list[Listener] = []
        self._waiting: list[bytes] = []
        self._refused = False

    def subscribe(self, listener: Listener) -> None:
        """`listener` gets every later line as a dict, on the thread that emits it."""
        self._listeners.append(listener)

    def emit(
        self,
        event: str,
        *,
        teammate: str | None = None,
        task: int | str | None = None,
        attempt: int | None = None,
        **facts: Any,
    ) -> None:
        if event not in EVENTS:
            raise AssertionError(f"unknown event {event!r}")
        line = {
            "ts": to_iso(self._clock.now()),
            "event": event,
            "run": self._run,
            "teammate": teammate,
            "task": task,
            "attempt": attempt,
            **facts,
        }
        with self._lock:
            self._waiting.append(_encoded(line))
            self._write_waiting(event)
            for listener in self._listeners:
                listener(line)

    def _write_waiting(self, event: str) -> None:
        try:
            self._file.append(b"".join(self._waiting))
        except FileNotFoundError:
            return
        except SaveFailed as error:
            # a full disk does not cost the work that the lines tell of
            if not self._refused:
                get_logger(__name__).warning("journal_line_waits", waits=event, error=str(error))
            self._refused = True
            del self._waiting[:-_KEPT_LINES]
            return
        self._refused = False
        self._waiting.clear()


def _encoded(line: dict[str, Any]) -> bytes:
    """The line as bytes; without its facts, if JSON cannot hold them."""
    try:
        return encode_line(line)
    except ValueError as error:
        get_logger(__name__).warning("journal_facts_lost", lost=line["event"], error=str(error))
        return encode_line({key: line[key] for key in _ALWAYS})


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of one journal; a damaged line costs itself only."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    yield from events_in(data)


def events_in(data: bytes) -> Iterator[dict[str, Any]]:
    """The events of whole lines; a line that is none is left out."""
    return (line for line in objects_in(data) if "event" in line)


def merged(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """The lines of several journals in the order of their time stamps."""
    lines = [line for path in paths for line in read_journal(path)]
    lines.sort(key=lambda line: str(line.get("ts", "")))
    return lines
