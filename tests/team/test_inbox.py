"""A teammate's own inbox: what counts as read, and what a bad disk may cost."""

from __future__ import annotations

import json

import pytest

from runner.core.events import Journal
from runner.core.files import encode_line, locked
from runner.core.layout import Layout
from runner.team.inbox import MAX_DELIVERIES, Inbox
from runner.team.mailbox import Mailbox
from runner.team.requests import ask_to_stop, read_request
from runner.team.types import Mail
from runner.testing.clock import FakeClock
from tests.team.helpers import write


@pytest.fixture
def inbox(layout: Layout) -> Inbox:
    return inbox_of(layout)


def inbox_of(layout: Layout) -> Inbox:
    clock = FakeClock()
    journal = Journal(layout.runs / "r1.jsonl", run="r1", clock=clock)
    return Inbox(layout, "ann", run="r1", clock=clock, journal=journal)


def ask(layout: Layout) -> str:
    clock = FakeClock()
    journal = Journal(layout.cli_journal, run=None, clock=clock)
    asked = ask_to_stop(
        layout, "ann", sender="lead", run="r1", members=["ann"], clock=clock, journal=journal
    )
    return asked.id


async def received(inbox: Inbox) -> Mail:
    mail = await inbox.receive()
    assert mail is not None
    return mail


def unread(layout: Layout) -> list[str]:
    found = Mailbox(layout, "ann").peek()
    return [one.content for one in found if one.type == "message"]


def status(layout: Layout, request: str) -> str:
    record = read_request(layout, request)
    assert record is not None
    return record.status


async def test_a_reader_that_is_stopped_has_read_only_what_it_was_given(
    layout: Layout, inbox: Inbox
) -> None:
    write(layout, "ann", "not yet worked on")
    await received(inbox)
    inbox.leave()
    ask(layout)
    assert await inbox.receive() is None
    assert inbox.shutdown is not None
    await inbox.answer_shutdown()
    assert unread(layout) == ["not yet worked on"]
    assert inbox.close() == 1


async def test_a_later_letter_does_not_pass_an_earlier_one(layout: Layout, inbox: Inbox) -> None:
    write(layout, "ann", "one")
    first = await received(inbox)
    write(layout, "ann", "two")
    second = await received(inbox)
    await second.commit()
    assert unread(layout) == ["one", "two"]
    await first.commit()
    assert unread(layout) == []


async def answered(layout: Layout, mail: Mail, name: str) -> None:
    """Told in a transcript and answered there; the process dies before it can say so."""
    transcript = layout.transcripts / name
    await mail.announce(transcript, 0)
    told = {"kind": "user", "mail": [one.id for one in mail.messages]}
    transcript.write_text(f'{json.dumps(told)}\n{{"kind": "assistant"}}\n')


async def test_mail_that_was_answered_is_not_delivered_to_the_next_run(
    layout: Layout, inbox: Inbox
) -> None:
    write(layout, "ann", "one")
    await answered(layout, await received(inbox), "told.jsonl")
    write(layout, "ann", "two")
    assert unread(layout) == ["two"]
    (mail,) = (await received(inbox_of(layout))).messages
    assert mail.content == "two"


async def test_an_answer_does_not_count_for_an_earlier_letter_that_was_left(
    layout: Layout, inbox: Inbox
) -> None:
    write(layout, "ann", "one")
    await (await received(inbox)).announce(layout.transcripts / "left.jsonl", 0)
    inbox.leave()
    write(layout, "ann", "two")
    await answered(layout, await received(inbox), "told.jsonl")
    assert unread(layout) == ["one", "two"]


async def test_an_answer_counts_for_all_that_it_follows(layout: Layout, inbox: Inbox) -> None:
    write(layout, "ann", "one")
    await (await received(inbox)).announce(layout.transcripts / "told.jsonl", 0)
    write(layout, "ann", "two")
    await answered(layout, await received(inbox), "told.jsonl")
    assert unread(layout) == []


async def test_every_request_to_stop_is_answered(layout: Layout, inbox: Inbox) -> None:
    first = ask(layout)
    assert await inbox.receive() is None
    second, third = ask(layout), ask(layout)
    assert inbox.shutdown is not None
    await inbox.answer_shutdown()
    fourth = ask(layout)
    assert inbox.close() == 0
    assert {status(layout, one) for one in (first, second, third, fourth)} == {"approved"}
    answers = Mailbox(layout, "lead").peek()
    asked = [one.extra["request"] for one in answers]
    # two that were opened in the same millisecond come in any order
    assert (asked[0], set(asked[1:3]), asked[3]) == (first, {second, third}, fourth)


async def test_a_request_is_heeded_once_when_it_is_read_again(layout: Layout, inbox: Inbox) -> None:
    write(layout, "ann", "a letter")
    request = ask(layout)
    await received(inbox)
    await inbox.put_back(after_s=0)
    await received(inbox)
    await inbox.answer_shutdown()
    assert [one.extra["request"] for one in Mailbox(layout, "lead").peek()] == [request]


async def test_mail_given_up_is_put_away(layout: Layout, inbox: Inbox) -> None:
    write(layout, "ann", "poison")
    for _ in range(MAX_DELIVERIES):
        await received(inbox)
        await inbox.put_back(after_s=0)
    assert (await inbox.receive(), unread(layout)) == (None, [])


async def test_a_busy_inbox_delays_mail_only(
    layout: Layout, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(layout, "ann", "patience")
    monkeypatch.setattr("runner.team.mailbox.LOCK_TIMEOUT_S", 0.05)
    with locked(layout.inbox / "ann.lock"):
        assert await inbox.receive() is None
    mail = await received(inbox)
    with locked(layout.inbox / "ann.lock"):
        await mail.announce(layout.transcripts / "told.jsonl", 0)
        await mail.commit()
    assert unread(layout) == ["patience"]
    write(layout, "ann", "more")
    await (await received(inbox)).commit()
    assert unread(layout) == []


async def test_an_inbox_that_cannot_be_read_does_not_stop_its_reader(
    layout: Layout, inbox: Inbox
) -> None:
    (layout.inbox / "ann.jsonl").mkdir()
    assert await inbox.receive() is None
    assert not inbox.has_news(), "it is looked at again when it has changed"


async def test_mail_held_back_is_there_for_whoever_asks(layout: Layout, inbox: Inbox) -> None:
    line = {"id": "m-1", "type": "message", "from": "bob", "content": "and you?"}
    (layout.inbox / "ann.jsonl").write_bytes(encode_line(line))
    assert await inbox.receive(lead_only=True) is None
    assert await inbox.receive(lead_only=True) is None
    assert not inbox.has_news()
    mail = await received(inbox)
    assert [one.content for one in mail.messages] == ["and you?"]


async def test_mail_held_back_comes_with_a_word_of_the_lead(layout: Layout, inbox: Inbox) -> None:
    line = {"id": "m-1", "type": "message", "from": "bob", "content": "and you?"}
    (layout.inbox / "ann.jsonl").write_bytes(encode_line(line))
    assert await inbox.receive(lead_only=True) is None
    write(layout, "ann", "go on")
    mail = await inbox.receive(lead_only=True)
    assert mail is not None
    assert [one.content for one in mail.messages] == ["and you?", "go on"]
