"""Waiting for subagents in the background, where an attempt has nothing else to do.

Mail and a stop do not wait with it: either ends the wait.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial

import anyio

from runner.work.attempt import Attempt
from runner.work.children import Child
from runner.work.tools.subagent import TASK


async def next_ended(attempt: Attempt) -> str:
    """Wait until one has ended that the model was not told of; what there is, in a sentence.

    It joins the next user turn. Empty if there is none to wait for.
    """
    children = attempt.means.children
    if not children.awaited:
        return ""
    news = await _wait(attempt, children.one_has_ended)
    ended = [child for child in children.awaited if child.outcome is not None]
    return news or f"Subagent {_ids(ended)} ended; what it handed in follows."


async def all_ended(attempt: Attempt) -> str:
    """Wait for all that the model was not told of; what there is, in a sentence.

    It joins the next user turn. Empty if there is none to wait for.
    """
    children = attempt.means.children
    if not (awaited := children.awaited):
        return ""
    news = await _wait(attempt, lambda: children.have_ended(awaited))
    return news or f"What subagent {_ids(awaited)} handed in was not told to you; it follows now."


async def _wait(attempt: Attempt, over: Callable[[], bool]) -> str:
    """Wait until it is `over`; otherwise a sentence on what came in between."""
    means = attempt.means
    with means.teammate.progress.using(TASK):
        async with means.children.lent():
            await _until(attempt, over)
    attempt.ended = means.children.barred
    at_work = _ids(child for child in means.children.awaited if child.outcome is None)
    return "" if over() else f"A message came; it follows. Subagent {at_work} is still at work."


async def _until(attempt: Attempt, over: Callable[[], bool]) -> None:
    teammate, children = attempt.means.teammate, attempt.means.children
    while True:
        seen = teammate.bell.version
        if (mail := await teammate.new_mail()) is not None:
            await attempt.tell_mail(mail)
            return
        if over() or teammate.stopping:
            return
        await _first(children.next_end().wait, partial(teammate.bell.wait, seen, teammate.tick_s))


async def _first(*waits: Callable[[], Awaitable[object]]) -> None:
    """Return when the first of these has."""
    async with anyio.create_task_group() as group:

        async def see(wait: Callable[[], Awaitable[object]]) -> None:
            await wait()
            group.cancel_scope.cancel()

        for wait in waits:
            group.start_soon(see, wait)


def _ids(children: Iterable[Child]) -> str:
    return ", ".join(child.id for child in children)
