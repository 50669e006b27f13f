"""Runs from git worktrees: one board, that of the main checkout, and a workspace for each."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def linked(place: Place) -> Place:
    """A worktree of the repository that the board is committed in."""
    git(place.root, "init", "--quiet")
    git(place.root, "add", ".tasks")
    git(place.root, "commit", "--quiet", "--message", "board")
    git(place.root, "worktree", "add", "--quiet", "--detach", "../linked")
    return Place(place.root.parent / "linked")


@pytest.fixture
def main(tmp_path: Path) -> Place:
    root = tmp_path / "main"
    (root / ".tasks").mkdir(parents=True)
    return Place(root)


def test_runs_of_two_worktrees_share_the_board_and_each_works_in_its_own(main: Place) -> None:
    # neither ends before both runs have begun one
    both = "until [ -e ../began.main ] && [ -e ../began.linked ]; do sleep 0.01; done"
    for number in (1, 2):
        main.task(number, run=f': > "../began.$(basename "$PWD")"; {both}; pwd >> ../ran')
    for number in range(3, 13):
        main.task(number, run="pwd >> ../ran", blockedBy=[1, 2])
    place = linked(main)
    copy = place.files()

    first = main.start("run", "--drain", "--json", "--members", "1")
    second = place.start("run", "--drain", "--json", "--members", "1")
    out1, err1 = first.communicate(timeout=60)
    out2, err2 = second.communicate(timeout=60)

    assert (first.returncode, second.returncode) == (0, 0), err1 + err2
    ran = (main.root.parent / "ran").read_text().split()
    assert len(ran) == 12
    assert set(ran) == {str(main.root), str(place.root)}
    for out in (out1, out2):
        assert {task["status"] for task in json.loads(out)["tasks"]} == {"completed"}
    names = [mate["name"] for out in (out1, out2) for mate in json.loads(out)["teammates"]]
    assert sorted(names) == ["alice", "alice-2"]
    assert f"works in {place.root}" in err2
    assert place.files() == copy, "what git put into the worktree is no board"
    assert not (place.root / ".team").exists()


def test_every_command_in_a_worktree_sees_the_runs_and_the_tasks_of_the_main_checkout(
    main: Place, until: Callable[[Path], None]
) -> None:
    main.task(1, run="echo > ../begun; until [ -e ../go ]; do sleep 0.01; done")
    place = linked(main)
    run = place.start("run", "--drain", "--members", "1")
    until(main.root.parent / "begun")
    for where in (main, place):
        _, out, _ = where.finish("team", "status", "--json")
        assert [one["workspace"] for one in json.loads(out)["runs"]] == [str(place.root)]
        _, out, _ = where.finish("tasks", "list", "--json")
        assert [one["state"] for one in json.loads(out)] == ["in_progress"]
    assert main.finish("tasks", "done", "1", "--owner", "alice")[0] == 1
    (main.root.parent / "go").touch()
    run.communicate(timeout=30)
    assert run.returncode == 0
    assert place.finish("team", "send", "alice", "well done")[0] == 0
    assert "well done" in main.finish("team", "inbox", "alice")[1]


def test_an_agent_writes_into_its_worktree_and_never_into_a_board(main: Place) -> None:
    main.task(1, description="Write it.")
    place = linked(main)
    (main.root / "team.yaml").write_text("model: script/s.yaml\n")
    written = [
        {"write": {"path": path, "content": "here"}}
        for path in ("out.txt", ".tasks/task_9.json", str(main.root / ".tasks" / "task_9.json"))
    ]
    turns = [{"calls": written}, {"calls": [{"submit_result": {"data": "done"}}]}]
    (main.root / "s.yaml").write_text(json.dumps({"tasks": {"1": turns}}))

    code, _, err = place.finish("run", "--drain")

    assert code == 0, err
    assert (place.root / "out.txt").read_text() == "here"
    assert not (main.root / "out.txt").exists()
    assert list(main.files()) == list(place.files()) == ["task_1.json"]


def test_a_checkout_in_either_place_takes_no_task_from_a_run(
    main: Place, until: Callable[[Path], None]
) -> None:
    main.task(1, run="echo x >> ../begun; until [ -e ../go ]; do sleep 0.01; done")
    place = linked(main)
    # no poll is near: the run is told
    (main.root / "team.yaml").write_text("limits: {poll_interval: 3000, idle_timeout: 9000}\n")
    run = place.start("run", "--drain", "--members", "1")
    until(main.root.parent / "begun")
    for where in (main, place):
        git(where.root, "checkout", "--", ".tasks")
    while main.read(1)["status"] != "in_progress":
        main.finish("tasks", "list")
    (main.root.parent / "go").touch()
    _, err = run.communicate(timeout=30)

    assert run.returncode == 0, err
    assert (main.read(1)["status"], main.read(1)["attempt"]) == ("completed", 1)
    assert (main.root.parent / "begun").read_text() == "x\n"


def test_a_worktree_that_is_removed_under_its_run_costs_the_board_nothing(
    main: Place, until: Callable[[Path], None]
) -> None:
    for number in range(1, 6):
        main.task(number, run="echo > ../begun; [ -e ../gone ] || sleep 1; echo here > file")
    place = linked(main)
    run = place.start("run", "--drain", "--members", "1")
    until(main.root.parent / "begun")
    git(main.root, "worktree", "remove", "--force", str(place.root))
    (main.root.parent / "gone").touch()
    out, err = run.communicate(timeout=30)

    assert run.returncode == 3, err
    assert f"the workspace {place.root} is gone" in out
    assert {main.read(number)["status"] for number in range(1, 6)} == {"pending"}
    assert main.finish("run", "--drain")[0] == 0
