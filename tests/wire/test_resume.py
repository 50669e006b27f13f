"""Going on from a transcript, over HTTP: what the first attempt left is accepted as it is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from runner.testing import call, calls, make_board, say, submit, think
from runner.work.histories.history import check
from runner.work.messages import AssistantTurn, ModelReply, ModelRequest

if TYPE_CHECKING:
    from tests.wire.conftest import Line

pytestmark = pytest.mark.timeout(90)


class Diligent:
    """Looks three times, writes, hands in: by what stands in its requests. It thinks aloud."""

    name = "test/diligent"

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        known = called(request)
        if known.count("ls") < 3:
            return think(
                f"look {len(known)}", calls(call("ls"), call("ls")) if known else call("ls")
            )
        if "write" not in known:
            return calls(say("now"), call("write", path="a.txt", content="A"))
        return think("that is all", submit("done"))


def called(request: ModelRequest) -> list[str]:
    turns = (turn for turn in request.turns if isinstance(turn, AssistantTurn))
    return [one.name for turn in turns for one in turn.calls]


async def test_after_a_death_at_any_line_what_was_thought_and_called_is_accepted(
    line: Line,
) -> None:
    line.thinks()
    make_board(line.root, [{"id": 1, "agent": "thinker"}])
    assert (await line.drain(Diligent())).exit_code == 0
    transcript = line.root / ".team/transcripts/task_1/1.jsonl"
    lines = transcript.read_bytes().splitlines(keepends=True)
    first_reply = next(at for at, one in enumerate(lines) if b'"kind": "assistant"' in one)

    for written in range(first_reply + 1, len(lines)):
        left_by_a_death(line, lines[:written])
        model = Diligent()
        assert (await line.drain(model)).exit_code == 0

        # a new fake server does not know the thoughts of the one before, which stand open in chat
        refused = [one for one in line.server.refusals if "reasoning_content" not in one]
        assert refused == []
        assert line.task()["attempt"] == 2
        before = called_in(lines[:written])
        for request in model.requests:
            check(request.turns)
            assert called(request)[: len(before)] == before


def left_by_a_death(line: Line, lines: Iterable[bytes]) -> None:
    """The board as it is when the process that made these lines is gone and its task is back."""
    folder = line.root / ".team/transcripts/task_1"
    for path in folder.iterdir():
        path.unlink()
    (folder / "1.jsonl").write_bytes(b"".join(lines))
    died = {"status": "pending", "attempt": 1, "error": "attempt 1: run r0 died"}
    make_board(line.root, [{"id": 1, "agent": "thinker", **died}])


def called_in(lines: Iterable[bytes]) -> list[str]:
    replies = [one for one in map(json.loads, lines) if one["kind"] == "assistant"]
    return [one["name"] for reply in replies for one in reply["calls"]]
