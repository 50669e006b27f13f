"""Boards for tests, as real files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from runner.core.files import encode_json
from runner.core.layout import Layout


def make_board(root: Path, tasks: Iterable[Mapping[str, Any]] = ()) -> Layout:
    """Write `root/.tasks/task_<id>.json` for each of `tasks` and return the layout.

    A task without `id` gets the number of its place (from 1), one without `subject` gets
    `Task <id>`, one without `status` is pending. Called again it adds to what is there.
    """
    layout = Layout(root=root, workspace=root)
    layout.tasks.mkdir(parents=True, exist_ok=True)
    for number, fields in enumerate(tasks, 1):
        task_id = fields.get("id", number)
        task = {"id": task_id, "subject": f"Task {task_id}", "status": "pending", **fields}
        (layout.tasks / f"task_{task_id}.json").write_bytes(encode_json(task))
    return layout
