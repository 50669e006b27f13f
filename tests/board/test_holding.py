"""A claim stands against everything but the file itself; how attempts end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from runner.board.task import Claimant, Fence
from runner.errors import ClaimLost, TaskUnreadable
from tests.board.conftest import ADA, Desk


def test_a_completion_writes_result_and_usage_and_sets_dependants_free(desk: Desk) -> None:
    desk.put(
        {"id": 1, "blocks": [2, 3, 9], "error": "attempt 1: x"},
        {"id": 2, "blockedBy": ["1", 5]},
        {"id": 3, "blocked_by": "task_1"},
        {"id": 4, "blockedBy": [1], "status": "completed"},
        {"id": 5},
    )
    store = desk.store()
    task = store.claim(1, ADA)
    done = store.complete(
        task.fence, result={"n": 1}, usage={"turns": 3}, facts={"verified": False}
    )
    assert (done.status, done.result, done.usage) == ("completed", {"n": 1}, {"turns": 3})
    assert (desk.raw(1)["blocks"], desk.raw(1)["owner"]) == ([9], "ada")
    assert "error" not in desk.raw(1)
    assert (desk.raw(2)["blockedBy"], desk.raw(2)["unblockedBy"]) == ([5], ["1"])
    assert (desk.raw(3)["blocked_by"], desk.raw(3)["unblockedBy"]) == ([], ["task_1"])
    assert "unblockedBy" not in desk.raw(4)
    (line,) = desk.events("task.completed")
    assert (line["teammate"], line["verified"]) == ("ada", False)


def test_a_dependant_that_cannot_be_written_does_not_stop_a_completion(desk: Desk) -> None:
    desk.put({}, {"blockedBy": [1]})
    store = desk.store()
    task = store.claim(1, ADA)
    desk.path(2).chmod(0o444)
    store.complete(task.fence)
    assert desk.raw(1)["status"] == "completed"
    assert desk.raw(2)["blockedBy"] == [1]


def test_null_results_are_kept_only_where_they_say_something(desk: Desk) -> None:
    desk.put({}, {"result": "old"})
    store = desk.store()
    for task_id in (1, 2):
        store.complete(store.claim(task_id, ADA).fence)
    assert "result" not in desk.raw(1)
    assert desk.raw(2)["result"] is None


def test_a_null_that_was_handed_in_as_the_result_is_written(desk: Desk) -> None:
    desk.put({}, {})
    store = desk.store()
    store.complete(store.claim(1, ADA).fence, result=None, has_result=True)
    store.claim(2, ADA)
    store.finish_by_hand(2, owner="ada", result=None, has_result=True)
    assert [desk.raw(task_id)["result"] for task_id in (1, 2)] == [None, None]


def test_a_failure_is_final_and_told(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    task = store.fail(store.claim(1, ADA).fence, error="exit 2", result={"exit": 2}, usage={})
    assert (task.status, task.error, task.result) == ("failed", "exit 2", {"exit": 2})
    assert store.claim_next(ADA) is None
    (line,) = desk.events("task.failed")
    assert line["error"] == "exit 2"


@pytest.mark.parametrize("owner", ["", None, "ada"], ids=repr)
def test_a_release_restores_the_owner_and_keeps_the_attempt(desk: Desk, owner: Any) -> None:
    desk.put({"owner": owner})
    store = desk.store()
    store.release(store.claim(1, ADA).fence, reason="stopped", usage={"turns": 1})
    raw = desk.raw(1)
    assert (raw["status"], raw["owner"], raw["attempt"]) == ("pending", owner, 1)
    assert raw["usage"] == {"turns": 1}
    assert "claim" not in raw
    assert "startedAt" not in raw
    (line,) = desk.events("task.released")
    assert line["reason"] == "stopped"


def test_faults_back_off_twice_as_long_each_time_and_then_fail_with_the_story(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    for attempt, wait_s in ((1, 10), (2, 20)):
        store.release(store.claim(1, ADA).fence, reason=f"overloaded {attempt}", fault=True)
        assert store.claim_next(ADA) is None
        desk.clock.later(wait_s - 0.5)
        assert store.claim_next(ADA) is None
        desk.clock.later(0.5)
    task = store.release(store.claim(1, ADA).fence, reason="overloaded 3", fault=True)
    assert task.status == "failed"
    assert task.error == (
        "given up after 3 faults; attempt 1: overloaded 1; attempt 2: overloaded 2; "
        "attempt 3: overloaded 3"
    )
    assert [line["event"] for line in desk.events()][-2:] == ["task.claimed", "task.failed"]
    assert len(desk.events("task.retried")) == 2


def test_back_off_has_a_cap_and_a_jitter_that_only_shortens(desk: Desk) -> None:
    desk.put({"faults": 40, "maxAttempts": 99}, {"faults": 40, "maxAttempts": 99})
    desk.store().release(desk.store().claim(1, ADA).fence, reason="503", fault=True)
    early = desk.store(chance=lambda: 1.0)
    early.release(early.claim(2, ADA).fence, reason="503", fault=True)
    assert desk.raw(1)["retryAt"] == "2026-03-01T12:05:00.000Z"
    assert desk.raw(2)["retryAt"] == "2026-03-01T12:03:45.000Z"


def test_attempts_that_were_handed_back_use_up_no_fault(desk: Desk) -> None:
    desk.put({"maxAttempts": 2})
    store = desk.store()
    for _ in range(3):
        store.release(store.claim(1, ADA).fence, reason="stopped")
    assert "faults" not in desk.raw(1)
    task = store.release(store.claim(1, ADA).fence, reason="503", fault=True)
    assert (task.status, task.attempt, task.faults) == ("pending", 4, 1)
    assert desk.raw(1)["retryAt"] == "2026-03-01T12:00:10.000Z"
    desk.clock.later(10)
    task = store.release(store.claim(1, ADA).fence, reason="502", fault=True)
    assert (task.status, task.attempt, task.faults) == ("failed", 5, 2)
    assert task.error == "given up after 2 faults; attempt 4: 503; attempt 5: 502"


def test_the_tasks_own_limit_of_faults_wins(desk: Desk) -> None:
    desk.put({"maxAttempts": 1})
    store = desk.store()
    task = store.release(store.claim(1, ADA).fence, reason="503", fault=True)
    assert task.error == "given up after 1 fault; attempt 1: 503"


def test_every_end_of_a_lost_claim_is_refused_and_writes_nothing(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    old = store.claim(1, ADA).fence
    store.release(old, reason="x")
    new = store.claim(1, ADA).fence
    before = desk.bytes()
    ends: list[Callable[[], object]] = [
        lambda: store.complete(old, result=1),
        lambda: store.fail(old, error="e"),
        lambda: store.release(old, reason="r"),
        lambda: store.complete(Fence(key="99", claim_id="c")),
    ]
    for end in ends:
        with pytest.raises(ClaimLost):
            end()
    assert desk.bytes() == before
    assert not store.holds(old)
    assert store.holds(new)
    assert not store.holds(Fence(key="99", claim_id="c"))


def test_a_completed_task_cannot_be_completed_again(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    fence = store.claim(1, ADA).fence
    store.complete(fence)
    with pytest.raises(ClaimLost, match="the task is completed"):
        store.complete(fence)


def test_another_store_may_hold_and_end_the_claim(desk: Desk) -> None:
    desk.put({})
    fence = desk.store().claim(1, ADA).fence
    other = desk.store()
    assert other.holds(fence)
    assert other.complete(fence).status == "completed"


@pytest.mark.parametrize(
    "change",
    [{"status": "pending"}, {"status": "deleted"}, {"claim": None}, {"status": "simmering"}],
    ids=repr,
)
def test_a_change_from_outside_that_takes_the_claim_ends_the_attempt(
    desk: Desk, change: dict[str, Any]
) -> None:
    desk.put({})
    store = desk.store()
    fence = store.claim(1, ADA).fence
    desk.change(1, **change)
    assert not store.holds(fence)
    with pytest.raises(ClaimLost):
        store.complete(fence)


def test_a_change_from_outside_to_other_fields_is_kept(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    fence = store.claim(1, ADA).fence
    desk.change(1, description="more", labels=["x"])
    assert store.holds(fence)
    store.complete(fence)
    assert (desk.raw(1)["description"], desk.raw(1)["labels"]) == ("more", ["x"])


@pytest.mark.parametrize("verb", ["holds", "complete", "claim_next"])
def test_when_only_our_fields_went_back_they_are_restored(desk: Desk, verb: str) -> None:
    desk.put({"id": 1, "blockedBy": [2]}, {"id": 2, "status": "completed"})
    committed = desk.path(1).read_bytes()
    store = desk.store()
    fence = store.claim(1, ADA).fence
    claimed = desk.raw(1)
    desk.path(1).write_bytes(committed)  # what `git checkout` does
    if verb == "complete":
        assert store.complete(fence).status == "completed"
        assert desk.raw(1)["attempt"] == 1
        return
    if verb == "claim_next":
        assert store.claim_next(ADA) is None
    assert store.holds(fence)
    assert desk.raw(1) == claimed
    assert [line.get("restored") for line in desk.events("task.claimed")] == [None, True]


def test_a_checkout_that_changed_more_than_our_fields_ends_the_attempt(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    fence = store.claim(1, ADA).fence
    desk.path(1).write_text(json.dumps({"id": 1, "subject": "Another", "status": "pending"}))
    assert not store.holds(fence)
    with pytest.raises(ClaimLost):
        store.complete(fence)


def test_a_restored_claim_that_somebody_took_first_is_lost(desk: Desk) -> None:
    desk.put({})
    committed = desk.path(1).read_bytes()
    store = desk.store()
    fence = store.claim(1, ADA).fence
    desk.path(1).write_bytes(committed)
    desk.store().claim(1, Claimant(name="bo"))
    assert not store.holds(fence)


def test_a_half_written_file_gets_the_benefit_of_the_doubt_for_a_while(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    fence = store.claim(1, ADA).fence
    whole = desk.path(1).read_bytes()
    desk.half_write(1)
    for _ in range(3):
        assert store.holds(fence)
        desk.clock.later(1)
    assert not store.holds(fence)
    with pytest.raises(ClaimLost, match="cannot be read"):
        store.complete(fence)
    desk.path(1).write_bytes(whole)
    assert store.holds(fence)


@pytest.mark.parametrize("verb", ["complete", "fail", "release"])
def test_an_attempt_cannot_end_while_its_file_is_half_written_and_can_after(
    desk: Desk, verb: str
) -> None:
    desk.put({})
    store = desk.store()
    fence = store.claim(1, ADA).fence
    whole = desk.path(1).read_bytes()
    desk.half_write(1)
    facts = {"fail": {"error": "x"}, "release": {"reason": "x"}}.get(verb, {})
    for _ in range(3):
        assert store.holds(fence)  # somebody else looks too, which costs nothing
        with pytest.raises(TaskUnreadable):
            getattr(store, verb)(fence, **facts)
        desk.clock.later(0.9)
    desk.path(1).write_bytes(whole)
    assert getattr(store, verb)(fence, **facts).status in ("completed", "failed", "pending")


def test_a_release_takes_away_the_owner_key_that_the_claim_brought(desk: Desk) -> None:
    desk.put({"id": 1}, {"id": 2, "owner": None}, {"id": 3, "claimed_by": ""})
    store = desk.store()
    before = {task_id: desk.raw(task_id) for task_id in (1, 2, 3)}
    for task_id in (1, 2, 3):
        store.release(store.claim(task_id, ADA).fence, reason="x")
        assert desk.raw(task_id) == {**before[task_id], "attempt": 1}


def test_a_deleted_file_ends_the_attempt(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    fence = store.claim(1, ADA).fence
    desk.path(1).unlink()
    assert not store.holds(fence)
    assert not store.holds(fence)
    with pytest.raises(ClaimLost, match="No such file"):
        store.complete(fence)


def test_a_file_that_was_away_when_somebody_looked_is_still_held(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    fence = store.claim(1, ADA).fence
    away = desk.path(1).rename(desk.layout.root / "away")
    assert not store.scan().tasks
    away.rename(desk.path(1))
    assert store.holds(fence)
    assert store.complete(fence).status == "completed"


def test_holds_reads_nothing_when_nothing_changed(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    fence = store.claim(1, ADA).fence
    tasks = store.scan().tasks
    assert all(store.holds(fence) for _ in range(3))
    assert store.scan().tasks is tasks


def test_a_journal_that_cannot_be_written_does_not_undo_a_claim(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    desk.layout.cli_journal.mkdir()
    assert store.holds(store.claim(1, ADA).fence)
