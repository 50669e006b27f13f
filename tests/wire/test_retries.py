"""What a model's server may answer in place of a reply, and what is tried again."""

from __future__ import annotations

import contextlib
import json

import anyio
import anyio.to_thread
import pytest

from runner import Report, Team
from runner.errors import ContextOverflow, ModelOverloaded, ModelRejected
from runner.testing import (
    BrokenOff,
    Cut,
    FakeClock,
    Fault,
    Hanging,
    Html,
    HungUp,
    Refused,
    ScriptedModel,
    Slow,
    call,
    calls,
    make_board,
    say,
    submit,
)
from runner.testing.model import Step
from runner.work.messages import Model, ModelReply, ModelRequest, ToolSpec, UserTurn
from runner.work.retry import JITTER, MAX_TRIES, MAX_WAIT_S, Gate, ask
from tests.wire.conftest import Line

LS = ToolSpec(name="ls", description="lists", parameters={"type": "object", "properties": {}})
REQUEST = ModelRequest(system="You work.", turns=(UserTurn(text="Go."),), tools=(LS,))
GOOD = calls(say("I look around in here, with care."), call("ls"))


async def waits(model: Model, clock: FakeClock) -> list[float]:
    """Ask until there is a reply; the seconds between the tries, which are let pass at once."""
    taken: list[float] = []

    async def asking() -> None:
        await ask(model, REQUEST, Gate(clock, jitter=lambda: 1.0), waiting=taken.append)
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(asking)
        while True:
            await clock.sleepers(1, patience_s=15)
            await clock.advance(taken[-1])
    return taken


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([Refused(429, retry_after=2)], [2]),
        ([Refused(429, retry_after=86_400)], [MAX_WAIT_S]),
        ([Refused(529)] * 5, [1, 2, 4, 8, 16]),
        ([Refused(503)] * 2, [1, 2]),
        ([Refused(429, headers={"retry-after-ms": "1500"}), Refused(500)], [1.5, 2]),
        ([Refused(408), Refused(409), Refused(502)], [1, 2, 4]),
        ([Html(), Html(502)], [1, 2]),
        ([HungUp(), Refused(429, retry_after=3)], [1, 3]),
    ],
    ids="wished capped doubled twice milliseconds others pages disconnected".split(),
)
async def test_a_wait_is_what_the_server_wishes_or_doubles_capped_and_with_jitter(
    line: Line, steps: list[Step], expected: list[float]
) -> None:
    async with line.opened(*steps, GOOD) as model:
        taken = await waits(model, FakeClock())

    assert taken == [min(seconds * (1 + JITTER), MAX_WAIT_S) for seconds in expected]
    assert len(line.server.asked) == len(steps) + 1


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        ([Refused(400)], 400),
        ([Refused(401)], 401),
        ([Refused(403)], 403),
        ([Refused(404)], 404),
        ([Refused(529), Refused(400)], 400),
        ([Refused(429, retry_after=0.5), Refused(401)], 401),
    ],
)
async def test_what_is_wrong_for_good_is_not_tried_again_also_after_something_that_was(
    line: Line, steps: list[Step], status: int
) -> None:
    async with line.opened(*steps) as model:
        with pytest.raises(ModelRejected) as caught:
            await error_of(model)

    assert caught.value.status == status
    assert len(line.server.asked) == len(steps)


async def error_of(model: Model) -> None:
    """Ask to the end on a clock that never lets anybody wait."""
    await ask(model, REQUEST, Gate(Hurried()))


class Hurried(FakeClock):
    """A clock on which every sleep is over at once."""

    async def sleep(self, seconds: float) -> None:
        self._elapsed_s += seconds


def cuts() -> list[Fault]:
    """A stream that ends at many places, dropped or as if it were whole."""
    places = [0, 1, 30, 200, 500, 800]
    dropped: list[Fault] = [Cut(GOOD, bytes=at) for at in places]
    clean: list[Fault] = [Cut(GOOD, bytes=at, clean=True) for at in places]
    told: list[Fault] = [BrokenOff(GOOD, events=at) for at in (0, 1, 3)]
    return [*dropped, *clean, *told]


@pytest.mark.parametrize("at", range(len(cuts())))
async def test_a_stream_that_is_cut_anywhere_is_never_a_reply(line: Line, at: int) -> None:
    async with line.opened(cuts()[at], GOOD) as model:
        with pytest.raises(ModelOverloaded):
            await model.reply(REQUEST)
        reply = await model.reply(REQUEST)

    assert (reply.text, len(reply.calls), reply.stop) == (GOOD.text, 1, "tool_calls")


async def test_a_stream_without_its_last_events_is_never_half_a_reply(line: Line) -> None:
    async with line.opened(*[Cut(GOOD, events=at, clean=True) for at in range(40)]) as model:
        replies = []
        for _ in range(40):
            with contextlib.suppress(ModelOverloaded):
                replies.append(await model.reply(REQUEST))

    assert replies != []
    assert {(one.text, len(one.calls), one.stop) for one in replies} == {
        (GOOD.text, 1, "tool_calls")
    }


async def test_a_slow_stream_is_heard_bit_by_bit(line: Line) -> None:
    heard: list[str] = []
    request = ModelRequest(system="You work.", turns=REQUEST.turns, on_text=heard.append)
    async with line.opened(Slow(say("word " * 20), pause_s=0.002)) as model:
        reply = await model.reply(request)

    assert "".join(heard) == reply.text == "word " * 20
    assert len(heard) > 2


async def test_the_next_request_after_a_stream_works_on_the_same_connection_or_a_new_one(
    line: Line,
) -> None:
    async with line.opened(GOOD, HungUp(), GOOD, HungUp(), GOOD) as model:
        clock = Hurried()
        replies = [await ask(model, REQUEST, Gate(clock)) for _ in range(3)]

    assert [reply.stop for reply in replies] == ["tool_calls"] * 3


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 215000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
        "Your input exceeds the context window of this model. Please adjust your input.",
        "the request exceeds the available context size. try increasing the context size",
    ],
)
async def test_a_request_that_is_too_long_is_told_apart_from_a_bad_one(
    line: Line, message: str
) -> None:
    async with line.opened(Refused(400, message=message)) as model:
        with pytest.raises(ContextOverflow):
            await model.reply(REQUEST)


async def test_a_window_that_is_too_small_is_told_in_the_words_of_the_vendor(line: Line) -> None:
    line.window = 10
    async with line.opened(GOOD) as model:
        with pytest.raises(ContextOverflow):
            await model.reply(REQUEST)

    assert len(line.server.refusals) == 1


async def test_a_wait_can_be_cancelled(line: Line) -> None:
    clock = FakeClock()
    async with line.opened(Refused(429, retry_after=50)) as model, anyio.create_task_group() as one:
        one.start_soon(ask, model, REQUEST, Gate(clock))
        await clock.sleepers(1)
        one.cancel_scope.cancel()

    assert clock.sleeping == 0
    assert len(line.server.asked) == 1


async def test_a_wish_to_one_teammate_holds_back_the_other_too(line: Line) -> None:
    clock = FakeClock()
    gate = Gate(clock, jitter=lambda: 0.0)
    async with (
        line.opened(Refused(429, retry_after=30), GOOD, GOOD) as model,
        anyio.create_task_group() as group,
    ):
        group.start_soon(ask, model, REQUEST, gate)
        await clock.sleepers(1)
        group.start_soon(ask, model, REQUEST, gate)
        await clock.sleepers(2)
        await clock.advance(29.5)
        before = len(line.server.asked)
        await clock.advance(0.5)

    assert (before, len(line.server.asked)) == (1, 3)


async def test_a_reply_that_never_comes_can_be_cancelled(line: Line) -> None:
    async with line.opened(Hanging()) as model, anyio.create_task_group() as one:
        one.start_soon(model.reply, REQUEST)
        await anyio.to_thread.run_sync(line.server.wait_asked, 1)
        one.cancel_scope.cancel()

    assert len(line.server.asked) == 1


@pytest.mark.parametrize(
    ("reply", "stop"),
    [
        (ModelReply(text="I will not.", stop="refusal"), "refusal"),
        (ModelReply(text="Hm.", stop="other"), "other"),
        (say("and so", stop="length"), "length"),
        (say("done"), "end"),
    ],
)
async def test_how_a_reply_ended_is_told(line: Line, reply: ModelReply, stop: str) -> None:
    async with line.opened(reply) as model:
        heard = await model.reply(REQUEST)

    assert (heard.text, heard.stop) == (reply.text, stop)


async def test_tokens_are_counted_as_the_provider_does(line: Line) -> None:
    counted = ModelReply(
        text="x", input_tokens=900, output_tokens=7, cached_tokens=500, cache_write_tokens=0
    )
    async with line.opened(counted) as model:
        reply = await model.reply(REQUEST)

    assert (reply.input_tokens, reply.output_tokens, reply.cached_tokens) == (900, 7, 500)


async def test_a_bad_key_stops_the_claiming_and_is_written_nowhere(line: Line) -> None:
    line.api_key = "sk-the-good-one-123456"
    line.environ = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY"), "sk-secret-wrong-98765")
    make_board(line.root, [{}, {}, {}])

    report = await line.drain(ScriptedModel())

    assert report.exit_code == 3
    assert len(line.server.asked) == 1
    assert [line.task(number)["status"] for number in (1, 2, 3)] == ["pending"] * 3
    assert "401" in json.dumps([row.reason for row in report.tasks])
    for path in line.root.rglob("*"):
        assert not path.is_file() or b"sk-secret-wrong" not in path.read_bytes(), path


async def test_a_long_rate_limit_is_neither_idle_time_nor_a_failure_of_the_task(line: Line) -> None:
    clock = FakeClock()
    limited = [Refused(429, retry_after=50)] * (MAX_TRIES - 1)
    async with line.team(*limited, submit("ok"), clock=clock) as team:
        report = await as_time_flies(clock, team)

    assert (report.exit_code, report.tasks[0].attempts) == (0, 1)
    assert len(line.server.asked) == MAX_TRIES


async def test_a_server_that_stays_busy_costs_the_attempt_and_the_task_is_tried_again(
    line: Line,
) -> None:
    clock = FakeClock()
    async with line.team(*[Refused(529)] * MAX_TRIES, submit("ok"), clock=clock) as team:
        report = await as_time_flies(clock, team)

    assert (report.exit_code, report.tasks[0].attempts) == (0, 2)


async def as_time_flies(clock: FakeClock, team: Team) -> Report:
    """The report of a team for which half a second passes at every look."""
    async with anyio.create_task_group() as group:
        group.start_soon(_fly, clock)
        report = await team.finished()
        group.cancel_scope.cancel()
    return report


async def _fly(clock: FakeClock) -> None:
    while True:
        await clock.advance(0.5)
        await anyio.sleep(0.002)  # what comes over a socket needs real time
