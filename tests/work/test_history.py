"""The rules of a history, for any history."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.work.histories.history import (
    INTERRUPTED,
    NO_OUTPUT,
    BrokenHistory,
    History,
    check,
    mended,
)
from runner.work.histories.turns import turns_as_json, turns_from_json
from runner.work.messages import AssistantTurn, Native, ToolCall, ToolResult, Turn, UserTurn

IDS = st.sampled_from(["", "a", "b", "c", "a_2"])
TEXTS = st.sampled_from(["", "\n ", "words", "\ud83d", "emoji \U0001f600"])
CALLS = st.builds(
    ToolCall,
    id=IDS,
    name=st.sampled_from(["read", ""]),
    arguments=st.sampled_from([None, {}, {"path": "a"}]),
)
RESULTS = st.builds(ToolResult, call_id=IDS, name=st.just("read"), text=TEXTS)
NATIVES = st.none() | st.builds(
    Native,
    form=st.just("anthropic"),
    model=st.just("anthropic/m"),
    blocks=st.lists(st.fixed_dictionaries({"thinking": TEXTS}), max_size=2).map(tuple),
)
TURNS: st.SearchStrategy[Turn] = st.one_of(
    st.builds(UserTurn, results=st.lists(RESULTS, max_size=3).map(tuple), text=TEXTS),
    st.builds(
        AssistantTurn, text=TEXTS, calls=st.lists(CALLS, max_size=3).map(tuple), native=NATIVES
    ),
)
NATIVE = Native(form="anthropic", model="anthropic/m", blocks=({"thinking": "hm", "n": [1]},))


def call(call_id: str) -> ToolCall:
    return ToolCall(id=call_id, name="read", arguments={})


def result(call_id: str, text: str = "ok") -> ToolResult:
    return ToolResult(call_id=call_id, name="read", text=text)


@given(st.lists(TURNS, max_size=12))
def test_any_history_is_legal_after_mending(turns: list[Turn]) -> None:
    history = History(turns)
    history.tell("go on")

    check(history.for_request())


@given(st.lists(TURNS, max_size=12))
def test_any_history_survives_being_written_down_and_read_again(turns: list[Turn]) -> None:
    kept = mended(turns)

    assert mended(turns_from_json(json.loads(json.dumps(turns_as_json(kept))))) == unsent(kept)


def unsent(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Without the text of arguments as a model wrote it, which is never sent again."""
    return tuple(
        replace(turn, calls=tuple(replace(one, raw="") for one in turn.calls))
        if isinstance(turn, AssistantTurn)
        else turn
        for turn in turns
    )


@given(st.lists(TURNS, max_size=12), st.integers(0, 12))
def test_every_cut_of_a_history_mends_to_a_legal_one_and_mending_twice_changes_nothing(
    turns: list[Turn], cut: int
) -> None:
    once = mended(mended(turns)[cut:])

    assert mended(once) == once
    History(once).tell("go on")


@given(st.lists(TURNS, max_size=8))
def test_turn_by_turn_checking_sees_what_a_whole_check_sees(turns: list[Turn]) -> None:
    history = History([UserTurn(text="go")])
    for turn in turns:
        if isinstance(turn, UserTurn):
            history.tell(turn.text)
        else:
            kept = history.hear(turn.text, turn.calls, turn.native)
            history.tell("", [result(one.id) for one in kept.calls])
        history.tell("next")
        check(history.for_request())


def test_a_call_without_a_result_is_answered_as_interrupted_and_may_have_taken_effect() -> None:
    turns = mended([UserTurn(text="go"), AssistantTurn(calls=(call("a"), call("b")))])

    answers = turns[-1]
    assert isinstance(answers, UserTurn)
    assert [one.call_id for one in answers.results] == ["a", "b"]
    assert all(one.is_error and one.text == INTERRUPTED for one in answers.results)


@pytest.mark.parametrize("answered", [0, 1, 2])
def test_a_history_that_was_cut_in_a_turn_is_settled_with_one_result_for_each_call(
    answered: int,
) -> None:
    history = History([UserTurn(text="go")])
    kept = history.hear("", [call("a"), call("b")]).calls
    for one in kept[:answered]:
        history.tell("", [result(one.id)])

    history.settle()

    assert history.for_request() == mended(history.turns)
    answers = history.turns[-1]
    assert isinstance(answers, UserTurn)
    assert [one.text for one in answers.results] == ["ok"] * answered + [INTERRUPTED] * (
        2 - answered
    )


def test_settling_a_history_without_open_calls_changes_nothing() -> None:
    whole: tuple[Turn, ...] = (UserTurn(text="a"), AssistantTurn(text="b"))
    for turns in ((), whole[:1], whole):
        history = History(turns)
        history.settle()
        assert history.turns == turns


def test_a_result_without_its_call_is_dropped_and_results_stand_in_the_order_of_calls() -> None:
    turns = mended(
        [
            UserTurn(text="go"),
            AssistantTurn(calls=(call("a"), call("b"))),
            UserTurn(results=(result("stray"), result("b", "B"), result("a", "A")), text="news"),
        ]
    )

    answers = turns[-1]
    assert isinstance(answers, UserTurn)
    assert [(one.call_id, one.text) for one in answers.results] == [("a", "A"), ("b", "B")]
    assert answers.text == "news"


def test_results_of_separate_messages_become_one_turn_before_any_text() -> None:
    turns = mended(
        [
            UserTurn(text="go"),
            AssistantTurn(calls=(call("a"), call("b"))),
            UserTurn(results=(result("a"),)),
            UserTurn(results=(result("b"),), text="and a message"),
        ]
    )

    assert len(turns) == 3
    answers = turns[-1]
    assert isinstance(answers, UserTurn)
    assert [one.text for one in answers.results] == ["ok", "ok"]


def test_doubled_call_ids_are_renamed_together_with_their_results() -> None:
    history = History([UserTurn(text="go")])
    for _ in range(2):
        (kept,) = history.hear("", [call("same")]).calls
        history.tell("", [result(kept.id)])

    check(history.for_request())


def test_what_an_api_gave_is_kept_word_for_word_also_where_ids_are_renamed() -> None:
    history = History([UserTurn(text="go")])
    for _ in range(2):
        (kept,) = history.hear("", [call("same")], NATIVE).calls
        history.tell("", [result(kept.id)])

    assert [turn.native for turn in history.turns if isinstance(turn, AssistantTurn)] == [
        NATIVE
    ] * 2
    assert mended(history.turns) == history.turns


def test_what_an_api_gave_is_dropped_where_it_no_longer_says_what_the_turn_says() -> None:
    go = UserTurn(text="go")
    said = AssistantTurn(text="a", calls=(call("x"),), native=NATIVE)
    odd = replace(NATIVE, blocks=({"thinking": "\ud83d"},))
    unnamed = replace(said, calls=(ToolCall(id="x", name="", arguments={}),))

    cases: list[list[Turn]] = [[go, said, said], [go, replace(said, native=odd)], [go, unnamed]]
    for turns in cases:
        turn = mended(turns)[1]
        assert isinstance(turn, AssistantTurn)
        assert turn.native is None


def test_an_empty_result_becomes_a_marker_and_a_blank_reply_leaves_no_trace() -> None:
    history = History([UserTurn(text="go")])
    history.hear("\n ", [])
    (kept,) = history.hear("", [call("a")]).calls
    history.tell("", [result(kept.id, "")])

    assert len(history) == 3
    answers = history.turns[-1]
    assert isinstance(answers, UserTurn)
    assert answers.results[0].text == NO_OUTPUT


def test_arguments_of_calls_are_made_valid_on_the_way_in_too() -> None:
    history = History([UserTurn(text="go")])
    odd = {"a \ud83d": ["\ud83d", {"b": ("\ud83d", float("inf"), 1.5)}]}
    asked = ToolCall(id="\ud83d", name="\ud83d", arguments=odd, raw="\ud83d")

    (kept,) = history.hear("", [asked]).calls
    history.tell("", [ToolResult(call_id=kept.id, name=kept.name, text="ok")])

    history.for_request()
    assert kept.arguments == {"a \ufffd": ["\ufffd", {"b": ["\ufffd", "Infinity", 1.5]}]}
    assert (kept.id, kept.name, kept.raw) == ("\ufffd", "\ufffd", "\ufffd")


def test_a_lone_surrogate_is_replaced_on_the_way_in_so_that_everything_encodes() -> None:
    history = History([UserTurn(text="bad \ud83d here")])

    assert history.turns[0].text == "bad � here"
    json.dumps(history.turns[0].text, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("turns", "rule"),
    [
        ([], "end with a user turn"),
        ([UserTurn(text="a"), AssistantTurn(text="b")], "end with a user turn"),
        ([AssistantTurn(text="a"), UserTurn(text="b")], "start with a user turn"),
        ([UserTurn(text="a"), UserTurn(text="b")], "alternate"),
        ([UserTurn(text=" ")], "empty content"),
        ([UserTurn(results=(result("x", " "),))], "empty tool result"),
        ([UserTurn(results=(result("x"),), text="\n")], "blank text"),
        ([UserTurn(text="\ud83d")], "not valid Unicode"),
        ([UserTurn(results=(result("x"),))], "do not answer"),
        (
            [
                UserTurn(text="a"),
                AssistantTurn(calls=(call("x"), call("x"))),
                UserTurn(results=(result("x"), result("x"))),
            ],
            "used before",
        ),
        (
            [
                UserTurn(text="a"),
                AssistantTurn(calls=(ToolCall(id="x", name="read", arguments=None),)),
                UserTurn(results=(result("x"),)),
            ],
            "not an object",
        ),
        (
            [
                UserTurn(text="a"),
                AssistantTurn(calls=(ToolCall(id="x", name="read", arguments={"a": "\ud83d"}),)),
                UserTurn(results=(result("x"),)),
            ],
            "arguments that JSON in UTF-8 cannot hold",
        ),
        (
            [
                UserTurn(text="a"),
                AssistantTurn(text="b", native=replace(NATIVE, blocks=({"a": "\ud83d"},))),
                UserTurn(text="c"),
            ],
            "a native form that JSON in UTF-8 cannot hold",
        ),
    ],
)
def test_a_broken_rule_is_found_and_named(turns: list[Turn], rule: str) -> None:
    with pytest.raises(BrokenHistory, match=rule):
        check(turns)
