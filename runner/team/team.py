"""One run: a team of teammates on one board, from its first claim to its report."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import anyio
import anyio.to_thread

from runner.board.board import Board
from runner.board.outlook import RefusesFor
from runner.board.runs import RunLock
from runner.board.snapshot import Snapshot
from runner.core.clock import Clock, SystemClock
from runner.core.events import Journal
from runner.core.failures import innermost
from runner.core.ids import Key, key_of, random_id, safe_name
from runner.core.layout import Layout
from runner.core.settings import Settings
from runner.errors import ConfigError, UsageError
from runner.team.guardian import GuardedGroups
from runner.team.last_writes import LAST_WRITE_S
from runner.team.refusals import Refusals
from runner.team.report import Report
from runner.team.reporting import report_of
from runner.team.roster import Roster
from runner.team.state import RunState
from runner.team.supervisor import Supervisor, new_seat
from runner.team.types import Teammate, Work
from runner.team.watcher import Watcher

Preflight = Callable[[Snapshot, frozenset[Key] | None], None]
"""Looks at the board, or at these tasks of it, before the first claim; raises to refuse the run."""


@runtime_checkable
class Closing(Protocol):
    """A `Work` that holds something open for the whole run, connections for example."""

    async def aclose(self) -> None:
        """Close it; called once, at the end of the run."""
        ...


class Team:
    """A run that has not begun; `await run()` once.

    `work` does the assignments. `refuses_for` says why a task cannot be done here at all, and
    `preflight` may refuse the whole run. `only` restricts the run to these task ids. `drain` ends
    it as soon as nothing is left for it.
    """

    def __init__(
        self,
        layout: Layout,
        settings: Settings,
        work: Work,
        refuses_for: RefusesFor | None = None,
        *,
        preflight: Preflight | None = None,
        clock: Clock | None = None,
        drain: bool = False,
        only: Iterable[int | str] | None = None,
        run_id: str | None = None,
        take_over: bool = False,
    ) -> None:
        self.layout = layout
        self.settings = settings
        self.run_id = safe_name("run", run_id or random_id("run-"))
        self.clock: Clock = clock or SystemClock()
        # with a clock of its own, only that clock decides when the board is looked at
        self._watches = isinstance(self.clock, SystemClock)
        self.journal = Journal(
            layout.runs / f"{self.run_id}.jsonl", run=self.run_id, clock=self.clock
        )
        self.board = Board(
            layout,
            clock=self.clock,
            journal=self.journal,
            run=self.run_id,
            stopping=lambda: self.stopping,
        )
        self.notes: list[str] = []
        self._work = work
        self._refuses_for = refuses_for
        self._preflight = preflight
        self._only = _keys(only)
        self._drain = drain
        self._take_over = take_over
        self._state: RunState | None = None
        self._agents: dict[Key, str] = {}
        self._signal: int | None = None
        self._limit: str | None = None
        self._cause: str | None = None
        self._stop_asked = anyio.Event()
        self._stop_now = anyio.Event()
        self._ended = anyio.Event()
        self._final: Report | None = None

    @property
    def teammates(self) -> Sequence[Teammate]:
        """Who sits on each seat now, or was the last to; empty before the run has begun."""
        return () if self._state is None else tuple(seat.teammate for seat in self._state.seats)

    @property
    def looks_taken(self) -> int:
        """How often the board was looked at, by all teammates together."""
        return 0 if self._state is None else self._state.looks.taken

    @property
    def stopping(self) -> bool:
        return self._stop_asked.is_set()

    def stop(self, signum: int | None = None) -> None:
        """First: claim nothing more, let turns end, cancel after the grace period. Second: now.

        `signum` is the signal that asked for it, for the exit code.
        """
        if signum is not None and self._signal is None:
            self._signal = signum
        if self._stop_asked.is_set():
            self._stop_now.set()
        self._stop_asked.set()
        if self._state is not None:
            self._state.cause = self._cause
            self._state.end("stopped")

    def limit_reached(self, kind: str, reason: str) -> None:
        """A budget of the run (`budget`, `time`) is used up: stop gracefully, exit 4."""
        if self._limit is not None:
            return
        self._limit = kind
        self._cause = self._cause or reason
        self.notes.append(reason)
        self.journal.emit("budget.reached", kind=kind, reason=reason)
        if not self._stop_asked.is_set():
            self.stop()

    async def run(self) -> Report:
        """Run the team to its end.

        Raises, at the start: what `preflight` raises (nothing was claimed or written), UsageError,
        BoardBusy, SaveFailed. At the end: OSError, when the board cannot be looked at any more.
        An error comes as itself, not in an exception group.
        """
        try:
            return await self._run()
        except ExceptionGroup as errors:
            error = innermost(errors)
        raise error

    async def _run(self) -> Report:
        if self._preflight is not None:
            snapshot = await self.board.scan()
            await anyio.to_thread.run_sync(self._preflight, snapshot, self._only)
        started = self.clock.now()
        try:
            lock = await anyio.to_thread.run_sync(RunLock.start, self.layout, self.run_id)
        except OSError as error:
            reason = f"{error.filename}: {error.strerror}"
            raise UsageError(f"{reason}; a run keeps its state below {self.layout.team}") from error
        processes = GuardedGroups(lock.descriptor, self.run_id)
        roster = Roster(self.layout, run=self.run_id, team=self.settings.team, clock=self.clock)
        try:
            state = await self._open(roster, processes)
            await self._live(state)
            report = await report_of(
                state, started, agents=self._agents, signal=self._signal, limit=self._limit
            )
            self.journal.emit("run.ended", exit=report.exit_code, totals=report.totals)
            self._final = report
            return report
        finally:
            with anyio.CancelScope(shield=True):
                if isinstance(self._work, Closing):
                    with anyio.move_on_after(LAST_WRITE_S):
                        await self._work.aclose()
                await anyio.to_thread.run_sync(_close, roster, processes, lock)
            self._ended.set()

    async def finished(self) -> Report:
        """Wait for the end of `run`, which somebody else awaits; its report."""
        await self._ended.wait()
        if self._final is None:
            raise RuntimeError(f"run {self.run_id} ended with an error and has no report")
        return self._final

    async def _open(self, roster: Roster, processes: GuardedGroups) -> RunState:
        """Names, journal, seats."""
        await anyio.to_thread.run_sync(roster.enlist, self.settings.members)
        self._announce(roster)
        state = RunState(
            layout=self.layout,
            settings=self.settings,
            run=self.run_id,
            work=self._work,
            clock=self.clock,
            journal=self.journal,
            board=self.board,
            processes=processes,
            roster=roster,
            refusals=Refusals(self._refuses_for, self.journal),
            only=self._only,
            drain=self._drain,
            notes=self.notes,
        )
        state.seats = tuple(new_seat(state, member) for member in roster.members)
        self.journal.subscribe(state.on_event)
        self.journal.subscribe(self._remember_agent)
        if self._take_over:
            await self.board.take_over(self._only)
        self._state = state
        if self._stop_asked.is_set():
            state.end("stopped")
        return state

    def _announce(self, roster: Roster) -> None:
        self.journal.emit(
            "run.started",
            team=self.settings.team,
            pid=os.getpid(),
            host=socket.gethostname(),
            drain=self._drain,
            members=[member.name for member in roster.members],
        )
        for member in roster.members:
            if member.renamed is not None:
                self.notes.append(f"{member.renamed}: called {member.name} here")

    async def _live(self, state: RunState) -> None:
        supervisor = Supervisor(state, self.limit_reached)
        async with anyio.create_task_group() as services:
            services.start_soon(state.roster.keep)
            services.start_soon(state.roster.keep_true, self.settings.limits.poll_interval_s)
            if self._watches:
                services.start_soon(self._watcher(state).keep)
            services.start_soon(self._watch_stop, state, supervisor)
            if self.settings.budget.time_s is not None:
                services.start_soon(self._watch_time, self.settings.budget.time_s)
            await supervisor.run()
            services.cancel_scope.cancel()

    def _watcher(self, state: RunState) -> Watcher:
        return Watcher(
            self.layout, clock=self.clock, heard=state.on_files, on_live=state.on_watched
        )

    async def _watch_stop(self, state: RunState, supervisor: Supervisor) -> None:
        """Grace, then cancel and hurry the last writes; a second stop does so at once."""
        await self._stop_asked.wait()
        await state.pulse.wait_until(self._stop_now.is_set, self.settings.limits.grace_s)
        supervisor.cut_all("the run was stopped")

    async def _watch_time(self, seconds: float) -> None:
        await self.clock.sleep(seconds)
        self._cause = f"time limit of {seconds:g} s reached"
        self.limit_reached("time", f"the time limit of {seconds:g} s is used up")

    def _remember_agent(self, line: dict[str, Any]) -> None:
        key = key_of(line.get("task"))
        if line["event"] != "agent.resolved" or line.get("subagent"):
            return
        if key is not None and line.get("agent"):
            self._agents[key] = str(line["agent"])


def _keys(only: Iterable[int | str] | None) -> frozenset[Key] | None:
    """Raises: ConfigError, for something that cannot be an id."""
    if only is None:
        return None
    keys = set()
    for task_id in only:
        key = key_of(task_id)
        if key is None:
            raise ConfigError("--only", "", task_id, "task ids")
        keys.add(key)
    return frozenset(keys)


def _close(roster: Roster, processes: GuardedGroups, lock: RunLock) -> None:
    """The lock goes last: while it is held, tools of this run may still live."""
    processes.close()
    roster.save(ended=True)
    lock.release()
