"""A save is whole or not at all: deaths at every step, full disks, other writers, lost locks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.board.folder import Folder
from runner.board.outlook import RefusesFor
from runner.board.reading import is_task_file
from runner.board.saving import encode_task
from runner.board.session import Session
from runner.board.store import Store
from runner.board.task import Task
from runner.core.events import Journal
from runner.core.files import LockVanished, locked
from runner.errors import BoardError, SaveFailed
from tests.board.conftest import ADA, BO, Desk

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


def _claimed_after(desk: Desk, meanwhile: Callable[[Task], object]) -> Task:
    """Claim task 1; `meanwhile` runs each time between our read and our write."""

    def refuses(task: Task) -> None:
        meanwhile(task)

    return desk.store().claim(1, ADA, refuses_for=lambda _: refuses)


def test_another_writer_between_read_and_replace_wins_and_we_come_after(desk: Desk) -> None:
    desk.put({})
    interruptions = iter([["theirs"]])

    def write(task: Task) -> None:
        for labels in interruptions:
            desk.change(1, labels=labels)

    task = _claimed_after(desk, write)
    assert (task.attempt, desk.raw(1)["attempt"]) == (1, 1)
    assert desk.raw(1)["labels"] == ["theirs"]


@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_never_rests_is_not_written(desk: Desk, there: bool) -> None:
    desk.put({})

    def replace(task: Task) -> None:
        desk.path(1).unlink()
        if there:
            desk.put({"subject": f"take {task.subject}"})

    expected = "keeps changing" if there else "No such file"
    with pytest.raises(BoardError, match=expected):
        _claimed_after(desk, replace)
    assert desk.path(1).exists() is there


def test_a_lock_file_deleted_while_held_means_start_again(desk: Desk) -> None:
    desk.put({})
    deletions = iter([desk.layout.lock_file])

    def delete(task: Task) -> None:
        for lock_file in deletions:
            lock_file.unlink()

    assert _claimed_after(desk, delete).attempt == 1
    assert len(desk.events("task.claimed")) == 1


def test_a_lock_file_may_be_deleted_many_times(desk: Desk) -> None:
    desk.put({})
    deletions = iter([desk.layout.lock_file] * 8)

    def delete(task: Task) -> None:
        for lock_file in deletions:
            lock_file.unlink()
            return

    assert _claimed_after(desk, delete).attempt == 1
    assert next(deletions, None) is None


def _made_read_only(desk: Desk, task_id: int) -> RefusesFor:
    """The file loses its write bits after the last look at it, as any save may fail."""
    looks = iter(["before the lock", "at the file read again"])

    def refuses(task: Task) -> None:
        if task.id == task_id and "again" in next(looks, ""):
            desk.path(task_id).chmod(0o444)

    return lambda _: refuses


def test_a_task_that_cannot_be_written_is_passed_over_by_a_claim(desk: Desk) -> None:
    desk.put({}, {})
    task = desk.store().claim_next(ADA, refuses_for=_made_read_only(desk, 1))
    assert task is not None
    assert task.id == 2


def test_when_no_other_task_is_left_a_failed_save_is_said(desk: Desk) -> None:
    desk.put({})
    with pytest.raises(SaveFailed, match="read-only"):
        desk.store().claim_next(ADA, refuses_for=_made_read_only(desk, 1))


def test_an_own_claim_that_cannot_be_restored_does_not_stop_the_next(desk: Desk) -> None:
    desk.put({}, {})
    committed = desk.path(1).read_bytes()
    store = desk.store()
    store.claim(1, ADA)
    desk.path(1).write_bytes(committed)
    desk.path(1).chmod(0o444)
    task = store.claim_next(BO)
    assert task is not None
    assert task.id == 2


def test_a_lock_file_that_is_deleted_every_time_is_an_error(desk: Desk) -> None:
    desk.put({})
    desk.clock.tick_s = 0.5  # the lock's timeout is over some time
    with pytest.raises(LockVanished, match="deleted meanwhile"):
        _claimed_after(desk, lambda task: desk.layout.lock_file.unlink())
    assert desk.raw(1)["status"] == "pending"


def test_a_completion_whose_lock_vanished_is_not_done_twice(desk: Desk) -> None:
    desk.put({}, {"blockedBy": [1]})
    journal = Journal(desk.layout.cli_journal, run=None, clock=desk.clock)
    store = Store(desk.layout, clock=desk.clock, journal=journal)
    fence = store.claim(1, ADA).fence
    deletions = iter([desk.layout.lock_file])

    def delete(line: dict[str, Any]) -> None:
        for lock_file in deletions:
            lock_file.unlink()

    journal.subscribe(delete)
    assert store.complete(fence).status == "completed"
    assert next(deletions, None) is None
    assert desk.raw(2)["blockedBy"] == []
    assert len(desk.events("task.completed")) == 1


def test_a_new_file_needs_the_lock_to_be_the_lock(desk: Desk) -> None:
    desk.layout.ensure_team()
    with locked(desk.layout.lock_file) as held:
        session = Session(Folder(desk.layout.tasks), held)
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
