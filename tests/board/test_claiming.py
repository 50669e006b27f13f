"""Claims: who gets what, in which order, and that every condition is checked under the lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runner.board.store import Store
from runner.board.task import Claimant, Task
from runner.core.files import locked
from runner.errors import NotClaimable, SaveFailed, TaskNotFound, TaskUnreadable
from tests.board.conftest import ADA, BO, Desk


def _all(store: Store, claimant: Claimant = ADA) -> list[int | str]:
    found = []
    while (task := store.claim_next(claimant)) is not None:
        found.append(task.id)
    return found


def test_own_assigned_tasks_come_first_then_priority_then_natural_order(desk: Desk) -> None:
    desk.put(
        {"id": 10},
        {"id": 2},
        {"id": 3, "priority": "high"},
        {"id": 4, "priority": -1},
        {"id": 5, "owner": "ada", "priority": -9},
        {"id": 6, "owner": "bo", "priority": 9},
        {"id": "b10"},
        {"id": "b9"},
    )
    assert _all(desk.store()) == [5, 3, 2, 10, "b9", "b10", 4]


def test_a_claim_says_who_what_when_and_counts_the_attempt(desk: Desk) -> None:
    desk.put({"id": 1, "owner": "", "attempt": 4, "retryAt": None, "finishedAt": "2026-01-01"})
    with desk.live("r1") as store:
        task = store.claim_next(ADA)
    assert task is not None
    raw = desk.raw(1)
    assert raw["claim"] == {
        "id": task.fence.claim_id,
        "run": "r1",
        "by": "ada",
        "at": "2026-03-01T12:00:00.000Z",
        "source": "run",
        "place": desk.layout.place(),
        "was": "",
    }
    assert (raw["status"], raw["owner"], raw["attempt"]) == ("in_progress", "ada", 5)
    assert "finishedAt" not in raw
    assert "retryAt" not in raw
    (line,) = desk.events("task.claimed")
    assert (line["task"], line["teammate"], line["attempt"]) == (1, "ada", 5)


def test_two_claims_never_have_one_id(desk: Desk) -> None:
    desk.put({}, {})
    store = desk.store()
    first, second = store.claim_next(ADA), store.claim_next(ADA)
    assert first is not None
    assert second is not None
    assert first.fence.claim_id != second.fence.claim_id


def test_a_role_that_is_asked_for_has_to_fit(desk: Desk) -> None:
    desk.put({"id": 1, "required_role": "tester"})
    store = desk.store()
    assert store.claim_next(ADA) is None
    tester = Claimant(name="bo", role="tester")
    task = store.claim_next(tester)
    assert task is not None


def test_only_the_named_tasks_are_claimed(desk: Desk) -> None:
    desk.put({}, {}, {})
    store = desk.store()
    task = store.claim_next(ADA, only=frozenset({"2"}))
    assert task is not None
    assert task.id == 2
    assert store.claim_next(ADA, only=frozenset({"2"})) is None


def test_a_refused_task_is_left_as_it_is_and_the_next_one_taken(desk: Desk) -> None:
    desk.put({"agent": "no-such"}, {})
    before = desk.path(1).read_bytes()

    def refuses_for(claimant: Claimant) -> Callable[[Task], str | None]:
        return lambda task: f"{claimant.name} knows no {task.agent}" if task.agent else None

    store = desk.store()
    task = store.claim_next(ADA, refuses_for=refuses_for)
    assert task is not None
    assert task.id == 2
    assert desk.path(1).read_bytes() == before
    with pytest.raises(NotClaimable, match="task 1: ada knows no no-such"):
        store.claim(1, ADA, refuses_for=refuses_for)


def test_a_task_waits_until_its_retry_time(desk: Desk) -> None:
    desk.put({"retryAt": "2026-03-01T12:00:30Z"})
    store = desk.store()
    assert store.claim_next(ADA) is None
    with pytest.raises(NotClaimable, match="retried from 12:00:30"):
        store.claim(1, ADA)
    desk.clock.later(31)
    task = store.claim_next(ADA)
    assert task is not None
    assert "retryAt" not in desk.raw(1)


@pytest.mark.parametrize("state", ["pending", "in_progress", "failed", "simmering"])
def test_a_blocker_that_is_not_done_blocks(desk: Desk, state: str) -> None:
    desk.put({"id": 1, "status": state, "owner": "lead"}, {"id": 2, "blockedBy": ["1"]})
    assert desk.store().claim_next(BO) is None


def test_a_claim_tidies_away_blockers_that_are_done(desk: Desk) -> None:
    desk.put(
        {"id": 1, "status": "completed"},
        {"id": 2, "status": "deleted"},
        {"id": 3, "blockedBy": ["task_1", 2], "unblockedBy": [9]},
    )
    assert _all(desk.store()) == [3]
    assert (desk.raw(3)["blockedBy"], desk.raw(3)["unblockedBy"]) == ([], [9, "task_1", 2])


@pytest.mark.parametrize(
    "change",
    [
        {"status": "completed"},
        {"status": "in_progress"},
        {"blockedBy": ["9"]},
        {"owner": "bo"},
        {"required_role": "tester"},
        {"owner": 7},
    ],
    ids=repr,
)
def test_a_world_that_changed_before_the_lock_is_respected(
    desk: Desk, change: dict[str, Any]
) -> None:
    desk.put({})
    store = desk.store()

    def refuses_for(claimant: Claimant) -> Callable[[Task], str | None]:
        # asked right before the lock: the last moment for somebody else to come first
        desk.change(1, **change)
        return lambda task: None

    before = desk.raw(1)
    assert store.claim_next(ADA, refuses_for=refuses_for) is None
    assert desk.raw(1) == before | change


def test_a_file_that_has_another_id_at_the_lock_is_claimed_as_that_task(desk: Desk) -> None:
    desk.put({})
    store = desk.store()

    def refuses_for(claimant: Claimant) -> Callable[[Task], str | None]:
        desk.change(1, id=77)
        return lambda task: None

    task = store.claim_next(ADA, refuses_for=refuses_for)
    assert task is not None
    assert (task.id, desk.raw(1)["id"]) == (77, 77)


@pytest.mark.parametrize(
    ("status", "expected"), [("failed", 2), ("Done", 2), ("todo", 1), ("completed", 2)]
)
def test_a_task_whose_status_changed_before_the_lock_is_judged_by_what_it_is_then(
    desk: Desk, status: str, expected: int
) -> None:
    desk.put({}, {})
    store = desk.store()

    def refuses_for(claimant: Claimant) -> Callable[[Task], str | None]:
        desk.change(1, status=status)
        return lambda task: None

    task = store.claim_next(ADA, refuses_for=refuses_for)
    assert task is not None
    assert task.id == expected


def test_a_task_that_others_took_is_offered_again_when_they_give_it_back(desk: Desk) -> None:
    desk.put({"id": 1})
    store, other = desk.store(), desk.store()
    taken: list[Task] = []

    def refuses_for(claimant: Claimant) -> Callable[[Task], str | None]:
        taken.append(other.claim(1, BO))
        return lambda task: None

    assert store.claim_next(ADA, refuses_for=refuses_for) is None
    other.release(taken[0].fence, reason="not today")
    task = store.claim_next(ADA)
    assert task is not None
    assert (task.id, task.owner, task.attempt) == (1, "ada", 2)


def test_a_file_that_is_gone_or_broken_at_the_lock_is_passed_over(desk: Desk) -> None:
    desk.put({}, {}, {})
    store = desk.store()

    def refuses_for(claimant: Claimant) -> Callable[[Task], str | None]:
        desk.path(1).unlink(missing_ok=True)
        desk.path(2).write_text('{"id": 2, "sta')
        return lambda task: None

    task = store.claim_next(ADA, refuses_for=refuses_for)
    assert task is not None
    assert task.id == 3
    assert desk.path(2).read_text() == '{"id": 2, "sta'


def test_a_blocker_reopened_before_the_lock_blocks(desk: Desk) -> None:
    desk.put({"status": "completed"}, {"blockedBy": [1]})
    store = desk.store()

    def refuses_for(claimant: Claimant) -> Callable[[Task], str | None]:
        desk.change(1, status="failed")
        return lambda task: None

    assert store.claim_next(ADA, refuses_for=refuses_for) is None


def test_a_large_board_is_not_swept_between_claims_unless_nothing_is_left(desk: Desk) -> None:
    desk.put(*({"id": number, "status": "completed"} for number in range(1, 300)))
    desk.put({"id": 300}, {"id": 301})
    desk.clock.tick_s = 0.001
    store = desk.store()
    store.scan()
    desk.put({"id": 302, "priority": 9})
    assert _all(store) == [300, 301, 302]
    desk.put({"id": 303}, {"id": 304, "priority": 9})
    desk.clock.later(5)
    assert _all(store) == [304, 303]


def test_after_a_lost_race_the_next_task_of_a_large_board_is_found(desk: Desk) -> None:
    desk.put(*({"id": number, "status": "completed"} for number in range(1, 300)))
    desk.put({"id": 300})
    desk.clock.tick_s = 0.001
    store = desk.store()
    store.scan()
    desk.store().claim(300, BO)
    assert store.claim_next(ADA) is None
    desk.put({"id": 301})
    assert _all(store) == [301]


def test_claiming_one_task_says_why_not(desk: Desk) -> None:
    desk.put(
        {"id": 1, "owner": "bo"},
        {"id": 2, "blockedBy": [1, 99]},
        {"id": 3, "status": "completed"},
        {"id": 4, "status": "in_progress"},
        {"id": 5, "status": "simmering"},
    )
    desk.path(6).write_text("{")
    store = desk.store()
    for task_id, reason in {
        1: "assigned to bo",
        2: "blocked by 1 [(]pending[)]",
        3: "it is completed",
        4: "in progress by nobody",
        5: "is not understood",
    }.items():
        with pytest.raises(NotClaimable, match=reason):
            store.claim(task_id, ADA)
    with pytest.raises(TaskUnreadable, match=r"task_6\.json: not JSON"):
        store.claim(6, ADA)
    for unknown in (77, None):
        with pytest.raises(TaskNotFound):
            store.claim(unknown, ADA)


def test_a_held_task_is_never_given_twice_not_even_to_its_holder(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    store.claim(1, ADA)
    with pytest.raises(NotClaimable, match="claimed by hand by ada"):
        store.claim(1, ADA)


def test_a_claim_by_hand_belongs_to_no_run(desk: Desk) -> None:
    desk.put({}, {})
    for task in (desk.store().claim(1, ADA), desk.store().claim_next(BO)):
        assert task is not None
        assert task.claim is not None
        assert (task.claim.run, task.claim.source) == (None, "manual")
    assert desk.store("r2").return_stale() == []


def test_a_read_only_file_is_not_claimed_and_says_so(desk: Desk) -> None:
    desk.put({}, {})
    desk.path(1).chmod(0o444)
    store = desk.store()
    assert _all(store) == [2]
    snapshot = store.scan()
    assert snapshot.state(snapshot.tasks["1"]) == "unclaimable"
    assert "read-only" in (snapshot.reason(snapshot.tasks["1"]) or "")
    desk.path(1).chmod(0o644)
    assert _all(store) == [1]


def test_a_file_that_turned_read_only_cannot_be_completed(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    task = store.claim(1, ADA)
    desk.path(1).chmod(0o444)
    before = desk.path(1).read_bytes()
    with pytest.raises(SaveFailed, match="read-only"):
        store.complete(task.fence)
    assert desk.path(1).read_bytes() == before


def test_no_board_folder_is_an_empty_board(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    store.scan()
    desk.path(1).unlink()
    desk.layout.tasks.rmdir()
    assert store.claim_next(ADA) is None
    assert not store.scan().tasks


def test_a_stop_ends_the_wait_for_a_claim_without_an_error(desk: Desk) -> None:
    desk.put({})
    store = desk.store(stopping=lambda: True)
    with locked(desk.layout.lock_file):
        assert store.claim_next(ADA) is None
    assert desk.raw(1)["status"] == "pending"
