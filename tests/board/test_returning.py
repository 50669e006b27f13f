"""What dead runs, other places and ended attempts left in progress goes back; nothing else does."""

from __future__ import annotations

import pytest

from runner.board.outlook import outlook
from runner.errors import ClaimLost, NotClaimable
from tests.board.conftest import ADA, BO, Desk


def test_a_task_of_a_dead_run_is_returned_by_any_look_and_claimed_again(desk: Desk) -> None:
    desk.put({"owner": ""})
    desk.dead_claim("r1", 1)
    desk.clock.later(60)
    with desk.live("r2") as store:
        snapshot = store.scan()
        assert snapshot.state(snapshot.tasks["1"]) == "stale"
        assert "run r1, which is dead" in (snapshot.reason(snapshot.tasks["1"]) or "")
        task = store.claim_next(BO)
    assert task is not None
    assert task.attempt == 2
    assert task.error == "attempt 1: run r1 died while ada worked on it"
    (line,) = desk.events("task.stale")
    assert (line["task"], line["teammate"], line["dead_run"]) == (1, "ada", "r1")


def test_a_quick_death_backs_off_counted_from_the_claim(desk: Desk) -> None:
    desk.put({})
    desk.dead_claim("r1", 1)
    desk.clock.later(4)
    store = desk.store()
    assert store.claim_next(BO) is None
    assert desk.raw(1)["status"] == "pending"
    (line,) = desk.events("task.stale")
    assert line["retryAt"] == desk.raw(1)["retryAt"]
    assert desk.raw(1)["retryAt"] == "2026-03-01T12:00:10.000Z"
    desk.clock.later(6)
    assert store.claim_next(BO) is not None


def test_a_damaged_time_of_the_claim_counts_from_now(desk: Desk) -> None:
    desk.put({})
    desk.dead_claim("r1", 1)
    desk.change(1, claim=desk.raw(1)["claim"] | {"at": "noon"})
    desk.store().return_stale()
    assert desk.raw(1)["retryAt"] == "2026-03-01T12:00:10.000Z"


def test_a_task_that_kills_its_worker_is_set_aside_and_the_others_are_done(desk: Desk) -> None:
    desk.put({}, {"blockedBy": []})
    for run in ("r1", "r2", "r3"):
        desk.dead_claim(run, 1)
        desk.clock.later(3600)
        desk.store().return_stale()
    store = desk.store()
    task = store.claim_next(BO)
    assert task is not None
    assert task.id == 2
    raw = desk.raw(1)
    assert (raw["status"], raw["attempt"]) == ("failed", 3)
    assert raw["error"].startswith("given up after 3 faults; attempt 1: run r1 died")
    assert "attempt 3: run r3 died" in raw["error"]
    assert len(desk.events("task.stale")) == 3
    assert len(desk.events("task.failed")) == 1


def test_a_slow_but_living_run_keeps_its_task(desk: Desk) -> None:
    desk.put({})
    with desk.live("r1") as slow:
        fence = slow.claim(1, ADA).fence
        desk.clock.later(25 * 60)
        assert desk.store("r2").claim_next(BO) is None
        assert slow.holds(fence)


def test_the_late_completion_of_a_returned_task_is_refused(desk: Desk) -> None:
    desk.put({})
    with desk.live("r1") as late:
        fence = late.claim(1, ADA).fence
    desk.clock.later(60)
    other = desk.store().claim(1, BO)
    with pytest.raises(ClaimLost, match="held by bo"):
        late.complete(fence, result="late")
    assert desk.store().holds(other.fence)


def test_claims_of_another_place_are_left_alone_until_taken_over(desk: Desk) -> None:
    desk.put({})
    desk.dead_claim("r1", 1)
    desk.change(1, claim=desk.raw(1)["claim"] | {"place": "attic:123"})
    store = desk.store()
    snapshot = store.scan()
    assert snapshot.state(snapshot.tasks["1"]) == "in_progress"
    assert "held elsewhere by ada on attic" in (snapshot.reason(snapshot.tasks["1"]) or "")
    assert [problem.kind for problem in snapshot.problems] == ["held-elsewhere"]
    assert store.claim_next(BO) is None
    assert store.take_over(only={"2"}) == []
    assert [task.status for task in store.take_over(only={"1"})] == ["pending"]
    assert store.claim_next(BO) is not None
    assert store.take_over() == []


def test_a_claim_by_hand_is_never_stale(desk: Desk) -> None:
    desk.put({})
    desk.store().claim(1, ADA)
    store = desk.store()
    snapshot = store.scan()
    assert snapshot.state(snapshot.tasks["1"]) == "in_progress"
    assert not snapshot.problems
    with pytest.raises(NotClaimable):
        store.claim(1, BO)


def test_progress_without_a_claim_of_ours_is_left_alone(desk: Desk) -> None:
    desk.put({"status": "in_progress", "owner": "cy"}, {"status": "in_progress", "owner": "lead"})
    before = desk.bytes()
    store = desk.store()
    assert store.claim_next(ADA) is None
    assert [(problem.kind, problem.id) for problem in store.scan().problems] == [
        ("unheld-in-progress", 1)
    ]
    assert desk.bytes() == before


def test_a_stale_task_that_somebody_broke_meanwhile_is_passed_over(desk: Desk) -> None:
    desk.put({}, {}, {})
    for task_id in (1, 2, 3):
        desk.dead_claim("r1", task_id)

    def chance() -> float:
        """Asked while the first of them is returned."""
        if desk.path(1).stat().st_size > 1:
            desk.path(1).write_text("{")
            desk.change(2, status="completed")
        return 0.0

    assert [task.id for task in desk.store(chance=chance).return_stale()] == [3]


def test_a_stale_task_that_cannot_be_written_does_not_stop_the_others(desk: Desk) -> None:
    desk.put({}, {})
    desk.dead_claim("r1", 1)
    desk.path(1).chmod(0o444)
    desk.clock.later(60)
    task = desk.store().claim_next(BO)
    assert task is not None
    assert task.id == 2


def test_a_claim_that_was_lost_is_not_restored_later(desk: Desk) -> None:
    desk.put({})
    committed = desk.path(1).read_bytes()
    store = desk.store()
    fence = store.claim(1, ADA).fence
    desk.change(1, status="failed")
    with pytest.raises(ClaimLost):
        store.complete(fence)
    desk.path(1).write_bytes(committed)
    assert not store.holds(fence)


def test_a_stale_task_without_write_bits_is_reported_and_waited_for_by_nobody(desk: Desk) -> None:
    desk.put({}, {}, {"status": "completed"})
    desk.dead_claim("r1", 1)
    for task_id in (1, 3):
        desk.path(task_id).chmod(0o444)
    with desk.live("r2") as store:
        for _ in range(2):
            assert store.return_stale() == []
        assert store.claim(2, BO).id == 2
        snapshot = store.scan()
    (problem,) = [one for one in snapshot.problems if one.kind == "bad-field"]
    assert (problem.severity, problem.file) == ("warning", "task_1.json")
    assert "read-only" in problem.message
    left = outlook(snapshot, [BO])
    assert left.nothing_left
    assert "read-only" in left.stuck["1"]


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00+14:00"])
def test_a_claim_from_the_end_of_time_is_returned_like_one_made_now(desk: Desk, at: str) -> None:
    desk.put({})
    desk.dead_claim("r1", 1)
    desk.change(1, claim=desk.raw(1)["claim"] | {"at": at})
    desk.store().return_stale()
    assert desk.raw(1)["retryAt"] == "2026-03-01T12:00:10.000Z"
