"""What a process has just written need not be understood a second time."""

from __future__ import annotations

import json
from pathlib import Path

from runner.board.entry import Content, Signature, read_entry
from runner.board.folder import Folder
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


def test_what_is_remembered_of_writes_is_bounded(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for number in range(2_000):
        data = json.dumps({"id": number}).encode()
        entry = read_entry(f"task_{number}.json", Content(data, Signature(1, 2, 3)))
        folder.put_written(entry, data)
    assert 0 < len(folder.written) <= 512
