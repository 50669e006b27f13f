"""What a process has just written need not be understood a second time."""

from __future__ import annotations

import json

from runner.board.entry import Content, Signature, read_entry
from tests.board.conftest import ADA, Desk


def test_what_others_write_between_two_saves_is_seen(desk: Desk) -> None:
    desk.put({"id": 1})
    store = desk.store()
    task = store.claim_next(ADA)
    assert task is not None
    path = desk.layout.tasks / "task_1.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "note": "theirs"}))

    store.complete(task.fence)

    assert json.loads(path.read_bytes())["note"] == "theirs"


def test_what_was_read_once_is_not_read_again_as_long_as_it_says_the_same() -> None:
    content = Content(b'{"id": 1}', Signature(1, 2, 3))
    entry = read_entry("task_1.json", content)
    assert entry.says(content)
    assert not entry.says(content._replace(data=b'{"id": 2}'))
    assert not entry.says(content._replace(signature=Signature(9, 2, 3)))
    assert not entry.says(content._replace(writable=False))
