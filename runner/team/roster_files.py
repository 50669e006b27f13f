"""The roster files of a board: which runs are alive, and an end for those that died."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from runner.board.runs import is_alive
from runner.core.clock import to_iso
from runner.core.files import atomic_write, encode_json
from runner.core.ids import LEAD
from runner.core.layout import Layout
from runner.errors import SaveFailed
from runner.team.guardian_main import lives

RosterFile = dict[str, Any]
"""What `.team/runs/<run>.json` holds; `members` is a list of objects that have a `name`."""

_MERGED_KEYS = ("name", "role", "agent", "status")
_Identity = tuple[int, int]


class RosterFiles:
    """The files of all runs but `own_run`, which is known better and must not be probed.

    A file is read again only when it was written anew; what has ended stays ended.
    """

    def __init__(self, layout: Layout, own_run: str | None = None) -> None:
        self._layout = layout
        self._own_run = own_run
        self._ended: dict[Path, _Identity] = {}

    def live(self) -> list[RosterFile]:
        """Of the runs that are alive, in the order of their start."""
        found = [file for _, file in self._begun() if is_alive(self._layout, file["run"])]
        return sorted(found, key=lambda file: str(file.get("started")))

    def end_dead(self, now: datetime) -> None:
        """Write the end of runs that died before they could. The roster's lock must be held."""
        for path, file in self._begun():
            if is_alive(self._layout, file["run"]):
                continue
            members = [{**one, "status": "shutdown", "task": None} for one in file["members"]]
            ended = {**file, "ended": to_iso(now), "died": True, "members": members}
            # whoever reads it asks the lock anyway
            with contextlib.suppress(SaveFailed):
                atomic_write(path, encode_json(ended))

    def _begun(self) -> Iterator[tuple[Path, RosterFile]]:
        """The files that tell no end, whether their run is alive or not."""
        for path in sorted(self._layout.runs.glob("*.json")):
            if path.stem == self._own_run:
                continue
            identity = _identity(path)
            if identity is None or self._ended.get(path) == identity:
                continue
            file = load_object(path)
            if not _is_roster(file) or file.get("run") != path.stem:
                continue
            if file.get("ended") is None:
                yield path, file
            else:
                self._ended[path] = identity


def live_rosters(layout: Layout) -> list[RosterFile]:
    """The roster files of all live runs, in the order of their start."""
    return RosterFiles(layout).live()


def live_members(layout: Layout) -> tuple[str, ...]:
    """Everybody who can be written to: the lead and the teammates of all live runs."""
    return (LEAD, *(name for file in live_rosters(layout) for name in names(file)))


def known_names(layout: Layout) -> set[str]:
    """Everybody in `config.json`: the teammates of the runs that were last at work here."""
    return {str(one["name"]) for one in _listed(load_object(layout.config)) if "name" in one}


def is_outdated(layout: Layout, own_run: str) -> bool:
    """Whether `config.json` shows somebody at work whose run is dead."""
    runs = {
        str(one.get("run"))
        for one in _listed(load_object(layout.config))
        if one.get("status") != "shutdown"
    }
    return any(not is_alive(layout, run) for run in runs - {own_run})


def is_dying(file: RosterFile) -> bool:
    """Its process is gone, and its guardian holds the lock for a last moment."""
    pid = file.get("pid")
    return file.get("host") == socket.gethostname() and isinstance(pid, int) and not lives(pid)


def names(file: RosterFile) -> list[str]:
    return [member["name"] for member in file["members"]]


def merged(files: Iterable[RosterFile]) -> list[dict[str, Any]]:
    """The members of these runs, as `config.json` shows them."""
    return [
        {**{key: member.get(key) for key in _MERGED_KEYS}, "run": file["run"]}
        for file in files
        for member in file["members"]
    ]


def load_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file; an empty one where there is none."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_roster(file: dict[str, Any]) -> bool:
    members = file.get("members")
    return isinstance(members, list) and all(
        isinstance(one, dict) and isinstance(one.get("name"), str) for one in members
    )


def _listed(file: dict[str, Any]) -> list[dict[str, Any]]:
    """The members that can be understood."""
    members = file.get("members")
    return [one for one in members if isinstance(one, dict)] if isinstance(members, list) else []


def _identity(path: Path) -> _Identity | None:
    """Changes with every replace; None for what is no file, or not any more."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
