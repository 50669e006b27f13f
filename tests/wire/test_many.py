"""Much at once, over HTTP: many calls of one turn, however their ids came."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.testing import submit
from runner.work.messages import ModelReply, ToolCall

if TYPE_CHECKING:
    from tests.wire.conftest import Line


@pytest.mark.parametrize("ids", ["each its own", "all the same", "none"])
async def test_twenty_calls_of_one_turn_are_answered_in_their_order(line: Line, ids: str) -> None:
    for number in range(20):
        (line.root / f"{number}.txt").write_text(f"text {number};")
    named = {"each its own": "c{}", "all the same": "c", "none": ""}[ids]
    many = tuple(
        ToolCall(id=named.format(number), name="read", arguments={"path": f"{number}.txt"}, raw="")
        for number in range(20)
    )

    report = await line.run(ModelReply(calls=many, stop="tool_calls"), submit("ok"))

    assert report.exit_code == 0
    assert [f"text {at};" in text for at, text in enumerate(line.results())] == [True] * 20
    line.assert_all_valid()
