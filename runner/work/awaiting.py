"""Waiting for subagents in the background, where an attempt has nothing else to do."""

from __future__ import annotations

from collections.abc import Iterable

from runner.work.attempt import Attempt
from runner.work.children import Child
from runner.work.tools.subagent import TASK


async def next_ended(attempt: Attempt) -> str:
    """Wait until one has ended that the model was not told of; their ids, empty if none is there.

    Their results join the next user turn.
    """
    children = attempt.means.children
    if not children.awaited:
        return ""
    with attempt.means.teammate.progress.using(TASK):
        return _ids(await children.one_ended())


async def all_ended(attempt: Attempt) -> str:
    """Wait for all that the model was not told of; their ids, empty if none is there."""
    children = attempt.means.children
    if not (awaited := children.awaited):
        return ""
    with attempt.means.teammate.progress.using(TASK):
        await children.all_ended(awaited)
    return _ids(awaited)


def _ids(children: Iterable[Child]) -> str:
    return ", ".join(child.id for child in children)
