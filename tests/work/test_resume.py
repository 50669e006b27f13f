"""An attempt that was cut short is taken up again: nothing is repeated, nothing is lost."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from runner.board.task import Task
from runner.core.settings import Limits, MemberSpec, Settings
from runner.errors import ModelUnavailable
from runner.team.inbox import Inbox
from runner.team.outcome import Done, Failed, HandedBack, LimitReached, Outcome
from runner.testing import (
    FakeClock,
    ScriptedModel,
    call,
    calls,
    give_up,
    make_board,
    running_team,
    say,
    submit,
)
from runner.work.histories.history import INTERRUPTED, History, check
from runner.work.histories.turns import turns_as_json
from runner.work.messages import AssistantTurn, ModelReply, ModelRequest, Native, UserTurn
from runner.work.records.record import NOT_BEGUN, turns_in
from tests.team.helpers import write
from tests.work.conftest import Post, make_teammate, told

if TYPE_CHECKING:
    from tests.work.conftest import Stage


def folder(stage: Stage, task_id: int = 1) -> Path:
    return stage.layout.transcripts / f"task_{task_id}"


async def again(stage: Stage, task: Task, **claimed: Any) -> Task:
    """The task goes back, as after a death or a stop, and is claimed for the next attempt."""
    await stage.mate.board.release(task.fence, reason="cut short")
    stage.mate.memory.clear()
    claimant = replace(stage.mate.claimant, **claimed)
    return await stage.mate.board.claim(task.id, claimant)


async def died(stage: Stage, *steps: Any, **fields: Any) -> Task:
    """Claim and work until the steps are used up; then the process is gone."""
    task = await stage.claim(**fields)
    await stage.work(task, *steps, ModelUnavailable("gone"))
    forget_the_end(folder(stage) / "1.jsonl")
    return task


def forget_the_end(transcript: Path) -> None:
    lines = transcript.read_text(encoding="utf-8").splitlines(keepends=True)
    assert '"kind": "end"' in lines[-1]
    transcript.write_text("".join(lines[:-1]), encoding="utf-8")


async def test_the_next_attempt_goes_on_behind_the_last_turn(stage: Stage) -> None:
    task = await died(stage, say("thinking"), call("write", path="a.txt", content="A"))

    outcome = await stage.work(await again(stage, task), submit("done"))

    assert isinstance(outcome, Done)
    (request,) = stage.scripted.requests
    assert [turn.text for turn in request.turns[1:4:2]] == ["I am ann. Continuing.", "thinking"]
    assert isinstance(wrote := request.turns[-2], AssistantTurn)
    assert wrote.calls[0].arguments == {"path": "a.txt", "content": "A"}
    last = told(stage.scripted)
    assert "Task #1" in last
    assert "This is attempt 2. Attempt 1 did not come to its end" in last
    assert (
        "You go on with it: what was done is above, and the task is told here as the board" in last
    )
    assert (request.asker.turn, request.asker.earlier) == (2, ((1, 2),))


async def test_the_journal_tells_what_an_attempt_goes_on_from(stage: Stage) -> None:
    task = await died(stage, say("thinking"))

    await stage.work(await again(stage, task), submit(1))

    (event,) = stage.events("history.resumed")
    facts = {key: event[key] for key in ("task", "attempt", "from_attempt", "messages", "turns")}
    assert facts == {"task": 1, "attempt": 2, "from_attempt": 1, "messages": 5, "turns": 1}


async def test_turns_count_on_and_usage_counts_its_own(stage: Stage) -> None:
    stage.settings = replace(stage.settings, limits=Limits(max_turns=3))
    task = await died(stage, say("one"), say("two"))

    outcome = await stage.work(await again(stage, task), say("three"))

    assert isinstance(outcome, LimitReached)
    assert outcome.limit == "max_turns"
    assert outcome.usage.turns == 1
    assert [line["turn"] for line in stage.transcript(attempt=2)] == [0, 2, 2, 2, 3, 3]


class Diligent:
    """Writes four files, one a turn and the last two side by side, each until it knows of it."""

    name = "test/diligent"

    async def reply(self, request: ModelRequest) -> ModelReply:
        told = [turn for turn in request.turns if isinstance(turn, UserTurn)]
        results = {result.call_id: result.text for turn in told for result in turn.results}
        asked = [turn for turn in request.turns if isinstance(turn, AssistantTurn)]
        known = {
            (one.arguments or {})["path"]
            for turn in asked
            for one in turn.calls
            if results.get(one.id) != NOT_BEGUN
        }
        wanted = [path for path in ("1", "2", "3", "4") if path not in known]
        if not wanted:
            return submit("done")
        steps = [call("write", path=path, content=path) for path in wanted]
        made = calls(*steps) if wanted == ["3", "4"] else steps[0]
        renamed = [replace(one, id=f"{request.asker.turn}-{one.id}") for one in made.calls]
        return replace(made, calls=tuple(renamed))


async def test_after_a_death_at_any_line_no_call_with_a_result_is_made_again(stage: Stage) -> None:
    task = await stage.claim()
    whole = await stage.agent_work(Diligent())(task, stage.mate)
    assert isinstance(whole, Done)
    lines = (folder(stage) / "1.jsonl").read_bytes().splitlines(keepends=True)

    for written in range(1, len(lines) + 1):
        task = await again(stage, task)
        for path in folder(stage).iterdir():
            path.unlink()
        before = lines[:written]
        (folder(stage) / f"{task.attempt - 1}.jsonl").write_bytes(b"".join(before))
        untold = replace(task, error=f"attempt {task.attempt - 1}: run r0 died")

        outcome = await stage.agent_work(Diligent())(untold, stage.mate)

        assert isinstance(outcome, Done), written
        assert outcome.result == "done"
        now = stage.transcript(attempt=task.attempt)
        made = [one for one in writes(now) if not one["isError"]]
        paths = [one["path"] for one in writes([json.loads(line) for line in before])]
        begun = {path for path in paths if path is not None}
        assert {one["path"] for one in made} == {"1", "2", "3", "4"} - begun, written


def writes(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls of `write` that were begun, with how they ended, if they did."""
    ends = {line["id"]: line["isError"] for line in lines if line["kind"] == "result"}
    return [
        {"path": line["arguments"]["path"], "isError": ends.get(line["id"])}
        for line in lines
        if line["kind"] == "call" and line["name"] == "write"
    ]


async def test_a_call_without_a_result_is_told_as_interrupted_or_as_not_begun(
    stage: Stage,
) -> None:
    both = calls(call("bash", command="sleep 30"), call("ls"))
    task = await stage.claim(timeout=0.3)
    await stage.work(task, both)
    forget_the_end(folder(stage) / "1.jsonl")

    await stage.work(await again(stage, task), submit(1))

    last = stage.scripted.requests[0].turns[-1]
    assert isinstance(last, UserTurn)
    assert [result.text for result in last.results] == [INTERRUPTED, NOT_BEGUN]
    assert all(result.is_error for result in last.results)


class Rebuilding(ScriptedModel):
    """Compares each request with what the transcript tells at that moment."""

    transcript = Path()
    compared = 0
    window: int | None = None

    async def reply(self, request: ModelRequest) -> ModelReply:
        if request.asker.summary:
            return await super().reply(request)
        rebuilt = History(turns_in(self.transcript)).turns
        assert turns_as_json(rebuilt) == turns_as_json(request.turns)
        self.compared += 1
        return await super().reply(request)


async def test_at_every_request_the_transcript_tells_the_whole_history(stage: Stage) -> None:
    native = Native(form="test", model="scripted/test", blocks=({"thinking": "hm", "sig": "x"},))
    first = [
        replace(say("I think"), native=native),
        calls(call("write", path="a", content="a"), call("read", path="none"), call("ls")),
        submit(1),
    ]
    second = [say(""), call("nothing"), submit(2)]
    made = []
    for task_id, steps in enumerate([first, second], start=1):
        model = Rebuilding(steps, name="scripted/test")
        model.transcript = folder(stage, task_id) / "1.jsonl"
        stage.model = model
        outcome = await stage.work(await stage.claim(task_id))
        assert isinstance(outcome, Done)
        made.append(model.compared)
    assert made == [3, 3]
    assert stage.transcript(2)[0]["carried"] > 3
    assert any(isinstance(t, AssistantTurn) and t.native for t in turns_in(model.transcript))


async def test_a_history_that_was_shortened_is_gone_on_with_as_it_was(stage: Stage) -> None:
    stage.root.joinpath("big.txt").write_text("a line of text\n" * 400)
    reads = [call("read", path="big.txt", offset=at, limit=80) for at in range(1, 30)]
    model = Rebuilding([*reads, ModelUnavailable("gone")])
    model.window = 8_000
    model.transcript = folder(stage) / "1.jsonl"
    stage.model = model
    task = await stage.claim()
    await stage.work(task)
    assert len(stage.events("history.compacted")) > 2
    assert model.compared == 30
    task = await again(stage, task)
    model = Rebuilding([call("ls"), submit("done")])
    model.transcript = folder(stage) / "2.jsonl"
    stage.model = model

    outcome = await stage.work(task)

    assert isinstance(outcome, Done)
    assert model.requests[0].turns[0].text.startswith("<identity>You are 'ann'")
    assert len(model.requests[0].turns) < 20


async def test_the_history_at_any_line_is_whole(stage: Stage, tmp_path: Path) -> None:
    """Also where it was shortened, where mail was told, and where the line itself is torn."""
    stage.root.joinpath("big.txt").write_text("a line of text\n" * 400)
    reads = [call("read", path="big.txt", offset=at, limit=80) for at in range(1, 14)]
    both = calls(*reads[:2])
    stage.model = model = Arriving([both, say("hm"), *reads, both, submit(1)])
    model.post, model.window = stage.post, 8_000
    assert isinstance(await stage.work(await stage.claim()), Done)
    assert len(stage.events("history.compacted")) > 1
    lines = (folder(stage) / "1.jsonl").read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"

    for at, line in enumerate(lines):
        for end in (line, line[: len(line) // 2]):
            cut.write_bytes(b"".join([*lines[:at], end]))
            history = History(turns_in(cut))
            history.tell("go on")
            check(history.turns)
    assert len(lines) > 60


async def test_what_was_carried_into_an_attempt_is_part_of_what_the_next_goes_on_from(
    stage: Stage,
) -> None:
    stage.model = ScriptedModel([call("ls"), submit(1), say("half"), ModelUnavailable("gone")])
    await stage.work(await stage.claim(1))
    task = await stage.claim(2)
    await stage.work(task)

    await stage.work(await again(stage, task), submit(2))

    text = "\n".join(turn.text for turn in stage.scripted.requests[0].turns)
    assert text.index("Task #1") < text.index("Task #2") < text.index("half")


@pytest.mark.parametrize("lost", ["file", "half of it"])
async def test_what_was_carried_and_is_gone_is_missed_and_no_more(stage: Stage, lost: str) -> None:
    stage.model = ScriptedModel([call("ls"), submit(1), say("half"), ModelUnavailable("gone")])
    await stage.work(await stage.claim(1))
    task = await stage.claim(2)
    await stage.work(task)
    first = folder(stage, 1) / "1.jsonl"
    if lost == "file":
        first.unlink()
    else:
        lines = first.read_bytes().splitlines(keepends=True)
        first.write_bytes(b"".join(lines[:3]) + b'{"kind": "assistant"}\n[1]\nnot json\n')

    outcome = await stage.work(await again(stage, task), submit(2))

    assert isinstance(outcome, Done)
    assert "half" in [turn.text for turn in stage.scripted.requests[0].turns]


async def test_attempts_go_on_from_one_another(stage: Stage) -> None:
    task = await died(stage, say("one"), say("two"))
    task = await again(stage, task)
    await stage.work(task, say("three"), ModelUnavailable("gone"))
    forget_the_end(folder(stage) / "2.jsonl")

    await stage.work(await again(stage, task), submit(1))

    (request,) = stage.scripted.requests
    said = [turn.text for turn in request.turns if isinstance(turn, AssistantTurn)]
    assert said == ["I am ann. Continuing.", "one", "two", "three"]
    assert request.asker.earlier == ((1, 2), (2, 1))
    assert request.asker.turn == 3


async def test_the_new_owner_stands_at_the_head(stage: Stage) -> None:
    task = await died(stage, say("one"))
    task = await again(stage, task, name="bob")
    bob = make_teammate(stage.layout, name="bob", role="tester")
    model = ScriptedModel([submit(1)])

    await stage.agent_work(model)(task, bob)

    first = model.requests[0].turns[0].text
    assert first == (
        "<identity>You are 'bob', role: tester, team: red. Continue your work.</identity>"
    )
    assert sum("<identity>" in turn.text for turn in model.requests[0].turns) == 1
    assert "one" in [turn.text for turn in model.requests[0].turns]


@pytest.mark.parametrize("change", ["agent", "model", "transcript"])
async def test_another_agent_or_model_is_told_of_a_file_that_it_may_read(
    stage: Stage, change: str
) -> None:
    stage.agent("other")
    task = await died(stage, call("ls"), agent="task")
    path = folder(stage) / "1.jsonl"
    if change == "transcript":
        path.write_bytes(path.read_bytes().replace(b'"workspace"', b'"elsewhere"'))
    task = await again(stage, task)
    task = replace(task, agent="other") if change == "agent" else task
    stage.model = ScriptedModel(
        [call("read", path=str(path)), submit(1)],
        name="scripted/other" if change == "model" else "scripted/test",
    )

    outcome = await stage.work(task)

    assert isinstance(outcome, Done)
    assert len(stage.scripted.requests[0].turns) == 3
    assert f"What it did is written down in {path}." in told(stage.scripted, 0)
    assert '"kind": "assistant"' in told(stage.scripted)
    assert not stage.events("history.resumed")


async def test_an_agent_without_the_tool_to_read_is_not_told_of_a_file(stage: Stage) -> None:
    stage.agent("writer", tools="write")
    task = await died(stage, call("ls"), agent="task")

    await stage.work(replace(await again(stage, task), agent="writer"), submit(1))

    assert "written down" not in told(stage.scripted)


async def test_an_attempt_that_has_done_nothing_is_begun_anew(stage: Stage) -> None:
    task = await died(stage)

    await stage.work(await again(stage, task), submit(1))

    assert len(stage.scripted.requests[0].turns) == 3
    assert told(stage.scripted).count("Task #1") == 1


async def test_an_attempt_whose_transcript_is_gone_is_begun_anew(stage: Stage) -> None:
    task = await died(stage, say("one"))
    (folder(stage) / "1.jsonl").unlink()

    await stage.work(await again(stage, task), submit(1))

    assert len(stage.scripted.requests[0].turns) == 3
    assert "written down" not in told(stage.scripted)


async def test_an_attempt_that_came_to_its_end_is_not_gone_on_with(stage: Stage) -> None:
    task = await stage.claim()
    assert isinstance(await stage.work(task, say("one"), give_up("cannot")), Failed)

    await stage.work(await again(stage, task), submit(1))

    assert len(stage.scripted.requests[0].turns) == 3
    last = told(stage.scripted)
    assert "Attempt 1 failed: cannot" in last
    assert "What it did is written down in" in last


async def test_an_attempt_that_was_stopped_is_gone_on_with(stage: Stage) -> None:
    task = await stage.claim()
    outcome = await stage.work(task, say("one"), ModelUnavailable("no network"))
    assert isinstance(outcome, HandedBack)

    await stage.work(await again(stage, task), submit(1))

    assert "one" in [turn.text for turn in stage.scripted.requests[0].turns]
    assert "Attempt 1 was given back unfinished: " in told(stage.scripted)


@pytest.mark.parametrize(("limit", "goes_on"), [("budget", True), ("max_turns", False)])
async def test_of_the_limits_the_budget_alone_says_nothing_about_the_work(
    stage: Stage, limit: str, goes_on: bool
) -> None:
    task = await died(stage, say("one"))
    end = {"version": 1, "kind": "end", "outcome": "LimitReached", "limit": limit}
    with (folder(stage) / "1.jsonl").open("a", encoding="utf-8") as transcript:
        transcript.write(json.dumps(end) + "\n")

    await stage.work(await again(stage, task), submit(1))

    assert ("one" in [turn.text for turn in stage.scripted.requests[0].turns]) is goes_on


async def test_a_result_that_the_board_was_not_told_of_is_judged_without_the_model(
    stage: Stage,
) -> None:
    task = await stage.claim(verify="echo x >> verified")
    assert isinstance(await stage.work(task, say("one"), submit("kept")), Done)
    task = replace(await again(stage, task), error="attempt 1: run r0 died while ann worked on it")
    stage.model = ScriptedModel([])

    outcome = await stage.work(task)

    assert isinstance(outcome, Done)
    assert outcome.result == "kept"
    assert stage.scripted.requests == []
    assert (stage.root / "verified").read_text() == "x\nx\n"


async def test_a_death_while_a_result_was_judged_costs_no_turn_however_often(stage: Stage) -> None:
    task = await stage.claim()
    await stage.work(task, say("one"), submit("kept"))
    lines = (folder(stage) / "1.jsonl").read_bytes().splitlines(keepends=True)
    (folder(stage) / "1.jsonl").write_bytes(b"".join(lines[:-2]))

    outcomes: list[Outcome] = []
    for attempt in (2, 3):
        task = await again(stage, task)
        stage.model = ScriptedModel([])
        outcomes.append(await stage.work(task))
        forget_the_end(folder(stage) / f"{attempt}.jsonl")

    assert [one.result for one in outcomes if isinstance(one, Done)] == ["kept", "kept"]


async def test_a_result_that_does_not_stand_the_second_look_goes_back_to_the_model(
    stage: Stage,
) -> None:
    task = await stage.claim(verify="test -e good")
    (stage.root / "good").touch()
    await stage.work(task, submit("kept"))
    forget_the_end(folder(stage) / "1.jsonl")
    (stage.root / "good").unlink()

    outcome = await stage.work(
        await again(stage, task), call("write", path="good", content="x"), submit("mended")
    )

    assert isinstance(outcome, Done)
    assert outcome.result == "mended"
    assert "The result was not accepted (1 of 3 rounds)" in told(stage.scripted, 0)


async def test_subagents_of_the_attempt_before_are_told_as_gone(stage: Stage) -> None:
    task = await died(stage, say("one"))
    (folder(stage) / "1-1.jsonl").touch()

    await stage.work(await again(stage, task), submit(1))

    assert "Subagents have ended with that attempt" in told(stage.scripted)


class Arriving(ScriptedModel):
    """While it thinks of its first reply, a second message arrives."""

    post: Post
    window: int | None = None

    async def reply(self, request: ModelRequest) -> ModelReply:
        if not self.requests:
            self.post.arrive("second", message_id="m2")
        return await super().reply(request)


async def test_mail_that_was_not_answered_is_not_gone_on_with(stage: Stage) -> None:
    """It is still in the inbox, whose owner gets it again."""
    stage.post.arrive("first", message_id="m1")
    stage.model = model = Arriving([say("one"), ModelUnavailable("gone")])
    model.post = stage.post
    task = await stage.claim()
    await stage.work(task)
    assert stage.post.read == ["m1"]
    forget_the_end(folder(stage) / "1.jsonl")

    await stage.work(await again(stage, task), submit(1))

    text = "\n".join(turn.text for turn in stage.scripted.requests[0].turns)
    assert "first" in text
    assert "second" not in text


@pytest.mark.parametrize("written_down", [True, False])
async def test_mail_is_told_once_whether_the_death_came_before_or_behind_the_answer(
    stage: Stage, written_down: bool
) -> None:
    inbox = Inbox(stage.layout, "ann", run="r1", clock=stage.clock, journal=stage.mate.journal)
    write(stage.layout, "ann", "a word")
    stage.mate.post = inbox
    cursor = stage.layout.inbox / "ann.cursor.json"
    model = KeepingCursor([say("one"), say("heard"), ModelUnavailable("gone")])
    model.cursor = cursor
    stage.model = model
    task = await stage.claim()
    await stage.work(task)
    # as a death leaves it right behind the line that holds the answer, or right before it
    cursor.write_bytes(model.kept)
    lines = (folder(stage) / "1.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    heard = next(at for at, line in enumerate(lines) if '"kind": "assistant"' in line)
    cut = lines[: heard + written_down]
    (folder(stage) / "1.jsonl").write_text("".join(cut), encoding="utf-8")
    task = await again(stage, task)
    stage.mate.post = Inbox(
        stage.layout, "ann", run="r2", clock=stage.clock, journal=stage.mate.journal
    )

    await stage.work(task, submit(1))

    text = "\n".join(turn.text for turn in stage.scripted.requests[0].turns)
    assert text.count("a word") == 1
    assert len(stage.events("history.resumed")) == written_down


class KeepingCursor(ScriptedModel):
    """Keeps what the inbox has on disk while the model thinks of its first reply."""

    cursor = Path()
    kept = b""

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.kept = self.kept or self.cursor.read_bytes()
        return await super().reply(request)


async def test_a_message_that_waits_for_an_answer_waits_on(stage: Stage) -> None:
    stage.post.arrive("from bob", sender="bob", message_id="m1")
    stage.post.arrive("from lead", sender="lead", message_id="m2")
    wrote = call("send_message", to="bob", text="yes")
    task = await died(stage, calls(wrote, call("send_message", to="nobody", text="x")))

    for attempt in (2, 3):
        task = await again(stage, task)
        await stage.work(task, say("on"), ModelUnavailable("gone"))
        resumed = next(
            line for line in stage.transcript(attempt=attempt) if line["kind"] == "resumed"
        )
        assert [letter["content"] for letter in resumed["letters"]] == ["from lead"]


async def test_an_attempt_that_died_before_it_began_is_passed_over(stage: Stage) -> None:
    task = await died(stage, say("one"))
    task = await again(stage, task)
    (folder(stage) / "2.jsonl").write_text('{"kind": "start"}\n')

    await stage.work(await again(stage, task), submit(1))

    assert "one" in [turn.text for turn in stage.scripted.requests[0].turns]


async def test_numbers_that_are_damaged_count_for_nothing(stage: Stage) -> None:
    task = await died(stage, say("one"))
    path = folder(stage) / "1.jsonl"
    odd = {"kind": "resumed", "earlier": [[0, 3], ["x", 1], 7, [1]], "letters": ["x"], "turns": []}
    path.write_bytes(path.read_bytes() + json.dumps(odd).encode() + b"\n")

    await stage.work(await again(stage, task), submit(1))

    (request,) = stage.scripted.requests
    assert request.asker.earlier == ((0, 3), (1, 1))


@pytest.mark.parametrize("history", ["carry", "fresh"])
async def test_whether_histories_are_carried_makes_no_difference_to_going_on(
    stage: Stage, history: Literal["carry", "fresh"]
) -> None:
    stage.settings = replace(stage.settings, history=history)
    await stage.do(say("other work"), submit(1), task_id=1)
    task = await stage.claim(2)
    await stage.work(task, say("half"), ModelUnavailable("gone"))
    carried = folder(stage, 2) / "1.jsonl"
    assert ("other work" in [turn.text for turn in turns_in(carried)]) is (history == "carry")

    await stage.work(await again(stage, task), submit(2))

    texts = [turn.text for turn in stage.scripted.requests[0].turns]
    assert "half" in texts
    assert ("other work" in texts) is (history == "carry")


async def test_a_crash_in_a_run_costs_no_turn(tmp_path: Path) -> None:
    clock = FakeClock()
    layout = make_board(tmp_path, [{"id": 1}])
    model = ScriptedModel(
        [call("write", path="a.txt", content="A"), RuntimeError("boom"), submit("done")]
    )
    solo = Settings(members=(MemberSpec(name="ann"),))
    async with running_team(layout, model=model, settings=solo, clock=clock, home=tmp_path) as team:
        for _ in range(4):
            await clock.sleepers(1)
            await clock.advance(5)
        task = (await team.board.scan()).tasks["1"]

    assert (task.status, task.attempt) == ("completed", 2)
    said = [turn for turn in model.requests[-1].turns if isinstance(turn, AssistantTurn)]
    assert [one.name for turn in said for one in turn.calls] == ["write"]
    model.assert_exhausted()
