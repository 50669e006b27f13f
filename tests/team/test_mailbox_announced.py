"""Mail that a model is told: read from the line on that holds the answer, whoever dies when."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from runner.core.layout import Layout
from runner.team.cursor import Cursor
from runner.team.mailbox import Mailbox
from runner.team.message import Message

TOLD = {"kind": "user", "mail": ["m-1", "m-2"]}
REPLY = {"kind": "assistant"}


@pytest.fixture
def box(layout: Layout) -> Mailbox:
    """Two messages were read and are announced; they go into `told.jsonl`."""
    box = Mailbox(layout, "ann")
    for number in (1, 2):
        box.append(message(number))
    batch = box.read()
    transcript = layout.transcripts / "told.jsonl"
    transcript.write_text('{"kind": "assistant"}\n')
    ids = [one.id for one in batch.messages]
    box.announce(batch.cursor, ids, transcript, transcript.stat().st_size)
    return box


def message(number: int) -> Message:
    text = f"text {number}"
    return Message(id=f"m-{number}", type="message", sender="lead", content=text, timestamp="")


def written(layout: Layout, *lines: Mapping[str, object]) -> None:
    with (layout.transcripts / "told.jsonl").open("a") as transcript:
        transcript.writelines(json.dumps(line) + "\n" for line in lines)


def unread(layout: Layout) -> list[str]:
    """What a reader of another run gets."""
    return [one.id for one in Mailbox(layout, "ann").read().messages]


def test_what_was_answered_is_read_although_nobody_committed(layout: Layout, box: Mailbox) -> None:
    written(layout, TOLD, {"kind": "compacted"}, REPLY)
    assert unread(layout) == []
    assert box.peek() == ()

    box.append(message(3))
    assert unread(layout) == ["m-3"]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [TOLD],
        [REPLY],
        [{"kind": "user", "mail": ["m-1"]}, REPLY],
        [TOLD, {"kind": "end"}, {"kind": "start"}, REPLY],
        [TOLD, {"kind": "start"}, REPLY],
    ],
)
def test_what_was_not_answered_comes_again(
    layout: Layout, box: Mailbox, lines: list[Mapping[str, object]]
) -> None:
    written(layout, *lines)
    assert unread(layout) == ["m-1", "m-2"]
    assert [one.id for one in box.peek()] == ["m-1", "m-2"]


def test_without_the_transcript_it_comes_again(layout: Layout, box: Mailbox) -> None:
    written(layout, TOLD, REPLY)
    (layout.transcripts / "told.jsonl").unlink()
    assert unread(layout) == ["m-1", "m-2"]


def test_damage_behind_what_was_announced_changes_nothing(layout: Layout, box: Mailbox) -> None:
    with box.path.open("ab") as stream:
        stream.write(b"broken\n")
    assert len(Mailbox(layout, "ann").read().damaged) == 1

    written(layout, TOLD, REPLY)

    again = Mailbox(layout, "ann").read()
    assert (again.messages, again.damaged) == ((), ())


def test_what_is_announced_later_counts(layout: Layout, box: Mailbox) -> None:
    box.append(message(3))
    batch = box.read()
    other = layout.transcripts / "other.jsonl"
    box.announce(batch.cursor, ["m-3"], other, 0)
    other.write_text('{"mail": ["m-3"]}\n{"kind": "assistant"}\n')
    assert unread(layout) == []


def test_a_commit_needs_no_transcript(layout: Layout, box: Mailbox) -> None:
    box.commit(box.read().cursor)
    assert "telling" not in json.loads((layout.inbox / "ann.cursor.json").read_bytes())
    assert unread(layout) == []


@pytest.mark.parametrize("telling", [{}, [1], {"transcript": "x", "size": "y"}, "text", 0])
def test_an_announcement_that_is_damaged_costs_itself_only(
    layout: Layout, box: Mailbox, telling: object
) -> None:
    box.commit(box.read(Cursor()).cursor)
    box.append(message(3))
    file = layout.inbox / "ann.cursor.json"
    file.write_text(json.dumps(json.loads(file.read_bytes()) | {"telling": telling}))
    assert unread(layout) == ["m-3"]
