"""Requests on disk, and the control messages that carry them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from runner.core.clock import to_iso
from runner.core.events import Journal
from runner.core.files import encode_line
from runner.core.layout import Layout
from runner.errors import UnknownRecipient, UnsafeName, UsageError
from runner.team.inbox import Inbox
from runner.team.requests import (
    Request,
    ask_to_stop,
    decide,
    open_request,
    read_request,
)
from runner.testing.clock import FakeClock
from tests.team.helpers import events


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def journal(layout: Layout, clock: FakeClock) -> Journal:
    return Journal(layout.runs / "r1.jsonl", run="r1", clock=clock)


def opened(layout: Layout, clock: FakeClock, journal: Journal) -> Request:
    return open_request(
        layout,
        type_="plan_approval",
        sender="ann",
        to="lead",
        run="r1",
        clock=clock,
        journal=journal,
        text="the plan",
    )


def test_the_first_decision_counts(layout: Layout, clock: FakeClock, journal: Journal) -> None:
    request = opened(layout, clock, journal)
    assert read_request(layout, request.id) == request
    for status in ("approved", "rejected"):
        decided = decide(layout, request.id, status, by="lead", clock=clock, journal=journal)
        assert (decided.status, decided.by) == ("approved", "lead")
    assert read_request(layout, request.id) == decided
    assert [line["status"] for line in events(journal, "request.decided")] == ["approved"]


def test_what_cannot_be_read_is_no_request(
    layout: Layout, clock: FakeClock, journal: Journal
) -> None:
    for name, text in {"a": "{", "b": "[]", "c": '{"id": "c"}'}.items():
        (layout.requests / f"{name}.json").write_text(text, encoding="utf-8")
        assert read_request(layout, name) is None
    with pytest.raises(UsageError, match="no request 'a'"):
        decide(layout, "a", "approved", by="lead", clock=clock, journal=journal)
    with pytest.raises(UnsafeName):
        read_request(layout, "../config")


def test_nobody_of_that_name_means_no_record(
    layout: Layout, clock: FakeClock, journal: Journal
) -> None:
    with pytest.raises(UnknownRecipient):
        ask_to_stop(
            layout, "bo", sender="lead", run=None, members=["ann"], clock=clock, journal=journal
        )
    assert list(layout.requests.iterdir()) == []


class Line:
    """Builds one control message as a line of an inbox."""

    def __init__(self, clock: FakeClock) -> None:
        self.fields: dict[str, Any] = {
            "type": "shutdown_request",
            "from": "lead",
            "content": "please",
            "timestamp": to_iso(clock.now()),
        }

    def with_(self, **fields: Any) -> bytes:
        return encode_line({**self.fields, **fields})


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"run": "r0"}, "it belongs to run r0"),
        ({"from": "bob"}, "it is neither from the lead nor of this run"),
        ({"timestamp": "2020-01-01T00:00:00Z"}, "it is older than this run"),
        ({"timestamp": "yesterday"}, "it is older than this run"),
        ({"type": "plan_approval_response"}, "nobody here waits for a plan_approval_response"),
    ],
)
async def test_control_messages_of_others_are_dropped_with_a_note(
    layout: Layout, clock: FakeClock, journal: Journal, fields: dict[str, Any], reason: str
) -> None:
    inbox = Inbox(layout, "ann", run="r1", clock=clock, journal=journal)
    (layout.inbox / "ann.jsonl").write_bytes(Line(clock).with_(**fields))
    assert await inbox.receive() is None
    assert inbox.shutdown is None
    assert [line["reason"] for line in events(journal, "request.decided")] == [reason]
    fresh = Inbox(layout, "ann", run="r2", clock=clock, journal=journal)
    assert await fresh.receive() is None
    assert len(events(journal, "request.decided")) == 1


@pytest.mark.parametrize(
    "fields", [{}, {"run": "r1", "from": "bob", "timestamp": ""}, {"request": "no-such"}]
)
async def test_a_request_of_the_lead_or_of_this_run_is_heeded(
    layout: Layout, clock: FakeClock, journal: Journal, fields: dict[str, Any]
) -> None:
    inbox = Inbox(layout, "ann", run="r1", clock=clock, journal=journal)
    (layout.inbox / "ann.jsonl").write_bytes(Line(clock).with_(**fields) * 2)
    assert await inbox.receive() is None
    assert inbox.shutdown is not None
    await inbox.answer_shutdown()
    assert await Inbox(layout, "ann", run="r1", clock=clock, journal=journal).receive() is None


async def test_a_request_without_a_time_counts_when_it_came_during_the_run(
    layout: Layout, clock: FakeClock, journal: Journal
) -> None:
    inbox = Inbox(layout, "ann", run="r1", clock=clock, journal=journal)
    (layout.inbox / "ann.jsonl").write_bytes(b'{"content": "hi"}\n')
    mail = await inbox.receive()
    assert mail is not None
    with (layout.inbox / "ann.jsonl").open("ab") as stream:
        stream.write(Line(clock).with_(timestamp=None))
    assert await inbox.receive() is None
    assert inbox.shutdown is not None


async def test_a_damaged_line_is_a_problem_told_once(
    layout: Layout, clock: FakeClock, journal: Journal
) -> None:
    (layout.inbox / "ann.jsonl").write_bytes(b"garbage\n")
    for run in ("r1", "r2"):
        inbox = Inbox(layout, "ann", run=run, clock=clock, journal=journal)
        assert await inbox.receive() is None
    (problem,) = events(journal, "board.problem")
    assert problem["message"].endswith("set aside in ann.damaged.jsonl")


async def test_time_passes_before_mail_comes_again(
    layout: Layout, clock: FakeClock, journal: Journal
) -> None:
    inbox = Inbox(layout, "ann", run="r1", clock=clock, journal=journal)
    (layout.inbox / "ann.jsonl").write_bytes(b'{"content": "hi"}\n')
    assert await inbox.receive() is not None
    await inbox.put_back(after_s=5)
    assert inbox.has_news()
    assert await inbox.receive() is None
    await clock.advance(timedelta(seconds=5).total_seconds())
    assert await inbox.receive() is not None
