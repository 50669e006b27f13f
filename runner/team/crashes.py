"""Whether a team that crashes can be expected to do anything but crash."""

from __future__ import annotations

from collections.abc import Collection

from runner.core.failures import in_one_line
from runner.errors import RunnerError

_LEAST = 2


class Crashes:
    """Counts crashes that follow one another with the same words and nothing achieved in between.

    What the disk or the runner itself raises on purpose may pass and is never counted.
    """

    def __init__(self) -> None:
        self._since: tuple[str, int] | None = None
        self._who: list[str] = []

    def note(self, name: str, error: Exception, *, achieved: int) -> None:
        """`name` crashed; `achieved` changes whenever the team gets something done."""
        if isinstance(error, OSError | RunnerError):
            self._since, self._who = None, []
            return
        now = (in_one_line(error), achieved)
        if now != self._since:
            self._since, self._who = now, []
        self._who.append(name)

    def doom(self, names: Collection[str]) -> str | None:
        """What everybody of `names` crashed with, one of them alone at least twice; else None."""
        everybody = set(names) <= set(self._who) and len(self._who) >= _LEAST
        return self._since[0] if everybody and self._since is not None else None
