"""Whole runs as a user starts them: real processes, a real board, exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


def is_running(pid: int) -> bool:
    """Whether a process runs; a zombie that nobody reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def test_two_drains_run_each_of_fifty_layered_tasks_once_and_in_order(place: Place) -> None:
    for number in range(50):
        layer = number // 10
        before = [] if layer == 0 else list(range((layer - 1) * 10 + 1, layer * 10 + 1))
        place.task(number + 1, run=f"echo {number + 1} >> ran.txt", blockedBy=before)

    first, second = (place.start("run", "--drain", "--json", "--members", "4") for _ in range(2))
    out1, err1 = first.communicate(timeout=80)
    out2, err2 = second.communicate(timeout=80)

    assert (first.returncode, second.returncode) == (0, 0), (err1, err2)
    ran = [int(line) for line in (place.root / "ran.txt").read_text().split()]
    assert Counter(ran) == Counter(range(1, 51))
    layers = [(number - 1) // 10 for number in ran]
    assert layers == sorted(layers)
    assert {json.loads(out)["exit"] for out in (out1, out2)} == {0}
    workers = {e["run"] for e in place.events() if e["event"] == "task.completed"}
    assert len(workers) == 2, "both runs had their share"


def test_a_second_drain_redoes_nothing_and_changes_no_file(place: Place) -> None:
    place.task(1, run="echo once >> ran.txt")
    assert place.finish("run", "--drain")[0] == 0
    before = place.files()

    code, out, _ = place.finish("run", "--drain", "--json")

    assert (code, json.loads(out)["exit"]) == (0, 0)
    assert place.files() == before
    assert (place.root / "ran.txt").read_text() == "once\n"


def test_kill_9_leaves_nothing_running_and_the_next_drain_finishes(
    place: Place, until: Callable[[Path], None]
) -> None:
    pids = place.root / "pids"
    script = "if [ -e again ]; then exit 0; fi; echo $$ > pids; sleep 300 & echo $! >> pids; wait"
    place.task(1, run=script)
    place.task(2, run="true", blockedBy=[1])
    run = place.start("run", "--drain")
    until(pids)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    [lock] = (place.root / ".team" / "runs").glob("*.lock")
    free = subprocess.run(["flock", "--shared", "--wait", "5", lock, "true"], check=False)
    assert free.returncode == 0, "the run lock is free: run, guardian and tools are gone"
    assert not any(is_running(int(pid)) for pid in pids.read_text().split())
    assert place.read(1)["status"] == "in_progress"

    (place.root / "again").touch()
    code, _, err = place.finish("run", "--drain", "--json")

    # the first attempt's death waits out its back-off inside the drain
    assert code == 0, err
    assert [place.read(n)["status"] for n in (1, 2)] == ["completed", "completed"]
    assert place.read(1)["attempt"] == 2
    assert [e["event"] for e in place.events() if e["task"] == 1 and e["event"] == "task.stale"]


def test_sigterm_returns_the_task_within_the_grace_time(
    place: Place, until: Callable[[Path], None]
) -> None:
    (place.root / "team.yaml").write_text("limits: {grace: 0.2}\n")
    place.task(1, run="echo $$ > pid; sleep 300")
    run = place.start("run", "--drain")
    until(place.root / "pid")
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=10)

    assert run.returncode == 143
    task = place.read(1)
    assert (task["status"], task.get("owner") or None) == ("pending", None)
    assert not is_running(int((place.root / "pid").read_text()))


def test_a_failing_task_ends_in_1_and_the_rest_is_done(place: Place) -> None:
    place.task(1, run="exit 7")
    place.task(2, run="true")

    code, out, _ = place.finish("run", "--drain", "--json")

    report = json.loads(out)
    assert (code, report["exit"]) == (1, 1)
    by_id = {task["id"]: task for task in report["tasks"]}
    assert (by_id[1]["status"], by_id[2]["status"]) == ("failed", "completed")
    assert "7" in by_id[1]["error"]


def test_a_board_blocked_for_ever_ends_in_3_and_names_each_with_its_reason(place: Place) -> None:
    place.task(1, run="true", blockedBy=[2])
    place.task(2, run="true", blockedBy=[1])
    place.task(3, run="true", blockedBy=[99])
    (place.root / "team.yaml").write_text("model: script/s.yaml\n")
    (place.root / "s.yaml").write_text("tasks: {}\ndefault: [{text: hi}]\n")
    place.task(4, agent="no-such-agent")

    code, out, err = place.finish("run", "--drain", "--json")

    assert code == 3, err
    reasons = {task["id"]: task["reason"] for task in json.loads(out)["tasks"]}
    assert "cycle" in reasons[1]
    assert "cycle" in reasons[2]
    assert "99" in reasons[3]
    assert 'Unknown agent "no-such-agent". Available: ' in reasons[4]
    _, text, _ = place.finish("run", "--drain")
    assert all(word in text for word in ("cycle", "99", "no-such-agent"))


def test_no_model_ends_in_2_says_the_ways_and_claims_nothing(place: Place) -> None:
    place.task(1, run="true")
    place.task(2, description="Think.")
    before = place.files()

    code, out, err = place.finish("run", "--drain", "--json")

    assert code == 2
    said = out + err
    ways = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "--model", "team.yaml")
    assert all(way in said for way in ways)
    assert json.loads(out)["exit"] == 2
    assert place.files() == before
