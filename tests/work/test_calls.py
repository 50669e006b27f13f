"""The calls of a turn: what is counted, what runs side by side, what is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.testing import call, calls, submit

if TYPE_CHECKING:
    from tests.work.conftest import Stage


async def test_every_call_counts_also_those_that_failed_or_did_not_run(stage: Stage) -> None:
    outcome = await stage.do(
        calls(call("ls"), call("no_such_tool"), call("read", path="missing.txt")),
        call("idle"),
        calls(submit(1), call("ls")),
    )

    assert outcome.usage.tool_calls == 6
