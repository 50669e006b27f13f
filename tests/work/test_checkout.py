"""Who writes in a shared checkout."""

from __future__ import annotations

import anyio

from runner.work.checkout import Checkout


def test_ones_own_writing_disturbs_nobody() -> None:
    checkout = Checkout()
    with checkout.writing("ann"):
        assert checkout.writers("ann") == set()
        assert checkout.writers("bob") == {"ann"}

    assert checkout.writers("bob") == set()
    assert checkout.finished("ann") == {}
    assert checkout.finished("bob") == {"ann": 1}


async def test_quiet_waits_for_the_last_of_the_others() -> None:
    checkout = Checkout()
    order: list[str] = []

    async def wait() -> None:
        await checkout.quiet("ann", at_most_s=10)
        order.append("quiet")

    async with anyio.create_task_group() as tasks:
        with checkout.writing("bob"):
            with checkout.writing("cleo"):
                tasks.start_soon(wait)
                await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
            order.append("bob ends")

    assert order == ["bob ends", "quiet"]


async def test_quiet_gives_up_after_its_time() -> None:
    checkout = Checkout()
    with checkout.writing("bob"):
        await checkout.quiet("ann", at_most_s=0)
