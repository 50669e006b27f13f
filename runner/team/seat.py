"""A place on the roster of one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from runner.team.inbox import Inbox
from runner.team.roster import Member
from runner.team.types import Teammate

Ending = Literal["requested", "idle_timeout", "drained", "stopped", "given_up"]


@dataclass(slots=True, kw_only=True)
class Seat:
    """A place on the roster, and who sits there now. `teammate` is the last one who did.

    `ending` says why nobody sits there any more. `worked` has the ids of the tasks worked on, as
    written, in order. `chats` counts mail answered with mail since the last task or word
    of the lead. `disturbed`: the file of the open task was changed by somebody else.
    """

    member: Member
    inbox: Inbox
    teammate: Teammate
    ending: Ending | None = None
    worked: list[int | str] = field(default_factory=list)
    chats: int = 0
    disturbed: bool = False

    @property
    def live(self) -> bool:
        return self.ending is None

    @property
    def busy(self) -> bool:
        return self.live and (
            self.member.status == "working" or self.teammate.next_task is not None
        )

    @property
    def dismissed(self) -> bool:
        """Nobody may sit here again."""
        return self.ending in ("requested", "given_up")
