"""Inboxes on disk: each message once, none lost, damage set aside."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import textwrap
from collections import defaultdict
from pathlib import Path

import pytest

from runner.core.files import encode_line
from runner.core.layout import Layout
from runner.errors import UnknownRecipient, UnsafeName
from runner.team.cursor import Cursor
from runner.team.mailbox import ROTATE_BYTES, Mailbox, post
from runner.team.message import Message
from runner.testing.board import make_board
from runner.testing.clock import FakeClock


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return make_board(tmp_path)


@pytest.fixture
def box(layout: Layout) -> Mailbox:
    layout.ensure_team()
    return Mailbox(layout, "ann")


def message(text: str, number: int = 1) -> Message:
    return Message(
        id=f"m-{number}", type="message", sender="lead", content=text, timestamp="2026-01-01"
    )


def texts(messages: tuple[Message, ...]) -> list[str]:
    return [one.content for one in messages]


@pytest.mark.slow
def test_ten_senders_in_several_processes_lose_and_double_nothing(
    layout: Layout, box: Mailbox
) -> None:
    script = """
        import sys, threading
        from pathlib import Path
        from runner.core.clock import SystemClock
        from runner.core.layout import Layout
        from runner.team.mailbox import post
        root = Path(sys.argv[1])
        def send(name):
            for number in range(100):
                post(Layout(root=root, workspace=root), to="ann", sender=name,
                     content=f"{number} {'x' * 150}", members=["ann"], clock=SystemClock())
        threads = [threading.Thread(target=send, args=(name,)) for name in sys.argv[2:]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    """
    names = [f"sender-{number}" for number in range(10)]
    senders = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), str(layout.root), *names[start::4]]
        )
        for start in range(4)
    ]
    got: list[Message] = []
    cursor = Cursor()
    done = False
    while not done:
        done = all(sender.poll() is not None for sender in senders)
        batch = box.read(cursor)
        got.extend(batch.messages)
        cursor = batch.cursor
        box.commit(batch.cursor)

    assert all(sender.returncode == 0 for sender in senders)
    by_sender = defaultdict[str, list[int]](list)
    for one in got:
        by_sender[one.sender].append(int(one.content.split()[0]))
    assert by_sender == {name: list(range(100)) for name in names}
    # what was wholly read and had grown was put away, not cut
    assert list(layout.inbox.glob("ann.read-*.jsonl"))


def test_damage_costs_the_damaged_lines_only(layout: Layout, box: Mailbox) -> None:
    odd = "one\u2028message\twith a tab\r\nand a line"
    box.path.write_bytes(
        encode_line(message("before", 1).to_json())
        + b"\0" * 300
        + b"\n"
        + b'{"content": "caf\xe9"}\n'
        + b"\n[1]\n"
        + encode_line(message(odd, 2).to_json())
        + b'{"from":"lead","te'
    )
    first = box.read()
    assert texts(first.messages) == ["before", odd]
    assert len(first.damaged) == 3

    box.append(message("after", 3))
    second = box.read(first.cursor)
    assert texts(second.messages) == ["after"]
    assert [line["text"] for line in second.damaged] == ['{"from":"lead","te']

    aside = [json.loads(line) for line in box.damaged_file.read_bytes().splitlines()]
    assert [line["reason"] for line in aside[2:3]] == ["not a JSON object"]
    assert base64.b64decode(aside[1]["base64"]) == b'{"content": "caf\xe9"}'
    assert len(aside) == 4


def test_damage_is_reported_once_even_when_mail_is_read_again(box: Mailbox) -> None:
    box.append(message("a", 1))
    box.path.write_bytes(box.path.read_bytes() + b"broken\n")
    assert len(box.read().damaged) == 1
    again = box.read()
    assert texts(again.messages) == ["a"]
    assert again.damaged == ()
    box.commit(again.cursor)
    assert box.read().messages == ()
    assert len(box.damaged_file.read_bytes().splitlines()) == 1


def test_looking_takes_nothing(layout: Layout, box: Mailbox) -> None:
    assert box.peek() == ()
    box.append(message("hello"))
    files = {path: path.read_bytes() for path in layout.inbox.iterdir()}
    assert texts(box.peek()) == ["hello"]
    assert {path: path.read_bytes() for path in layout.inbox.iterdir()} == files
    assert texts(box.read().messages) == ["hello"]


def test_mail_that_was_not_committed_comes_again(layout: Layout, box: Mailbox) -> None:
    box.append(message("one", 1))
    batch = box.read()
    box.append(message("two", 2))
    assert texts(box.read(batch.cursor).messages) == ["two"]
    assert texts(Mailbox(layout, "ann").read().messages) == ["one", "two"]

    box.commit(batch.cursor)
    assert texts(Mailbox(layout, "ann").read().messages) == ["two"]


def test_an_older_commit_does_not_turn_the_clock_back(box: Mailbox) -> None:
    box.append(message("one", 1))
    first = box.read()
    box.append(message("two", 2))
    second = box.read(first.cursor)
    box.commit(second.cursor)
    box.commit(first.cursor)
    assert box.read().messages == ()


def test_a_wholly_read_file_that_has_grown_is_put_away(layout: Layout, box: Mailbox) -> None:
    for number in range(2):
        box.append(message("x" * ROTATE_BYTES, number))
        box.commit(box.read().cursor)
        assert not box.path.exists()
    assert sorted(path.name for path in layout.inbox.glob("*.read-*")) == [
        "ann.read-1.jsonl",
        "ann.read-2.jsonl",
    ]
    box.append(message("next", 9))
    assert texts(box.read().messages) == ["next"]


def test_mail_behind_a_big_file_that_is_not_wholly_read_is_kept(box: Mailbox) -> None:
    box.append(message("x" * ROTATE_BYTES, 1))
    batch = box.read()
    box.append(message("late", 2))
    box.commit(batch.cursor)
    assert texts(box.read(batch.cursor).messages) == ["late"]


def test_a_commit_for_a_file_that_is_gone_changes_nothing(box: Mailbox) -> None:
    box.append(message("one", 1))
    batch = box.read()
    box.path.unlink()
    box.commit(batch.cursor)
    assert box.read(batch.cursor).messages == ()
    box.append(message("two", 2))
    assert texts(box.read(batch.cursor).messages) == ["two"]


def test_a_file_that_was_written_anew_is_read_without_doubles(box: Mailbox) -> None:
    box.append(message("one", 1))
    box.commit(box.read().cursor)
    old = box.path.read_bytes()
    box.path.rename(box.path.with_name("kept"))
    box.path.write_bytes(old + encode_line(message("two", 2).to_json()))
    assert texts(box.read().messages) == ["two"]


@pytest.mark.parametrize("look_between", [True, False])
def test_a_file_that_was_deleted_and_written_again_is_new_mail(
    box: Mailbox, look_between: bool
) -> None:
    line = encode_line({"type": "message", "from": "bo", "content": "again"})
    box.path.write_bytes(line)
    batch = box.read()
    box.commit(batch.cursor)
    box.path.unlink()
    taken = box.read(batch.cursor).cursor if look_between else batch.cursor
    box.path.write_bytes(line)
    assert texts(box.peek()) == ["again"]
    assert texts(box.read(taken).messages) == ["again"]


def test_a_file_that_has_shrunk_is_read_from_its_start(box: Mailbox) -> None:
    first, second = (encode_line({"from": "bo", "content": one}) for one in "ab")
    box.path.write_bytes(first + second)
    box.commit(box.read().cursor)
    box.path.write_bytes(first)
    assert texts(box.peek()) == ["a"]


def test_a_message_sent_twice_arrives_once(box: Mailbox) -> None:
    box.append(message("hello"))
    box.append(message("hello"))
    assert texts(box.read().messages) == ["hello"]


def test_lines_without_an_id_count_by_their_place(box: Mailbox) -> None:
    box.path.write_bytes(b'{"content": "hi"}\n{"content": "hi"}\n')
    batch = box.read()
    assert [one.id for one in batch.messages] == ["@0", "@18"]
    assert [one.sender for one in batch.messages] == ["unknown", "unknown"]
    box.commit(batch.cursor)
    assert box.read().messages == ()


def test_a_last_line_without_its_newline_is_a_message_if_it_is_whole(box: Mailbox) -> None:
    box.path.write_bytes(b'{"content": "whole"}')
    batch = box.read()
    assert texts(batch.messages) == ["whole"]
    box.append(message("next"))
    assert texts(box.read(batch.cursor).messages) == ["next"]


def test_values_that_are_no_text_are_shown_as_json(box: Mailbox) -> None:
    box.path.write_bytes(b'{"content": {"a": 1}, "from": null, "plan": [2]}\n')
    (found,) = box.read().messages
    assert (found.content, found.sender, found.extra) == ('{"a": 1}', "unknown", {"plan": [2]})


def test_a_damaged_cursor_means_that_everything_is_unread(layout: Layout, box: Mailbox) -> None:
    box.append(message("one"))
    box.commit(box.read().cursor)
    (layout.inbox / "ann.cursor.json").write_text("{", encoding="utf-8")
    assert texts(box.read().messages) == ["one"]


def test_an_unknown_recipient_is_answered_with_the_members(layout: Layout) -> None:
    with pytest.raises(UnknownRecipient, match="nobody is called 'bo'; members: lead, ann"):
        post(
            layout,
            to="bo",
            sender="ann",
            content="hi",
            members=["lead", "ann"],
            clock=FakeClock(),
        )
    assert not layout.inbox.exists()


@pytest.mark.parametrize("name", ["../ann", "a/b", "", "-x", "con", "a" * 65])
def test_a_name_that_is_no_file_name_is_refused(layout: Layout, name: str) -> None:
    with pytest.raises(UnsafeName):
        Mailbox(layout, name)


def test_the_sender_and_the_time_are_set_by_us(layout: Layout, box: Mailbox) -> None:
    post(
        layout,
        to="ann",
        sender="bob",
        content="lone \ud83d surrogate",
        members=["ann"],
        clock=FakeClock(),
        extra={"from": "lead", "topic": "x"},
    )
    (found,) = box.read().messages
    assert (found.sender, found.content) == ("bob", "lone \ufffd surrogate")
    assert found.timestamp == "2026-01-01T00:00:00.000Z"
    assert found.extra == {"topic": "x"}
