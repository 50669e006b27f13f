"""What tests of teams share: a work, and looks at what it left on disk."""

from __future__ import annotations

import json
import os
from typing import Any

from runner.board.board import Board
from runner.core.events import Journal, read_journal
from runner.core.ids import LEAD
from runner.core.layout import Layout
from runner.team.mailbox import post
from runner.team.outcome import Done, Outcome
from runner.team.requests import ask_to_stop
from runner.team.roster_files import live_members
from runner.team.team import Team
from runner.team.types import Assignment, Teammate
from runner.testing.clock import FakeClock


async def finish(assignment: Assignment, mate: Teammate) -> Outcome:
    """Done at once, with the name of who did it as the result."""
    return Done(result=f"by {mate.name}")


def on_disk(layout: Layout, task_id: int | str) -> dict[str, Any]:
    value = json.loads((layout.tasks / f"task_{task_id}.json").read_bytes())
    assert isinstance(value, dict)
    return value


def events(journal: Journal, name: str) -> list[dict[str, Any]]:
    return [line for line in read_journal(journal.path) if line["event"] == name]


def write(layout: Layout, to: str, text: str) -> None:
    """A message of the lead."""
    post(layout, to=to, sender=LEAD, content=text, members=[to], clock=FakeClock())


def half_write(layout: Layout, task_id: int, clock: FakeClock) -> None:
    """A task file as another program has it written so far, a moment ago."""
    path, now = layout.tasks / f"task_{task_id}.json", clock.now().timestamp()
    path.write_text(f'{{"id": {task_id}, "sta', encoding="utf-8")
    os.utime(path, (now, now))


def impatient(team: Team, layout: Layout, clock: FakeClock) -> None:
    """Give the team a board that waits for its lock for a twentieth of a second only."""
    team.board = Board(
        layout, clock=clock, journal=team.journal, run=team.run_id, lock_timeout_s=0.05
    )


def stop_mate(team: Team, name: str, clock: FakeClock) -> str:
    """Ask a teammate to shut down, as the lead; the id of the request."""
    return ask_to_stop(
        team.layout,
        name,
        sender="lead",
        run=team.run_id,
        members=live_members(team.layout),
        clock=clock,
        journal=team.journal,
    ).id


def spoil(layout: Layout) -> None:
    """A board that cannot be looked at: its folder is a file."""
    layout.tasks.rename(layout.root / "aside")
    layout.tasks.touch()


def mend_board(layout: Layout) -> None:
    """Undo `spoil`."""
    layout.tasks.unlink()
    (layout.root / "aside").rename(layout.tasks)
