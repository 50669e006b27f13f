"""Two runs on one board at the same time: who does what, who is shown, and how each ends."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

HELD = "echo > begun{0}; until [ -e go ]; do sleep 0.01; done"


def status(place: Place) -> dict[str, Any]:
    code, out, err = place.finish("team", "status", "--json")
    assert code == 0, err
    value: dict[str, Any] = json.loads(out)
    return value


def rosters(place: Place) -> list[dict[str, Any]]:
    files = (place.root / ".team" / "runs").glob("*.json")
    return sorted((json.loads(file.read_bytes()) for file in files), key=lambda one: one["started"])


def test_status_shows_both_runs_and_a_stop_of_one_leaves_its_work_to_the_other(
    place: Place, until: Callable[[Path], None]
) -> None:
    (place.root / "team.yaml").write_text("limits: {grace: 0.2}\n")
    for number in (1, 2):
        place.task(number, run=HELD.format(number))
    first = place.start("run", "--drain", "--json", "--members", "1")
    until(place.root / "begun1")
    second = place.start("run", "--drain", "--json", "--members", "1")
    until(place.root / "begun2")
    # the rosters are written about once a second
    until_working(place, {"alice": 1, "alice-2": 2})
    assert len(status(place)["runs"]) == 2
    _, text, _ = place.finish("team", "status")
    assert sum(f"works in {place.root}" in line for line in text.splitlines()) == 2

    first.send_signal(signal.SIGTERM)
    out1, _ = first.communicate(timeout=30)
    (place.root / "go").touch()
    out2, err2 = second.communicate(timeout=30)

    assert (first.returncode, second.returncode) == (143, 0), err2
    assert [place.read(number)["owner"] for number in (1, 2)] == ["alice-2", "alice-2"]
    assert (place.read(1)["attempt"], place.read(2)["attempt"]) == (2, 1)
    assert json.loads(out1)["exit"] == 143
    assert json.loads(out2)["notes"][0].startswith("alice is taken by run ")
    assert "alice is taken by run " in err2, "said when it comes, not only in the end"
    assert status(place) == {"runs": [], "members": []}


def until_working(place: Place, wanted: dict[str, int | None]) -> None:
    """Wait until `team status` has them at their tasks; the timeout of the test bounds it."""
    shown: dict[str, Any] = {}
    while shown != wanted:
        shown = {one["name"]: one["task"] for one in status(place)["members"]}


def test_a_drain_that_lost_the_race_ends_with_the_other_though_its_poll_is_far(
    place: Place, until: Callable[[Path], None]
) -> None:
    (place.root / "team.yaml").write_text("limits: {poll_interval: 3000, idle_timeout: 9000}\n")
    place.task(1, run=HELD.format(1))
    first = place.start("run", "--drain")
    until(place.root / "begun1")
    second = place.start("run", "--drain", "--json", "--members", "1")
    until_working(place, {"alice": 1, "bob": None, "carol": None, "alice-2": None})
    (place.root / "go").touch()
    _, err1 = first.communicate(timeout=30)
    out2, err2 = second.communicate(timeout=30)
    assert (first.returncode, second.returncode) == (0, 0), err1 + err2
    assert json.loads(out2)["teammates"][0]["tasks"] == []


def test_a_checkout_of_the_board_gives_no_task_to_the_other_run(
    place: Place, until: Callable[[Path], None]
) -> None:
    place.task(1, run="echo x >> ran; until [ -e go ]; do sleep 0.01; done")
    before = place.files()["task_1.json"]
    first = place.start("run", "--drain", "--members", "1")
    until(place.root / "ran")
    second = place.start("run", "--drain", "--members", "1")
    until_working(place, {"alice": 1, "alice-2": None})
    path = place.root / ".tasks" / "task_1.json"
    # as git does it
    path.unlink()
    path.write_bytes(before)
    while place.read(1)["status"] != "in_progress":
        place.finish("tasks", "list")
    (place.root / "go").touch()
    told = [run.communicate(timeout=30) for run in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), told
    assert ((place.root / "ran").read_text(), place.read(1)["owner"]) == ("x\n", "alice")


def test_beside_a_run_that_is_killed_the_other_does_the_rest_and_puts_the_roster_right(
    place: Place, until: Callable[[Path], None]
) -> None:
    (place.root / "team.yaml").write_text("limits: {poll_interval: 0.2}\n")
    place.task(1, run="[ -e again ] || { echo > begun1; sleep 300; }")
    place.task(2, run="true", blockedBy=[1])
    doomed = place.start("run", "--drain")
    until(place.root / "begun1")
    other = place.start("run", "--drain", "--json")
    names: dict[str, int | None] = {"alice": 1, "bob": None, "carol": None}
    until_working(place, {**names, "alice-2": None, "bob-2": None, "carol-2": None})
    (place.root / "again").touch()
    doomed.kill()
    doomed.communicate()
    out, err = other.communicate(timeout=60)

    assert other.returncode == 0, err
    assert [place.read(number)["status"] for number in (1, 2)] == ["completed", "completed"]
    assert place.read(1)["attempt"] == 2
    dead, lived = rosters(place)
    assert (dead["died"], lived.get("died")) == (True, None)
    assert dead["ended"] < lived["ended"]
    assert {(one["status"], one["task"]) for one in dead["members"]} == {("shutdown", None)}
    assert [one["name"] for one in json.loads(out)["teammates"]] == ["alice-2", "bob-2", "carol-2"]
