"""Tool calls over the wire: cut off, without arguments, several at once, with odd text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runner.testing import Altered, ScriptedModel, call, calls, make_board, say, submit
from runner.work.messages import ModelReply, ToolCall
from tests.wire.conftest import Line, set_arguments, written_arguments

CUT = '{"path":"a.txt","content":"line 1\\nli'


def write_call(raw: str, *, stop: Any = "tool_calls", text: str = "") -> ModelReply:
    """A call of `write` whose arguments are this text."""
    made = ToolCall(id="c1", name="write", arguments=None, raw=raw)
    return ModelReply(text=text, calls=(made,), stop=stop)


@pytest.mark.parametrize("stop", ["length", "tool_calls"])
async def test_a_call_that_was_cut_off_does_not_run_and_the_model_is_told(
    line: Line, stop: str
) -> None:
    report = await line.run(write_call(CUT, stop=stop), submit("ok"))

    assert report.exit_code == 0
    assert not (line.root / "a.txt").exists()
    assert "cut off" in line.results()[0]
    line.assert_all_valid()


async def test_a_call_that_lacks_an_argument_is_told_which(line: Line) -> None:
    await line.run(write_call('{"path": "a.txt"}'), submit("ok"))

    assert not (line.root / "a.txt").exists()
    assert "content" in line.results()[0]
    assert "cut off" not in line.results()[0]
    line.assert_all_valid()


async def test_three_cut_replies_in_a_row_fail_the_task_with_that_reason(line: Line) -> None:
    report = await line.run(*[write_call(CUT, stop="length")] * 3)

    assert (report.exit_code, line.task()["status"]) == (1, "failed")
    assert "cut off or unreadable 3 times in a row" in line.task()["error"]
    line.assert_all_valid()


async def test_broken_arguments_are_called_broken_and_not_cut_off(line: Line) -> None:
    await line.run(write_call('{"path": a.txt, "content": "x"}'), submit("ok"))

    assert "broken" in line.results()[0]
    assert "cut off" not in line.results()[0]
    line.assert_all_valid()


@pytest.mark.parametrize("arguments", ["", " ", "null", None, ...], ids=repr)
async def test_a_call_without_arguments_runs_and_is_replayed_with_an_empty_object(
    line: Line, arguments: Any
) -> None:
    (line.root / "seen.txt").write_text("x")
    odd = Altered(call("ls"), lambda message: set_arguments(line.form, message, arguments))

    report = await line.run(odd, submit("ok"))

    assert report.exit_code == 0
    assert "seen.txt" in line.results()[0]
    sent = written_arguments(line.form, line.server.asked[-1].body)
    assert sent == [{} if line.form == "anthropic" else "{}"]
    line.assert_all_valid()


async def test_three_calls_of_one_turn_get_their_results_in_order_before_any_other_text(
    line: Line,
) -> None:
    (line.root / "there.txt").write_text("content of it")
    turn = calls(
        call("read", path="there.txt"),
        call("read", path="missing.txt"),
        call("bash", command="sleep 30", timeout=1),
        call("send_message", to="ann", text="never mind"),
    )
    report = await line.run(turn, submit("ok"))

    assert report.exit_code == 0
    results = line.told().results
    assert [result.name for result in results] == ["read", "read", "bash", "send_message"]
    assert "content of it" in results[0].text
    assert "missing.txt" in results[1].text
    assert "1 s" in results[2].text
    line.assert_all_valid()


async def test_a_message_that_arrives_during_calls_stands_behind_their_results(line: Line) -> None:
    make_board(line.root, [{}])
    (line.root / ".team" / "inbox").mkdir(parents=True)
    letter = json.dumps({"id": "m1", "type": "message", "from": "lead", "content": "be quick"})
    command = f"printf '%s\\n' '{letter}' >> .team/inbox/ann.jsonl"
    model = ScriptedModel([calls(call("bash", command=command), call("ls")), submit("ok")])

    report = await line.drain(model)

    assert report.exit_code == 0
    assert len(line.told().results) == 2
    assert "be quick" in line.told().text
    line.assert_all_valid()


async def test_a_tool_that_prints_nothing_gives_a_marker(line: Line) -> None:
    await line.run(call("bash", command="true"), submit("ok"))

    assert line.results()[0].strip() != ""
    line.assert_all_valid()


async def test_text_before_calls_is_kept_in_front_of_them(line: Line) -> None:
    await line.run(calls(say("I look first."), call("ls")), submit("ok"))

    turn = line.requests[-1].turns[-2]
    assert (turn.text, len(getattr(turn, "calls", ()))) == ("I look first.", 1)
    line.assert_all_valid()


async def test_calls_with_the_same_or_no_id_get_ids_of_their_own(line: Line) -> None:
    (line.root / "a.txt").write_text("A")
    same = ToolCall(id="same", name="read", arguments={"path": "a.txt"})
    none = ToolCall(id="", name="read", arguments={"path": "a.txt"})

    report = await line.run(ModelReply(calls=(same, same, none, none)), submit("ok"))

    assert report.exit_code == 0
    assert len({result.call_id for result in line.told().results}) == 4
    line.assert_all_valid()


async def test_an_id_that_other_servers_would_refuse_is_sent_as_one_that_all_take(
    line: Line,
) -> None:
    odd = ToolCall(id="functions.ls:0 " + "x" * 90, name="ls", arguments={})

    report = await line.run(ModelReply(calls=(odd,)), submit("ok"))

    assert report.exit_code == 0
    line.assert_all_valid()


async def test_a_tool_with_an_impossible_name_costs_one_call(line: Line) -> None:
    odd = ToolCall(id="c1", name="mcp.do it!" + "x" * 80, arguments={})

    report = await line.run(ModelReply(calls=(odd,)), submit("ok"))

    assert report.exit_code == 0
    assert "mcp.do it!" in line.results()[0]
    line.assert_all_valid()


async def test_bytes_that_are_no_text_and_half_characters_do_not_spoil_later_requests(
    line: Line,
) -> None:
    odd = ToolCall(
        id="c1", name="write", arguments=None, raw='{"path": "b.txt", "content": "half \\ud83d"}'
    )
    (line.root / "long.txt").write_text("\N{GRINNING FACE}" * 60_000)
    report = await line.run(
        call("bash", command=r"printf 'caf\351'; touch $(printf 'b\351d')"),
        call("ls"),
        ModelReply(calls=(odd,)),
        call("read", path="long.txt"),
        submit({"text": "good"}),
    )

    assert report.exit_code == 0
    assert "caf\N{REPLACEMENT CHARACTER}" in line.results(1)[0]
    assert "half \N{REPLACEMENT CHARACTER}" in (line.root / "b.txt").read_text("utf-8")
    line.assert_all_valid()
    for path in line.root.rglob("*.json*"):
        path.read_bytes().decode("utf-8")
