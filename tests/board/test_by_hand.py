"""What people do by hand: fenced by claim or owner, and by force against a live run."""

from __future__ import annotations

from typing import Any

import pytest

from runner.board.store import Store
from runner.errors import ClaimLost, NotHeld, TaskHeld, UsageError
from tests.board.conftest import ADA, BO, Desk

_VERBS = ["finish_by_hand", "fail_by_hand", "release_by_hand"]


def _end(store: Store, verb: str, task_id: object, **how: Any) -> str:
    return str(getattr(store, verb)(task_id, **how).status)


@pytest.mark.parametrize("verb", _VERBS)
def test_the_holder_ends_a_claim_by_hand(desk: Desk, verb: str) -> None:
    desk.put({}, {})
    store = desk.store()
    claim_id = store.claim(1, ADA).fence.claim_id
    store.claim(2, ADA)
    expected = {"finish_by_hand": "completed", "fail_by_hand": "failed"}.get(verb, "pending")
    assert _end(desk.store(), verb, 1, claim_id=claim_id) == expected
    assert _end(desk.store(), verb, 2, owner="ada") == expected
    assert desk.events()[-1]["by_hand"] is True


@pytest.mark.parametrize("verb", _VERBS)
def test_nobody_else_ends_it_without_force(desk: Desk, verb: str) -> None:
    desk.put({})
    store = desk.store()
    store.claim(1, ADA)
    before = desk.bytes()
    with pytest.raises(ClaimLost, match="claimed by hand by ada"):
        _end(store, verb, 1, claim_id="other")
    for how in ({"owner": "bo"}, {}):
        with pytest.raises(TaskHeld, match="ada"):
            _end(store, verb, 1, **how)
    assert desk.bytes() == before
    _end(store, verb, 1, force=True)
    assert desk.raw(1)["status"] != "in_progress"


@pytest.mark.parametrize("verb", _VERBS)
def test_a_task_of_a_live_run_needs_force(desk: Desk, verb: str) -> None:
    desk.put({})
    with desk.live("r1") as run:
        fence = run.claim(1, ADA).fence
        for how in ({"claim_id": fence.claim_id}, {"owner": "ada"}, {}):
            with pytest.raises(TaskHeld, match="run r1"):
                _end(desk.store(), verb, 1, **how)
        _end(desk.store(), verb, 1, force=True)
        assert not run.holds(fence)


def test_what_is_not_in_progress_cannot_be_finished_by_its_owner(desk: Desk) -> None:
    desk.put({"owner": "ada"}, {"status": "simmering"})
    for task_id in (1, 2):
        with pytest.raises(ClaimLost):
            desk.store().finish_by_hand(task_id, owner="ada")
    assert desk.store().finish_by_hand(1, force=True, result=[1]).result == [1]


def test_claims_of_dead_runs_other_places_and_strangers_are_freed_without_proof(desk: Desk) -> None:
    desk.put({}, {}, {"status": "in_progress", "owner": "cy"})
    desk.dead_claim("r1", 1)
    desk.dead_claim("r1", 2)
    desk.change(2, claim=desk.raw(2)["claim"] | {"place": "attic:123"})
    store = desk.store()
    for task_id in (1, 2, 3):
        task = store.release_by_hand(task_id, reason="mine now")
        assert (task.status, task.owner) == ("pending", None)
    with pytest.raises(ClaimLost, match="pending"):
        store.release_by_hand(1)


@pytest.mark.parametrize(
    ("status", "hint"),
    [("completed", "retry 1 --force"), ("deleted", "retry 1 --force"), ("failed", "retry 1`")],
)
@pytest.mark.parametrize("how", [{"force": True}, {"owner": "ada"}, {}], ids=repr)
def test_what_has_ended_is_not_released_but_retried(
    desk: Desk, status: str, hint: str, how: dict[str, Any]
) -> None:
    desk.put({"status": status, "owner": "ada", "result": 1})
    before = desk.bytes()
    with pytest.raises(
        ClaimLost, match=f"nobody holds task 1, it is {status}; `runner tasks {hint}"
    ):
        desk.store().release_by_hand(1, **how)
    assert desk.bytes() == before


def test_who_holds_a_task_is_told_without_a_change(desk: Desk) -> None:
    desk.put({}, {})
    store = desk.store()
    store.claim(1, ADA)
    before = desk.bytes()
    assert store.held_by_hand(1, owner="ada").id == 1
    assert store.held_by_hand(2, force=True).id == 2
    with pytest.raises(TaskHeld, match="ada"):
        store.held_by_hand(1, owner="eve")
    with pytest.raises(ClaimLost, match="nobody holds task 2, it is pending; `runner tasks claim"):
        store.held_by_hand(2, owner="ada")
    assert desk.bytes() == before


def test_an_edit_changes_and_removes_fields_in_place(desk: Desk) -> None:
    desk.put({"id": 1, "title": "Old", "labels": ["x"], "claim_role": "a", "zz": 1})
    store = desk.store()
    store.edit(1, {"title": "New", "labels": None, "required_role": "b", "priority": 2})
    raw = desk.raw(1)
    assert (raw["title"], raw["claim_role"], raw["priority"], raw["zz"]) == ("New", "b", 2, 1)
    assert "labels" not in raw
    assert "required_role" not in raw
    (line,) = desk.events("task.edited")
    assert line["fields"] == ["labels", "priority", "required_role", "title"]


def test_an_edit_keeps_blocks_of_the_blockers_in_step(desk: Desk) -> None:
    desk.put(
        {"id": 1, "blocks": [3]}, {"id": 2, "blocks": []}, {"id": 3, "blockedBy": [1]}, {"id": 4}
    )
    desk.store().edit(3, {"blockedBy": [2, 4, 99]})
    assert (desk.raw(1)["blocks"], desk.raw(2)["blocks"]) == ([], [3])
    assert "blocks" not in desk.raw(4)


@pytest.mark.parametrize(
    "changes",
    [
        {"owner": 7},
        {"id": 2},
        {"attempt": 0},
        {"claim": None},
        {"result": 1},
        {"error": None},
        {"status": "in_progress"},
        {"status": "simmering"},
        {"blockedBy": {}},
    ],
    ids=repr,
)
def test_an_edit_that_would_break_the_file_is_refused(desk: Desk, changes: dict[str, Any]) -> None:
    desk.put({"id": 1, "subject": "s"}, {"id": "x"})
    before = desk.bytes()
    with pytest.raises(UsageError):
        desk.store().edit("x", changes)
    assert desk.bytes() == before


def test_an_edit_of_a_file_that_is_wrong_already_may_mend_it(desk: Desk) -> None:
    desk.put({"owner": 7, "agent": 5})
    store = desk.store()
    store.edit(1, {"agent": "task"})
    assert desk.raw(1)["agent"] == "task"
    store.edit(1, {"owner": None})
    assert store.claim_next(ADA) is not None


@pytest.mark.parametrize("verb", ["edit", "delete", "retry"])
def test_a_live_task_is_changed_by_force_only(desk: Desk, verb: str) -> None:
    desk.put({})
    with desk.live("r1") as run:
        run.claim(1, ADA)
        store = desk.store()
        args: tuple[Any, ...] = (1, {"priority": 2}) if verb == "edit" else (1,)
        with pytest.raises(TaskHeld):
            getattr(store, verb)(*args)
        getattr(store, verb)(*args, force=True)


def test_a_deleted_task_keeps_its_file_and_blocks_nobody(desk: Desk) -> None:
    desk.put({}, {"blockedBy": [1]})
    store = desk.store()
    assert store.delete(1).status == "deleted"
    assert store.delete(1).status == "deleted"
    assert len(desk.events("task.deleted")) == 1
    task = store.claim_next(ADA)
    assert task is not None
    assert task.id == 2


def test_a_retry_makes_a_failed_or_waiting_task_pending_at_once(desk: Desk) -> None:
    desk.put({"owner": "ada"}, {})
    store = desk.store()
    store.fail(store.claim(1, ADA).fence, error="e", result=1)
    store.release(store.claim(2, ADA).fence, reason="503", fault=True)
    for task_id in (1, 2):
        task = store.retry(task_id)
        assert (task.status, task.error, task.result, task.retry_at) == (
            "pending",
            None,
            None,
            None,
        )
        assert (task.attempt, task.faults) == (1, 0)
        assert "faults" not in task.raw
    assert (desk.raw(1)["owner"], "owner" in desk.raw(2)) == ("ada", False)
    before = desk.bytes()
    store.retry(1)
    assert desk.bytes() == before


def test_a_reopened_task_blocks_again_what_it_blocked(desk: Desk) -> None:
    desk.put(
        {"id": 1, "blocks": [2, 3]},
        {"id": 2, "blockedBy": [1]},
        {"id": 3, "blockedBy": ["1"]},
    )
    store = desk.store()
    store.complete(store.claim(1, ADA).fence, result="x")
    store.complete(store.claim(2, ADA).fence)
    with pytest.raises(UsageError, match="--force reopens it"):
        store.retry(1)
    assert store.retry(1, force=True).status == "pending"
    assert (desk.raw(3)["blockedBy"], desk.raw(3)["unblockedBy"]) == (["1"], [])
    assert desk.raw(2)["unblockedBy"] == [1]
    assert desk.raw(1)["blocks"] == [3]
    assert [task.id for task in [store.claim_next(ADA)] if task] == [1]


def test_a_reopened_task_lists_again_what_it_listed_in_that_order(desk: Desk) -> None:
    listed = [7, "task_3", 9, 2]
    desk.put(
        {"id": 1, "blocks": listed}, {"id": 9}, *({"id": n, "blockedBy": [1]} for n in range(2, 9))
    )
    store = desk.store()
    store.complete(store.claim(1, ADA).fence)
    assert desk.raw(1)["blocks"] == [9]
    store.retry(1, force=True)
    assert desk.raw(1)["blocks"] == [9, 7, "task_3", 2]
    assert "claim" not in desk.raw(1)


def test_a_task_finished_without_a_claim_lists_all_that_wait_for_it_again(desk: Desk) -> None:
    desk.put({"id": 1, "blocks": [3]}, *({"id": n, "blockedBy": [1]} for n in (2, 3, 4)))
    store = desk.store()
    store.edit(1, {"status": "completed"})
    assert desk.raw(1)["blocks"] == []
    store.retry(1, force=True)
    assert desk.raw(1)["blocks"] == [2, 3, 4]


@pytest.mark.parametrize("verb", ["finish_by_hand", "fail_by_hand", "release_by_hand"])
def test_whoever_ends_a_task_that_nobody_holds_is_told_how_to_claim_it(
    desk: Desk, verb: str
) -> None:
    desk.put({})
    end = getattr(desk.store(), verb)
    with pytest.raises(NotHeld) as caught:
        end(1, owner="ada")
    assert str(caught.value) == (
        "nobody holds task 1, it is pending; `runner tasks claim --owner NAME 1` claims it"
    )
    with pytest.raises(ClaimLost, match="the claim is gone"):
        end(1, claim_id="c")


def test_a_held_task_is_said_to_be_held_once(desk: Desk) -> None:
    desk.put({}, {})
    store = desk.store()
    store.claim(1, BO)
    with desk.live("r1") as run:
        run.claim(2, ADA)
        for task_id, how in ((1, "claimed by hand by bo"), (2, "held by ada of run r1")):
            with pytest.raises(TaskHeld) as caught:
                store.finish_by_hand(task_id, owner="eve")
            assert str(caught.value) == f"task {task_id} is {how}; use --force to take it away"


def test_a_status_edited_by_hand_means_the_same_for_the_others(desk: Desk) -> None:
    desk.put({}, {"blockedBy": [1]})
    store = desk.store()
    store.edit(1, {"status": "completed"})
    assert desk.raw(2)["blockedBy"] == []
    store.edit(1, {"status": "completed", "priority": 1})
    store.edit(1, {"status": "failed"})
    assert desk.raw(2)["blockedBy"] == [1]
    store.edit(1, {"status": "pending"})
    assert desk.raw(1)["status"] == "pending"


def test_a_held_by_hand_task_is_not_retried(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    store.claim(1, ADA)
    with pytest.raises(TaskHeld):
        store.retry(1)


def test_tidying_takes_done_blockers_out_of_the_lists_and_nothing_else(desk: Desk) -> None:
    desk.put(
        {"id": 1, "status": "completed", "blockedBy": [9]},
        {"id": 2, "blockedBy": [1, 3]},
        {"id": 3, "blockedBy": [4]},
    )
    store = desk.store()
    assert [task.id for task in store.tidy()] == [2]
    assert (desk.raw(2)["blockedBy"], desk.raw(2)["unblockedBy"]) == ([3], [1])
    assert desk.raw(1)["blockedBy"] == [9]
    assert store.tidy() == []
