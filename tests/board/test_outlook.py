"""What is left, for whom, and whether an idle teammate has something to wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from runner.board.outlook import claim_order, coming, outlook, why_not
from runner.board.task import Claimant, Task
from runner.errors import NotClaimable

if TYPE_CHECKING:
    from tests.board.conftest import Desk

ADA = Claimant(name="ada", role="coder")
BO = Claimant(name="bo", role="tester")


def _no_agent(claimant: Claimant) -> Callable[[Task], str | None]:
    return lambda task: f'Unknown agent "{task.agent}"' if task.agent else None


def test_what_is_ready_running_coming_and_stuck(desk: Desk) -> None:
    desk.put(
        {"id": 1},
        {"id": 2, "blockedBy": [1]},
        {"id": 3, "blockedBy": [9]},
        {"id": 4, "blockedBy": [5]},
        {"id": 5, "blockedBy": [4]},
        {"id": 6, "required_role": "judge"},
        {"id": 7, "owner": "cy"},
        {"id": 8, "agent": "none-such"},
        {"id": 10, "retryAt": "2026-03-01T12:01:00Z"},
        {"id": 11, "status": "failed"},
        {"id": 12, "blockedBy": [11]},
        {"id": 13},
        {"id": 14, "blockedBy": [13, 2]},
        {"id": 15, "status": "in_progress", "owner": "lead"},
        {"id": 16, "status": "completed"},
        {"id": 17, "blockedBy": [8]},
        {"id": 18, "blockedBy": [1, 2]},
    )
    with desk.live("r1") as other:
        other.claim(13, Claimant(name="zoe"))
        found = outlook(desk.store().scan(), [ADA, BO], _no_agent)
    assert found.ready == ("1",)
    assert found.running == ("13",)
    assert found.coming == ("13", "2", "10", "14", "18")
    assert not found.nothing_left
    assert found.stuck == {
        "3": "blocked by 9 (missing or unreadable)",
        "4": "waits for the cycle 4 -> 5 -> 4",
        "5": "waits for the cycle 4 -> 5 -> 4",
        "6": "needs role judge",
        "7": "assigned to cy",
        "8": 'Unknown agent "none-such"',
        "12": "blocked by 11 (failed)",
        "15": "in progress by lead, outside any run",
        "17": "blocked by 8 (pending)",
    }


def test_own_running_tasks_leave_nothing_those_of_another_run_may_come_back(desk: Desk) -> None:
    desk.put({}, {"required_role": "judge"})
    with desk.live("r1") as other:
        other.claim(1, ADA)
        other.claim(2, Claimant(name="jo", role="judge"))
        assert outlook(other.scan(), [BO]).nothing_left
        assert outlook(desk.store().scan(), [BO]).coming == ("1",)
        assert outlook(desk.store().scan(), [], None).nothing_left


def test_a_stale_task_is_coming_for_whom_it_belonged_to(desk: Desk) -> None:
    desk.put({}, {"owner": "ada"}, {"blockedBy": [1]})
    desk.dead_claim("r1", 1)
    desk.dead_claim("r1", 2)
    snapshot = desk.store().scan()
    assert outlook(snapshot, [ADA]).coming == ("1", "2", "3")
    assert outlook(snapshot, [BO]).stuck == {"2": "assigned to ada"}


def test_a_half_written_file_keeps_a_drain_for_one_more_look(desk: Desk) -> None:
    desk.half_write(1)
    store = desk.store()
    assert not outlook(store.scan(), [ADA]).nothing_left
    desk.clock.later(5)
    assert outlook(store.scan(), [ADA]).nothing_left


def test_without_anybody_nothing_is_coming(desk: Desk) -> None:
    desk.put({})
    assert outlook(desk.store().scan(), []).stuck == {"1": "nobody to do it"}


def test_tasks_that_were_not_asked_for_are_stuck(desk: Desk) -> None:
    desk.put({}, {})
    found = outlook(desk.store().scan(), [ADA], only=frozenset({"2"}))
    assert (found.ready, list(found.stuck)) == (("2",), ["1"])


def test_refused_are_those_that_wait_for_nothing_but_a_role_or_an_admission(desk: Desk) -> None:
    desk.put(
        {"id": 1},
        {"id": 2, "required_role": "judge"},
        {"id": 3, "agent": "gone"},
        {"id": 4, "agent": "gone", "owner": "ada"},
        {"id": 5, "agent": "gone", "owner": "cy"},
        {"id": 6, "agent": "gone", "blockedBy": [1]},
        {"id": 7, "agent": "gone"},
    )
    snapshot = desk.store().scan()
    found = outlook(snapshot, [ADA, BO], _no_agent, only=frozenset("123456"))
    assert found.refused == {"2", "3", "4"}
    assert found.state(snapshot, snapshot.tasks["3"]) == "unclaimable"
    assert found.state(snapshot, snapshot.tasks["5"]) == "assigned"
    assert outlook(snapshot, [], _no_agent).refused == frozenset()


def test_what_admission_says_goes_before_the_roles_and_owners_of_others(desk: Desk) -> None:
    desk.put({"required_role": "tester", "agent": "x"}, {"owner": "ada", "agent": "y"})
    found = outlook(desk.store().scan(), [ADA, BO], _no_agent)
    assert found.stuck == {"1": 'Unknown agent "x"', "2": 'Unknown agent "y"'}


def test_of_many_alike_one_is_asked_and_only_when_it_matters(desk: Desk) -> None:
    asked: list[str] = []

    def refuses_for(claimant: Claimant) -> Callable[[Task], str | None]:
        asked.append(claimant.name)
        return lambda task: "no"

    many = [Claimant(name=f"w{number}", role="worker") for number in range(50)]
    desk.put({"required_role": "judge"})
    outlook(desk.store().scan(), many, refuses_for)
    assert asked == []
    desk.put({"id": 2}, {"id": 3, "owner": "w7"}, {"id": 4})
    assert outlook(desk.store().scan(), [*many, BO], refuses_for).stuck["3"] == "no"
    assert asked == ["w49", "bo"]


def test_why_not_says_what_is_in_the_way(desk: Desk) -> None:
    desk.put(
        {"id": 1},
        {"id": 2, "blockedBy": list(range(90, 97))},
        {"id": 3, "retryAt": "2026-03-01T13:00:00Z", "attempt": 1},
        {"id": 4, "status": "completed"},
        {"id": 5, "status": "failed", "error": "exit 2"},
        {"id": 6, "status": "failed"},
        {"id": 7, "agent": "x"},
    )
    snapshot = desk.store().scan()
    said = {
        key: why_not(snapshot, task, ADA, _no_agent(ADA)) for key, task in snapshot.tasks.items()
    }
    assert (said.pop("2") or "").count("missing or unreadable") == 5
    assert said == {
        "1": None,
        "3": "retried from 13:00:00 UTC on, after attempt 1",
        "4": "it is completed",
        "5": "failed: exit 2",
        "6": "it is failed",
        "7": 'Unknown agent "x"',
    }


def test_claim_order_puts_own_tasks_first(desk: Desk) -> None:
    desk.put({"id": 2}, {"id": 10, "owner": "ada"}, {"id": 1, "priority": 1})
    tasks = desk.store().scan().tasks.values()
    assert [task.id for task in claim_order(tasks, ADA)] == [10, 1, 2]


def test_what_waits_for_running_work_or_for_its_time_is_coming(desk: Desk) -> None:
    desk.put({}, {"blockedBy": [1]}, {"blockedBy": [2, 1]}, {})
    store = desk.store()
    assert coming(store.scan()) == ()
    with desk.live("r1") as other:
        other.claim(1, Claimant(name="zoe"))
        assert [task.id for task in coming(store.scan())] == [2, 3]
    desk.clock.later(600)
    desk.change(1, status="failed")
    assert coming(store.scan()) == ()
    desk.change(4, retryAt="2026-03-01T12:30:00Z")
    assert [task.id for task in coming(store.scan())] == [4]


def test_what_another_run_holds_is_coming_as_it_was_before_its_claim(desk: Desk) -> None:
    desk.put({}, {"owner": "zoe"}, {"status": "in_progress", "owner": "cy"})
    with desk.live("r1") as other, desk.live("r2") as own:
        other.claim(1, Claimant(name="zoe"))
        own.claim(2, Claimant(name="zoe"))
        assert coming(own.scan()) == ()
        (task,) = coming(own.scan(), held_elsewhere=True)
    assert (task.id, task.status, task.owner) == (1, "pending", None)


def test_a_blocker_opened_again_in_an_editor_blocks_again(desk: Desk) -> None:
    desk.put({}, {"blockedBy": [1]}, {"blockedBy": [2]})
    store = desk.store()
    with desk.live("r1") as run:
        run.complete(run.claim(1, ADA).fence)
    assert desk.raw(2)["unblockedBy"] == [1]
    desk.change(1, status="pending", owner=None)
    snapshot = store.scan()
    assert snapshot.state(snapshot.tasks["2"]) == "blocked"
    assert snapshot.reason(snapshot.tasks["2"]) == "blocked by 1 (pending)"
    assert outlook(snapshot, [ADA]).coming == ("2", "3")
    with pytest.raises(NotClaimable, match="blocked by 1"):
        store.claim(2, ADA)


def test_a_done_blocker_whose_file_is_gone_does_not_block_again(desk: Desk) -> None:
    desk.put({}, {"blockedBy": [1]})
    with desk.live("r1") as run:
        run.complete(run.claim(1, ADA).fence)
    desk.path(1).unlink()
    assert outlook(desk.store().scan(), [ADA]).ready == ("2",)
