"""Who is in the team: one file per run, and the merged view of all live runs.

`.team/runs/<run>.json` belongs to its run. `.team/config.json` is for people and other programs:
the members of every live run, written at most once a second.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.to_thread

from runner.board.runs import is_alive
from runner.core.clock import Clock, to_iso
from runner.core.files import atomic_write, encode_json, locked
from runner.core.ids import LEAD, safe_name
from runner.core.layout import STATE_VERSION, Layout
from runner.core.log import get_logger
from runner.core.settings import MemberSpec
from runner.errors import BoardBusy, ConfigError, SaveFailed
from runner.team.guardian_main import lives

Status = Literal["working", "idle", "shutdown"]

_PACE_S = 1.0


@dataclass(slots=True, kw_only=True)
class Member:
    """One line of the roster. `wanted` is the name asked for, before another run was heeded."""

    name: str
    wanted: str
    role: str
    agent: str | None
    status: Status = "idle"
    task: int | str | None = None


class Roster:
    """The members of this run, kept on disk while `keep` runs."""

    def __init__(self, layout: Layout, *, run: str, team: str, clock: Clock) -> None:
        self._layout = layout
        self._run = run
        self._team = team
        self._clock = clock
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
            others = [file for file in _live(self._layout, self._run) if not _is_dying(file)]
            taken = {name for file in others for name in _names(file)}
            members = []
            for spec in specs:
                name = _free_name(spec.name, taken)
                taken.add(name)
                members.append(
                    Member(name=name, wanted=spec.name, role=spec.role, agent=spec.agent)
                )
            self.members = tuple(members)
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
        self._write_merged([*_live(self._layout, self._run), own])

    def _write_merged(self, files: Iterable[dict[str, Any]]) -> None:
        path = self._layout.config
        if path.exists() and not isinstance(_load(path).get("members"), list):
            return  # somebody else's file of the same name
        merged = {
            "version": STATE_VERSION,
            "team_name": self._team,
            "members": [
                {**{key: member.get(key) for key in _MERGED_KEYS}, "run": file["run"]}
                for file in files
                for member in file["members"]
            ],
        }
        atomic_write(path, encode_json(merged))


_MERGED_KEYS = ("name", "role", "agent", "status")


def live_rosters(layout: Layout) -> list[dict[str, Any]]:
    """The roster files of all live runs, in the order of their start."""
    return _live(layout, None)


def live_members(layout: Layout) -> tuple[str, ...]:
    """Everybody who can be written to: the lead and the teammates of all live runs."""
    return (LEAD, *(name for file in live_rosters(layout) for name in _names(file)))


def known_names(layout: Layout) -> set[str]:
    """Everybody in `config.json`: the teammates of the runs that were last at work here."""
    members = _load(layout.config).get("members")
    listed = members if isinstance(members, list) else []
    return {str(one["name"]) for one in listed if isinstance(one, dict) and "name" in one}


def _live(layout: Layout, own_run: str | None) -> list[dict[str, Any]]:
    """Without the own run, which is known better and must not be probed."""
    found = []
    for path in layout.runs.glob("*.json"):
        file = _load(path)
        if not isinstance(file.get("members"), list) or file.get("run") != path.stem:
            continue
        if path.stem == own_run or file.get("ended") is not None:
            continue
        if is_alive(layout, path.stem):
            found.append(file)
    return sorted(found, key=lambda file: str(file.get("started")))


def _is_dying(file: dict[str, Any]) -> bool:
    """Its process is gone, and its guardian holds the lock for a last moment."""
    pid = file.get("pid")
    return file.get("host") == socket.gethostname() and isinstance(pid, int) and not lives(pid)


def _names(file: dict[str, Any]) -> list[str]:
    return [str(member["name"]) for member in file["members"]]


def _load(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _free_name(wanted: str, taken: set[str]) -> str:
    """`wanted`, or `wanted-2` and so on, within the 64 characters of a name."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        suffix = f"-{number}"
        name = wanted[: 64 - len(suffix)] + suffix
    return name
