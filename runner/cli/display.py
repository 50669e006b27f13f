"""Showing a run while it goes on: a live view on a terminal, a line per event elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import anyio.to_thread
from rich.console import Console
from rich.live import Live

from runner.board.snapshot import Snapshot
from runner.cli import view
from runner.cli.event_line import event_line, is_for_people
from runner.cli.output import one_line
from runner.core.clock import SystemClock
from runner.team.team import Team
from runner.team.types import Teammate

_LINES_EVERY_S = 0.1
_PICTURE_EVERY_S = 0.25
_SCAN_AT_MOST_EVERY_S = 0.5
_SCAN_AT_LEAST_EVERY_S = 2.0  # other runs and people change the board too
_QUIET = frozenset(
    """
    run.started run.ended teammate.working teammate.idle message.delivered model.chosen
    turn.ended tool.ended history.compacted identity.injected task.reported task.verified
    agent.resolved subagent.ended
    """.split()
)


class Display(ABC):
    """Follows a team's journal from before its start; `keep` shows it until cancelled.

    Listening never waits: events come on threads that may hold the board lock, so they are only
    queued there and printed elsewhere.
    """

    def __init__(self, team: Team) -> None:
        self.team = team
        self.clock = SystemClock()
        self.subjects: dict[Any, str] = {}
        self._last: Snapshot | None = None
        self._queue: deque[dict[str, Any]] = deque()
        self._warned: set[str] = set()
        team.journal.subscribe(self._queue.append)

    @abstractmethod
    async def keep(self) -> None:
        """Show what happens until cancelled."""

    async def end(self) -> None:
        """The run is over: show what is still to be shown."""
        await self.look()

    async def look(self) -> Snapshot:
        """The board now; remembers the subjects.

        One that cannot be looked at any more is shown as it was: the team says what is wrong.
        Raises: OSError, at the first look.
        """
        try:
            snapshot = await self.team.board.scan()
        except OSError:
            if self._last is None:
                raise
            snapshot = self._last
        self._last = snapshot
        for task in snapshot.tasks.values():
            # reports and events have ids as written, teammates the normalised ones
            self.subjects[task.id] = self.subjects[task.key] = task.subject
        return snapshot

    async def new_lines(self) -> list[str]:
        """What happened since the last call, as lines worth a person's time.

        A cancel waits: what is taken from the queue is told.
        """
        events = [self._queue.popleft() for _ in range(len(self._queue))]
        warnings = [line for event in events for line in self._warnings(event)]
        events = [one for one in events if one["event"] not in _QUIET and is_for_people(one)]
        if any(event.get("task") not in {None, *self.subjects} for event in events):
            with anyio.CancelScope(shield=True):
                await self.look()
        return [*warnings, *(event_line(event, self.subjects) for event in events)]

    def _warnings(self, event: dict[str, Any]) -> Iterator[str]:
        """What is wrong with an agent that begins to work, each once in a run."""
        if event["event"] == "agent.resolved":
            for warning in event["warnings"]:
                if warning not in self._warned:
                    self._warned.add(warning)
                    yield f"warning: {one_line(warning)}"


class LineDisplay(Display):
    """A line per event through `write` (standard output, or standard error beside JSON)."""

    def __init__(self, team: Team, write: Callable[[str], None]) -> None:
        super().__init__(team)
        self._write = write

    async def keep(self) -> None:
        while True:
            await self.drain()
            await self.clock.sleep(_LINES_EVERY_S)

    async def end(self) -> None:
        await super().end()
        await self.drain()

    async def drain(self) -> None:
        """Print what is queued, on a thread: a slow reader must not hold up the team."""
        lines = await self.new_lines()
        if lines:
            # the lines are in no queue any more, and a cancel must not come before they are written
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._write, "\n".join(lines))


class LiveDisplay(Display):
    """The live view of rich, redrawn a few times a second below the lines of what happened."""

    def __init__(self, team: Team, console: Console) -> None:
        super().__init__(team)
        self._console = console
        self._started = self.clock.monotonic()
        self._stopping: float | None = None

    async def keep(self) -> None:
        live = Live(console=self._console, auto_refresh=False, transient=True)
        snapshot, seen, changed = await self.look(), self._started, False
        with live:
            while True:
                lines = await self.new_lines()
                self._print(lines)
                changed = changed or bool(lines)
                now = self.clock.monotonic()
                pause = _SCAN_AT_MOST_EVERY_S if changed else _SCAN_AT_LEAST_EVERY_S
                if now - seen >= pause:
                    snapshot, seen, changed = await self.look(), now, False
                picture = self.picture(snapshot, now)
                width, height = self._console.size
                live.update(view.live(picture, width, height), refresh=True)
                await self.clock.sleep(_PICTURE_EVERY_S)

    async def end(self) -> None:
        await super().end()
        self._print(await self.new_lines())

    def _print(self, lines: list[str]) -> None:
        """Into the scrollback, where they stay; each cut at the width, as one line."""
        for line in lines:
            self._console.print(line, no_wrap=True, overflow="ellipsis", crop=True)

    def picture(self, snapshot: Snapshot, now: float) -> view.Picture:
        """What to draw: `now` is the clock's monotonic time."""
        team = self.team
        tasks = [*snapshot.tasks.values(), *snapshot.others]
        return view.Picture(
            team=team.settings.team,
            seconds=now - self._started,
            rows=[self._row(mate, now) for mate in team.teammates],
            counts=view.counts([snapshot.state(task) for task in tasks]),
            ends_in=self._ends_in(now),
        )

    def _ends_in(self, now: float) -> float | None:
        """What is left of the grace period, counted from when the stop was noticed."""
        if not self.team.stopping:
            return None
        self._stopping = now if self._stopping is None else self._stopping
        return max(0.0, self.team.settings.limits.grace_s - (now - self._stopping))

    def _row(self, mate: Teammate, now: float) -> view.Row:
        progress = mate.progress
        task = ""
        if progress.task is not None:
            task = f"{progress.task} {self.subjects.get(progress.task, '')}"
        return view.Row(
            name=mate.name,
            role=mate.role,
            state=progress.status,
            task=task,
            turn=progress.turn,
            tool=progress.tool or ("(writing)" if progress.writing else None),
            seconds=max(0.0, now - progress.since),
        )
