"""Ending what waits in a worker thread when nobody awaits it any more."""

from __future__ import annotations

import contextlib

import anyio
from anyio import from_thread


def scope_cancelled() -> bool:
    """For `locked(cancelled=...)`: ends the wait when the awaiting scope is cancelled.

    It does so by raising as that cancellation does; False while it is not, or without a loop.
    """
    with contextlib.suppress(anyio.NoEventLoopError):
        from_thread.check_cancelled()
    return False
