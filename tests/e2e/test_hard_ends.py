"""Ends that nobody wishes for: kill -9, a lock that is held, a file that is sealed or torn."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.core.files import locked
from runner.testing import make_board
from tests.e2e.conftest import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

QUICK = "limits: {poll_interval: 0.1, grace: 1}\n"


def quick(root: Path) -> Place:
    (root / "home").mkdir(parents=True, exist_ok=True)
    make_board(root)
    (root / "team.yaml").write_text(QUICK)
    return Place(root)


def test_a_drain_right_after_a_kill_9_finishes_the_board(
    tmp_path: Path, until: Callable[[Path], None]
) -> None:
    script = "if [ -e again ]; then exit 0; fi; setsid sleep 77 & echo > begun; sleep 77"
    places = [quick(tmp_path / str(number)) for number in range(5)]
    drains = []
    for place in places:
        place.task(1, run=script)
        place.task(2, run="true", blockedBy=[1])
        doomed = place.start("run", "--drain")
        until(place.root / "begun")
        (place.root / "again").touch()
        doomed.kill()
        drains.append(place.start("run", "--drain", "--json"))
        doomed.communicate()

    # all at once: each waits out the back-off of the attempt that died
    for place, drain in zip(places, drains, strict=True):
        out, err = drain.communicate(timeout=60)
        assert drain.returncode == 0, out + err
        assert [place.read(n)["status"] for n in (1, 2)] == ["completed", "completed"]
        assert place.read(1)["attempt"] == 2
        names = [one["name"] for one in json.loads(out)["teammates"]]
        assert names == ["alice", "bob", "carol"], "the dying run's names are free"


def test_a_child_that_left_its_group_dies_with_a_killed_run(
    tmp_path: Path, until: Callable[[Path], None]
) -> None:
    place = quick(tmp_path)
    place.task(1, run="setsid sh -c 'echo $$ > pid; exec sleep 77' & sleep 77")
    run = place.start("run", "--drain")
    until(place.root / "pid")
    run.kill()
    run.communicate()
    assert_ended(place)


def assert_ended(place: Place) -> None:
    """The process whose id stands in `pid` has ended when the lock of its run is free."""
    [lock] = (place.root / ".team" / "runs").glob("*.lock")
    subprocess.run(["flock", "--shared", "--wait", "5", lock, "true"], check=True)
    pid = int((place.root / "pid").read_text())
    stat = Path(f"/proc/{pid}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] in "ZX"


def test_a_command_of_a_subagent_dies_with_a_killed_run(
    tmp_path: Path, until: Callable[[Path], None]
) -> None:
    place = quick(tmp_path)
    command = "setsid sh -c 'echo $$ > pid; exec sleep 77' & sleep 77"
    script = {
        "tasks": {"1": [{"calls": [{"task": {"agent": "task", "tasks": [{"assignment": "x"}]}}]}]},
        "agents": {"task": [{"calls": [{"bash": {"command": command}}]}]},
    }
    (place.root / "script.yaml").write_text(json.dumps(script))
    agents = place.root / ".claude" / "agents"
    agents.mkdir(parents=True)
    (agents / "boss.md").write_text("---\nname: boss\ndescription: x\nspawns: task\n---\nDo it.\n")
    place.task(1, agent="boss")
    run = place.start("run", "--drain", "--model", "script/script.yaml")
    until(place.root / "pid")
    run.kill()
    run.communicate()
    assert_ended(place)


def test_a_signal_ends_a_run_in_time_whoever_holds_the_lock(
    tmp_path: Path, until: Callable[[Path], None]
) -> None:
    place = quick(tmp_path)
    for number in (1, 2, 3, 4):
        place.task(number, run=f"echo > begun{number}; until [ -e go ]; do sleep 0.01; done")
    run = place.start("run", "--drain")
    for number in (1, 2, 3):
        until(place.root / f"begun{number}")
    with locked(place.root / ".team" / "board.lock"):
        # one is at work, two want to write what they have
        (place.root / "go").touch()
        started = time.monotonic()  # noqa: TID251 - real processes take real time
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=20)
        took_s = time.monotonic() - started  # noqa: TID251 - as above
    assert run.returncode == 143
    assert took_s < 1 + 3, "the grace time and three seconds"
    assert place.finish("run", "--drain")[0] == 0


def test_a_task_file_that_is_sealed_stops_nobody_else(
    tmp_path: Path, until: Callable[[Path], None]
) -> None:
    place = quick(tmp_path)
    place.task(1, run="chmod a-w .tasks/task_1.json; echo x >> ran", priority=1)
    for number in (2, 3):
        place.task(number, run="true")
    place.task(4, run="echo > done", blockedBy=[2, 3])
    run = place.start("run", "--drain")
    until(place.root / "done")
    assert place.read(1)["status"] == "in_progress"
    (place.root / ".tasks" / "task_1.json").chmod(0o644)
    out, err = run.communicate(timeout=30)

    assert run.returncode == 0, out + err
    assert [place.read(n)["status"] for n in (1, 2, 3, 4)] == ["completed"] * 4
    assert (place.root / "ran").read_text() == "x\n", (
        "the result was kept, the command not repeated"
    )


def test_a_stale_task_that_is_sealed_stops_nobody(
    tmp_path: Path, until: Callable[[Path], None]
) -> None:
    place = quick(tmp_path)
    place.task(1, run="echo > begun; sleep 77")
    run = place.start("run", "--drain")
    until(place.root / "begun")
    run.kill()
    run.communicate()
    (place.root / ".tasks" / "task_1.json").chmod(0o444)
    place.task(2, run="true")
    place.task(3, run="true")

    assert place.finish("tasks", "claim", "--owner", "zoe", "3")[0] == 0
    code, out, err = place.finish("run", "--drain", "--json")

    assert code == 3, err
    assert place.read(2)["status"] == "completed"
    assert {task["id"]: task["state"] for task in json.loads(out)["tasks"]}[1] == "stale"
    code, out, _ = place.finish("tasks", "check", "--json")
    said = [one["message"] for one in json.loads(out)["problems"] if one["id"] == 1]
    assert any("read-only" in message for message in said), said


def test_a_file_in_two_halves_is_picked_up_by_a_drain(tmp_path: Path) -> None:
    place = quick(tmp_path)
    place.task(1, run="true")
    path = place.root / ".tasks" / "task_2.json"
    path.write_text('{"id": 2, "subject": "late", "ru')
    writer = "import sys,time; time.sleep(1); open(sys.argv[1], 'a').write('n\": \"true\"}')"
    with subprocess.Popen([sys.executable, "-c", writer, os.fspath(path)]):
        code, out, err = place.finish("run", "--drain", "--json")
    assert code == 0, out + err
    assert place.read(2)["status"] == "completed"
