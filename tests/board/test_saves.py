"""A save is whole or not at all: deaths at every step, full disks, other writers, lost locks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.board.reading import is_task_file
from runner.board.saving import encode_task
from runner.board.session import Session
from runner.board.task import Task
from runner.core.files import LockVanished, locked
from runner.errors import SaveFailed
from tests.board.conftest import ADA, Desk

if TYPE_CHECKING:
    from runner.board.saving import Changes

_CRASHER = Path(__file__).parent / "crasher.py"


def _output_of(argv: list[str]) -> str:
    """Run a child that cannot write down a measurement: it dies, or has no room for it."""
    environment = {key: text for key, text in os.environ.items() if "COVERAGE" not in key}
    ended = subprocess.run(argv, stdout=subprocess.PIPE, check=True, env=environment, text=True)
    return ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["claim", "complete", "add"])
def test_a_death_at_any_step_leaves_the_old_or_the_new_file(desk: Desk, verb: str) -> None:
    desk.put({"id": 1, "subject": "grün"}, {"id": 2, "blockedBy": [1]})
    argv = [sys.executable, str(_CRASHER), str(desk.layout.root), verb]
    deaths = json.loads(_output_of(argv))
    assert len(deaths) > 20
    statuses = {"claim": {"pending", "in_progress"}, "complete": {"in_progress", "completed"}}
    for left in deaths:
        tasks = {name: json.loads(text) for name, text in left.items() if is_task_file(name)}
        first = tasks.pop("task_1.json")
        assert (first["subject"], tasks.pop("task_2.json")["id"]) == ("grün", 2)
        assert first["status"] in statuses.get(verb, {"pending"})
        # an id burnt by a death is not given again
        assert [task["subject"] for task in tasks.values()] in ([], ["new"])
    assert not [name for name in deaths[-1] if not is_task_file(name)]


@pytest.mark.slow
def test_on_a_full_disk_a_claim_does_not_count(desk: Desk) -> None:
    desk.put({"description": "long " * 2000})
    before = desk.bytes()
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from runner.board.board import Board\n"
        "from runner.board.task import Claimant\n"
        "from runner.errors import SaveFailed\n"
        "store = Board(Path(sys.argv[1])).store\n"
        "store.layout.ensure_team()\n"
        "store.layout.place()\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n"
        "    store.claim_next(Claimant(name='ada'))\n"
        "except SaveFailed as error:\n"
        "    print(error)\n"
    )
    argv = [sys.executable, "-c", script, str(desk.layout.root)]
    said = _output_of(argv)
    assert "task_1.json could not be saved: File too large; the old content" in said
    assert desk.bytes() == before
    assert desk.store().claim_next(ADA) is not None


def test_another_writer_between_read_and_replace_wins_and_we_come_after(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    interrupted = iter([True])

    def decide(task: Task) -> Changes:
        if next(interrupted, False):
            desk.change(1, labels=["theirs"])
        return {"priority": 5}

    _, task = store._hop(lambda session: session.rewrite("task_1.json", decide))
    assert task.priority == 5
    assert desk.raw(1)["labels"] == ["theirs"]


@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_never_rests_is_not_written(desk: Desk, there: bool) -> None:
    desk.put({})
    store = desk.store()

    def decide(task: Task) -> Changes:
        desk.path(1).unlink()
        desk.put({"subject": f"take {task.subject}"})
        return {"priority": 5}

    def vanish(task: Task) -> Changes:
        desk.path(1).unlink()
        return {"priority": 5}

    expected = "keeps changing" if there else "No such file"
    with pytest.raises(Exception, match=expected):
        store._hop(lambda session: session.rewrite("task_1.json", decide if there else vanish))
    assert desk.path(1).exists() is there


def test_a_lock_file_deleted_while_held_means_start_again(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    deletions = iter([True])

    def decide(task: Task) -> Changes:
        if next(deletions, False):
            desk.layout.lock_file.unlink()
        return {"priority": task.priority + 1}

    _, task = store._hop(lambda session: session.rewrite("task_1.json", decide))
    assert task.priority == 1


def test_a_lock_file_that_is_deleted_every_time_is_an_error(desk: Desk) -> None:
    desk.put({})
    store = desk.store()

    def decide(task: Task) -> Changes:
        desk.layout.lock_file.unlink()
        return {"priority": 1}

    with pytest.raises(LockVanished, match="deleted meanwhile"):
        store._hop(lambda session: session.rewrite("task_1.json", decide))
    assert "priority" not in desk.raw(1)


def test_a_completion_whose_lock_vanished_is_not_done_twice(desk: Desk) -> None:
    desk.put({}, {"blockedBy": [1]})
    store = desk.store()
    fence = store.claim(1, ADA).fence
    vanish = iter([desk.layout.lock_file])
    unblock = store._unblock

    def interrupted(session: Session, key: str) -> None:
        for lock_file in vanish:
            lock_file.unlink()
        unblock(session, key)

    store._unblock = interrupted  # type: ignore[method-assign]
    assert store.complete(fence).status == "completed"
    assert desk.raw(2)["blockedBy"] == []
    assert len(desk.events("task.completed")) == 1


def test_a_new_file_needs_the_lock_to_be_the_lock(desk: Desk) -> None:
    desk.layout.ensure_team()
    store = desk.store()
    with locked(desk.layout.lock_file) as held:
        session = Session(store._folder, held)
        desk.layout.lock_file.unlink()
        with pytest.raises(LockVanished):
            session.create("task_1.json", b"{}")
    assert not desk.path(1).exists()


def test_a_value_that_json_cannot_hold_is_a_failed_save() -> None:
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    for value in (deep, {1, 2}):
        with pytest.raises(SaveFailed, match="cannot be written as JSON"):
            encode_task("task_1.json", {"x": value})
