"""What is tried again, what is set aside with its story, and what only a person opens again."""

from __future__ import annotations

import json
import signal

import pytest

from tests.e2e.conftest import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


def test_a_task_that_kills_its_runs_is_set_aside_with_its_story_and_the_rest_is_done(
    place: Place,
) -> None:
    place.task(1, run='[ -e cured ] || kill -9 "$PPID"; sleep 1', maxAttempts=2)
    place.task(2, run="true", blockedBy=[1])
    for number in range(3, 6):
        place.task(number, run="true")

    for _ in range(2):
        run = place.start("run", "--drain", "--members", "1")
        run.communicate(timeout=30)
        assert run.returncode == -signal.SIGKILL
    code, out, _ = place.finish("run", "--drain", "--json")

    assert code == 1
    by_id = {task["id"]: task for task in json.loads(out)["tasks"]}
    assert [by_id[number]["status"] for number in (3, 4, 5)] == ["completed"] * 3
    assert by_id[1]["error"].startswith("given up after 2 faults; attempt 1: run ")
    assert "failed" in by_id[2]["reason"]
    _, shown, _ = place.finish("tasks", "show", "1")
    assert shown.count("died") >= 2, "each attempt with what became of it"

    (place.root / "cured").touch()
    assert place.finish("tasks", "retry", "1")[0] == 0
    assert place.finish("run", "--drain")[0] == 0
    assert (place.read(1)["attempt"], place.read(2)["status"]) == (3, "completed")


def test_a_failure_that_an_agent_declares_is_tried_again_only_when_a_person_asks(
    place: Place,
) -> None:
    place.task(1, description="Find it.", maxAttempts=5)
    (place.root / "team.yaml").write_text("model: script/s.yaml\n")
    submit = {"1": {"error": "there is no such thing"}, "1/2": {"data": "found it"}}
    turns = {at: [{"calls": [{"submit_result": given}]}] for at, given in submit.items()}
    (place.root / "s.yaml").write_text(json.dumps({"tasks": turns}))

    for _ in range(2):
        assert place.finish("run", "--drain")[0] == 1
        assert (place.read(1)["attempt"], place.read(1)["error"]) == (1, "there is no such thing")
    assert place.finish("tasks", "retry", "1")[0] == 0
    assert place.finish("run", "--drain")[0] == 0
    assert (place.read(1)["attempt"], place.read(1)["result"]) == (2, "found it")
    _, out, _ = place.finish("tasks", "show", "1")
    assert "there is no such thing" in out, "the first attempt is still told"
