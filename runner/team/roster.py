"""Who is in the team: one file per run, and the merged view of all live runs.

`.team/runs/<run>.json` belongs to its run. `.team/config.json` is for people and other programs:
the members of every live run, written at most once a second.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.to_thread

from runner.core.clock import Clock, to_iso
from runner.core.files import atomic_write, encode_json, locked
from runner.core.ids import LEAD, safe_name
from runner.core.layout import STATE_VERSION, Layout
from runner.core.log import get_logger
from runner.core.settings import MemberSpec
from runner.errors import BoardBusy, ConfigError, SaveFailed
from runner.team.roster_files import RosterFiles, is_dying, is_outdated, load_object, merged, names

Status = Literal["working", "idle", "shutdown"]

_PACE_S = 1.0


@dataclass(slots=True, kw_only=True)
class Member:
    """One line of the roster. `renamed` says why it has not the name that was asked for."""

    name: str
    role: str
    agent: str | None
    renamed: str | None = None
    status: Status = "idle"
    task: int | str | None = None


class Roster:
    """The members of this run, kept on disk while `keep` runs."""

    def __init__(self, layout: Layout, *, run: str, team: str, clock: Clock) -> None:
        self._layout = layout
        self._run = run
        self._team = team
        self._clock = clock
        self._files = RosterFiles(layout, run)
        self._started = clock.now()
        self._changed = anyio.Event()
        self.members: tuple[Member, ...] = ()

    @property
    def path(self) -> Path:
        return self._layout.runs / f"{self._run}.json"

    def enlist(self, specs: Sequence[MemberSpec]) -> tuple[Member, ...]:
        """Give each wanted member a name that no live run has, and write both files.

        The run lock must be held. Synchronous. Raises: UnsafeName, ConfigError, SaveFailed.
        """
        for spec in specs:
            if safe_name("member name", spec.name) == LEAD:
                raise ConfigError("members", "name", LEAD, "another name: this one is reserved")
        with locked(self._lock_file):
            others = [file for file in self._files.live() if not is_dying(file)]
            taken = {name: f"run {file['run']}" for file in others for name in names(file)}
            self.members = _named(specs, taken)
            self._write(ended=False)
        return self.members

    def update(self, member: Member, status: Status, task: int | str | None = None) -> None:
        """Note a change; it reaches the disk in about a second."""
        member.status, member.task = status, task
        self._changed.set()

    async def keep(self) -> None:
        """Write changes until cancelled, at most once a second."""
        while True:
            # first: `enlist` has just written
            await self._clock.sleep(_PACE_S)
            await self._changed.wait()
            self._changed = anyio.Event()
            await anyio.to_thread.run_sync(self.save)

    async def keep_true(self, every_s: float) -> None:
        """Until cancelled: what a run that died has left in `config.json` goes."""
        while True:
            await self._clock.sleep(every_s)
            if await anyio.to_thread.run_sync(is_outdated, self._layout, self._run):
                await anyio.to_thread.run_sync(self.save)

    def save(self, *, ended: bool = False) -> None:
        """Write both files now. Synchronous; a disk that refuses is logged, not fatal."""
        try:
            with locked(self._lock_file, timeout_s=_PACE_S):
                self._write(ended=ended)
        except (SaveFailed, BoardBusy) as error:
            get_logger(__name__).warning("roster_not_saved", error=str(error))

    @property
    def _lock_file(self) -> Path:
        return self._layout.team / "roster.lock"

    def _write(self, *, ended: bool) -> None:
        own = {
            "version": STATE_VERSION,
            "run": self._run,
            "started": to_iso(self._started),
            "ended": to_iso(self._clock.now()) if ended else None,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "team": self._team,
            "workspace": str(self._layout.workspace),
            "members": [
                {
                    "name": member.name,
                    "role": member.role,
                    "agent": member.agent,
                    "status": member.status,
                    "task": member.task,
                }
                for member in self.members
            ],
        }
        atomic_write(self.path, encode_json(own))
        self._files.end_dead(self._clock.now())
        self._write_merged([*self._files.live(), own])

    def _write_merged(self, files: Sequence[dict[str, Any]]) -> None:
        path = self._layout.config
        if path.exists() and not isinstance(load_object(path).get("members"), list):
            return  # somebody else's file of the same name
        view = {
            "version": STATE_VERSION,
            "team_name": self._team,
            "members": merged(files),
        }
        atomic_write(path, encode_json(view))


def _named(specs: Sequence[MemberSpec], taken: Mapping[str, str]) -> tuple[Member, ...]:
    """Each under the wanted name, or one with a number. `taken`: names, with who has them."""
    members, holders = [], dict(taken)
    avoided = {*taken, *(spec.name for spec in specs)}
    for spec in specs:
        name, holder = spec.name, holders.get(spec.name)
        if holder is not None:
            name = _free_name(spec.name, avoided)
            avoided.add(name)
        holders[name] = "another of this team"
        renamed = None if holder is None else f"{spec.name} is taken by {holder}"
        members.append(Member(name=name, role=spec.role, agent=spec.agent, renamed=renamed))
    return tuple(members)


def _free_name(wanted: str, taken: Container[str]) -> str:
    """`wanted` with a number that is free, within the 64 characters of a name."""
    number = 2
    while (name := f"{wanted[: 63 - len(str(number))]}-{number}") in taken:
        number += 1
    return name
