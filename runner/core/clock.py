"""Time as something that is handed in, so that tests can move it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the runner may ask of time. `testing.FakeClock` is the other implementation."""

    def now(self) -> datetime:
        """The wall clock, timezone-aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back; only differences mean something."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; a checkpoint for zero, and for a time that is over already."""
        ...


class SystemClock:
    """The real one."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is the one place

    def monotonic(self) -> float:
        return time.monotonic()  # noqa: TID251 - this is the one place

    async def sleep(self, seconds: float) -> None:
        import anyio  # here: commands without an event loop do not pay for it

        await anyio.sleep(max(seconds, 0))


def to_iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds and a `Z`, the form in every file we write."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"


def from_iso(text: str) -> datetime:
    """Parse ISO 8601; a time without a zone is taken as UTC. Raises: ValueError."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
