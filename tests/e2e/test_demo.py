"""The demo, as a newcomer starts it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


def spans(events: list[dict[str, object]]) -> dict[str, tuple[str, str]]:
    """When each task was at work: from its last claim to its completion, by time stamp."""
    began = {str(e["task"]): str(e["ts"]) for e in events if e["event"] == "task.claimed"}
    ended = {str(e["task"]): str(e["ts"]) for e in events if e["event"] == "task.completed"}
    return {task: (began[task], ended[task]) for task in ended}


def test_the_demo_builds_a_working_utility_with_two_at_work_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    place = Place(folder)
    done = subprocess.run(
        [sys.executable, "-m", "runner", "demo", str(folder)],
        env=Place(tmp_path).environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    statuses = {json.loads(data)["status"] for data in place.files().values()}
    assert statuses == {"completed"}
    times = spans(place.events())
    overlaps = [
        (a, b)
        for a, (start_a, end_a) in times.items()
        for b, (start_b, end_b) in times.items()
        if a < b and start_a < end_b and start_b < end_a
    ]
    assert overlaps, times
    assert any(e["event"] == "task.verify_failed" for e in place.events())

    before = place.files()
    code, out, _ = place.finish("run", "--drain", "--json")
    assert (code, json.loads(out)["exit"]) == (0, 0)
    assert place.files() == before
