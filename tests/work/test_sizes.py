"""How much of a window a request takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runner.testing import ScriptedModel
from runner.work.histories.sizes import MAX_OUTPUT_TOKENS, SHARE, Room, most_of_a_result, window_of
from runner.work.messages import (
    AssistantTurn,
    ModelRequest,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserTurn,
)

GO = ModelRequest(system="s" * 400, turns=(UserTurn(text="t" * 4_000),))


class Windowed(ScriptedModel):
    window: int | None = 8_000


def test_a_request_takes_about_a_token_for_four_bytes_of_all_that_is_sent() -> None:
    room = Room(Windowed())
    call = ToolCall(id="a", name="read", arguments={"path": "p" * 400})
    result = ToolResult(call_id="a", name="read", text="é" * 400)
    tool = ToolSpec(name="read", description="d" * 400, parameters={"type": "object"})

    bare = room.tokens(GO)
    assert 1_100 <= bare <= 1_150
    assert 100 <= room.tokens(replace(GO, tools=(tool,))) - bare <= 130
    said = (*GO.turns, AssistantTurn(calls=(call,)))
    assert 100 <= room.tokens(replace(GO, turns=said)) - bare <= 130
    answered = (*said, UserTurn(results=(result,)))
    assert room.tokens(replace(GO, turns=answered)) - room.tokens(replace(GO, turns=said)) >= 200


@pytest.mark.parametrize(("counted", "factor"), [(2, 2.0), (1, 1.0), (0, 1.0), (100, 4.0)])
def test_what_a_provider_counts_sets_the_estimate_right_within_reason(
    counted: int, factor: float
) -> None:
    room = Room(Windowed())
    before = room.tokens(GO)

    room.note(GO, before * counted)

    assert room.tokens(GO) == before * factor
    assert room.characters(100) == int(400 / factor)


def test_a_quarter_of_a_small_window_is_for_the_reply_and_a_part_of_the_rest_for_estimates() -> (
    None
):
    room = Room(Windowed())

    assert (room.reply, room.most, room.limit) == (2_000, 6_000, 4_500)


def test_without_a_window_there_is_no_limit_until_a_request_was_too_long() -> None:
    room = Room(ScriptedModel())
    assert (room.reply, room.most, room.limit) == (MAX_OUTPUT_TOKENS, None, None)

    assert not room.refuse(GO)
    assert not room.refuse(replace(GO, system="s" * 4_000))

    assert room.most == room.tokens(GO)
    assert room.limit == int(room.tokens(GO) * SHARE)


def test_a_window_that_was_told_too_large_is_corrected_by_a_refusal() -> None:
    room = Room(Windowed())

    assert not room.refuse(GO)

    assert room.most == room.tokens(GO)


def test_a_refusal_is_forgotten_when_a_request_as_long_was_taken() -> None:
    room = Room(Windowed())
    room.refuse(GO)

    room.note(replace(GO, system="s" * 300), 0)
    assert room.most == room.tokens(GO)
    room.note(GO, 0)
    assert room.most == 6_000


def test_a_refused_request_was_good_if_it_left_more_for_the_reply_than_the_window_allows() -> None:
    unknown, told = Room(ScriptedModel()), Room(Windowed())
    asked = replace(GO, max_output_tokens=unknown.reply)

    assert told.refuse(asked)
    assert told.most == 6_000
    assert not told.refuse(replace(asked, system="s" * 40_000))


def test_one_result_takes_an_eighth_of_a_small_window_at_most() -> None:
    assert most_of_a_result(window_of(Windowed()), 40_000) == 4_000
    assert most_of_a_result(200_000, 40_000) == 40_000
    assert most_of_a_result(window_of(ScriptedModel()), 40_000) == 40_000
