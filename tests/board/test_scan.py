"""A scan: cached, settled when at rest, everything odd said once and nothing written."""

from __future__ import annotations

import os
from typing import Any

import pytest

from runner.board.outlook import outlook
from runner.board.snapshot import Snapshot
from runner.board.store import Store
from tests.board.conftest import ADA, Desk


def _kinds(snapshot: Snapshot) -> list[tuple[str, Any]]:
    return [(problem.kind, problem.file) for problem in snapshot.problems]


def test_an_unchanged_board_is_not_read_again(desk: Desk) -> None:
    desk.put({}, {})
    store = desk.store()
    first = store.scan()
    desk.clock.later(5)
    second = store.scan()
    assert second.tasks is first.tasks
    assert second.now > first.now


def test_changed_new_and_removed_files_are_seen(desk: Desk) -> None:
    desk.put({}, {})
    store = desk.store()
    store.scan()
    desk.change(1, priority=5)
    desk.path(2).unlink()
    desk.put({"id": 3, "blockedBy": [1]})
    tasks = store.scan().tasks
    assert {key: task.priority for key, task in tasks.items()} == {"1": 5, "3": 0}


def test_a_snapshot_does_not_change_behind_the_back_of_its_reader(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    snapshot = store.scan()
    store.claim(1, ADA)
    assert snapshot.tasks["1"].status == "pending"


def test_a_half_written_file_is_picked_up_whole_without_a_word(desk: Desk) -> None:
    text = '{"id": 1, "subject": "' + "x" * 40_000 + '"}'
    desk.half_write(1, text[:20_000])
    store = desk.store("r1")
    for _ in range(3):  # several teammates look within milliseconds
        snapshot = store.scan()
        assert (snapshot.tasks, snapshot.problems) == ({}, ())
        assert snapshot.unsettled == {"task_1.json"}
    desk.clock.later(1)
    desk.half_write(1, text[:30_000])
    assert store.scan().unsettled == {"task_1.json"}
    desk.clock.later(2.5)
    assert store.scan().unsettled == {"task_1.json"}
    desk.path(1).write_text(text)
    snapshot = store.scan()
    assert (list(snapshot.tasks), snapshot.unsettled) == (["1"], frozenset())
    assert desk.events("board.problem") == []


def test_a_file_that_stays_broken_is_told_once_and_left_as_it_is(desk: Desk) -> None:
    desk.half_write(1, "{")
    store = desk.store("r1")
    assert not store.scan().problems
    for _ in range(3):
        desk.clock.later(5)
        assert _kinds(store.scan()) == [("invalid-json", "task_1.json")]
    assert len(desk.events("board.problem")) == 1
    assert desk.path(1).read_text() == "{"
    desk.path(1).write_text('{"subject": "mended", "id": 1}')
    assert not store.scan().problems


def test_a_file_that_was_broken_long_ago_is_a_problem_at_once(desk: Desk) -> None:
    desk.half_write(1)
    desk.age(1, 60)
    assert _kinds(desk.store().scan()) == [("invalid-json", "task_1.json")]


def test_a_broken_file_with_a_time_to_come_is_a_problem_after_a_while(desk: Desk) -> None:
    desk.half_write(1)
    desk.age(1, -3600)
    store = desk.store()
    assert not store.scan().problems
    desk.clock.later(5)
    assert _kinds(store.scan()) == [("invalid-json", "task_1.json")]


def test_a_single_look_tells_at_once_when_asked(desk: Desk) -> None:
    desk.half_write(1)
    assert _kinds(desk.store().scan(settle=True)) == [("invalid-json", "task_1.json")]
    assert desk.events("board.problem") == []


def test_a_broken_file_that_goes_away_was_never_a_problem(desk: Desk) -> None:
    desk.half_write(1)
    store = desk.store()
    store.scan()
    desk.path(1).unlink()
    assert not store.scan().problems


def test_a_blocker_that_is_half_written_is_not_called_missing_yet(desk: Desk) -> None:
    desk.put({"id": 2, "blockedBy": [1]})
    desk.half_write(1)
    store = desk.store()
    assert not store.scan().problems
    desk.clock.later(5)
    assert ("missing-blocker", "task_2.json") in _kinds(store.scan())


def test_links_folders_and_pipes_are_no_task_files(desk: Desk) -> None:
    outside = desk.layout.root / "outside.json"
    outside.write_text('{"id": 1, "subject": "secret"}')
    desk.path(1).symlink_to(outside)
    desk.path(2).mkdir()
    os.mkfifo(desk.path(3))
    desk.path(4).symlink_to(desk.layout.root / "nowhere")
    snapshot = desk.store().scan()
    assert {kind for kind, _ in _kinds(snapshot)} == {"not-a-file"}
    assert len(snapshot.problems) == 4
    assert not snapshot.tasks


def test_side_files_are_ignored(desk: Desk) -> None:
    for name in ("notes.json", "tasks.json", "task_.json", ".task_1.json.abc.tmp", "task_1.json~"):
        (desk.layout.tasks / name).write_text("{")
    snapshot = desk.store().scan(settle=True)
    assert (snapshot.tasks, snapshot.problems) == ({}, ())


def test_of_two_files_named_for_their_id_neither_is_claimed(desk: Desk) -> None:
    desk.path("1").write_text('{"id": 1, "subject": "a", "status": "completed"}')
    desk.path("001").write_text('{"id": 1, "subject": "b"}')
    desk.put({"id": 2, "blockedBy": [1]})
    store = desk.store()
    snapshot = store.scan()
    assert [problem.kind for problem in snapshot.problems] == ["duplicate-id"]
    assert "neither is claimed" in snapshot.problems[0].message
    assert snapshot.state(snapshot.tasks["1"]) == "unclaimable"
    assert store.claim_next(ADA) is None
    desk.path("001").unlink()
    task = store.claim_next(ADA)
    assert task is not None
    assert task.id == 2


def test_a_further_file_of_an_id_is_unclaimable_with_its_reason(desk: Desk) -> None:
    desk.put({})
    (desk.layout.tasks / "task_1 copy.json").write_bytes(desk.path(1).read_bytes())
    snapshot = desk.store().scan()
    (other,) = snapshot.others
    assert snapshot.state(other) == "unclaimable"
    assert "task_1 copy.json" in (snapshot.reason(other) or "")
    assert snapshot.problems[0].to_json()["file"] == "task_1 copy.json"


def test_states_of_a_board(desk: Desk) -> None:
    desk.put(
        {"id": 1},
        {"id": 2, "owner": "ada"},
        {"id": 3, "blockedBy": [1]},
        {"id": 4, "retryAt": "2027-01-01T00:00:00Z"},
        {"id": 5, "status": "in_progress"},
        {"id": 6, "status": "done"},
        {"id": 7, "status": "failed"},
        {"id": 8, "status": "deleted"},
        {"id": 9, "owner": 5},
        {"id": 11},
    )
    with desk.live("r1") as run:
        run.claim(11, ADA)
        snapshot = run.scan()
        assert snapshot.alive == {"r1"}
        assert "of run r1" in (snapshot.reason(snapshot.tasks["11"]) or "")
    states = [snapshot.state(snapshot.tasks[key]) for key in "1 2 3 4 5 6 7 8 9 11".split()]
    assert (
        states
        == (
            "ready assigned blocked waiting in_progress completed failed deleted unclaimable "
            "in_progress"
        ).split()
    )
    assert snapshot.reason(snapshot.tasks["1"]) is None
    assert snapshot.reason(snapshot.tasks["2"]) == "assigned to ada"


def test_rings_are_told_once_each_and_a_line_is_advised_against(desk: Desk) -> None:
    desk.put(
        {"id": 1, "blockedBy": [2]},
        {"id": 2, "blockedBy": [3, 1]},
        {"id": 3, "blockedBy": [1]},
        {"id": 4, "blockedBy": [4]},
        {"id": 5, "blockedBy": [4, 7]},
        {"id": 6, "status": "failed"},
        {"id": 7, "blockedBy": [6]},
    )
    snapshot = desk.store().scan()
    rings = [problem.message for problem in snapshot.problems if problem.kind == "cycle"]
    assert rings == [
        "waits for itself: 1 -> 2 -> 3 -> 1",
        "waits for itself: 1 -> 2 -> 1",
        "waits for itself: 4 -> 4",
    ]
    assert ("failed-blocker", "task_7.json") in _kinds(snapshot)


@pytest.mark.parametrize(
    ("extra", "advised"), [([], True), ([{"id": 9}], False)], ids=["line", "no"]
)
def test_one_line_of_tasks_is_told_that_a_team_does_not_help(
    desk: Desk, extra: list[dict[str, Any]], advised: bool
) -> None:
    desk.put({"id": 1}, *({"id": number, "blockedBy": [number - 1]} for number in range(2, 6)))
    desk.put(*extra)
    snapshot = desk.store("r1").scan()
    assert (("chain", None) in _kinds(snapshot)) is advised


def test_a_long_line_of_tasks_is_no_danger(desk: Desk) -> None:
    desk.put({"id": 1}, *({"id": number, "blockedBy": [number - 1]} for number in range(2, 1500)))
    snapshot = desk.store().scan()
    assert [problem.kind for problem in snapshot.problems] == ["chain"]
    assert snapshot.reason(snapshot.tasks["1499"]) == "blocked by 1498 (pending)"


def test_looking_leaves_nothing_behind(desk: Desk) -> None:
    desk.put({"status": "in_progress", "owner": "lead"})
    store = desk.store()
    desk.layout.lock_file.unlink(missing_ok=True)
    before = sorted(desk.layout.root.rglob("*"))
    store.scan()
    assert sorted(desk.layout.root.rglob("*")) == before


def test_leftovers_of_dead_saves_are_swept_when_old(desk: Desk) -> None:
    desk.put({})
    old, young = (desk.layout.tasks / f".task_1.json.{name}.tmp" for name in ("old", "young"))
    for path, age_s in ((old, 7200), (young, 60)):
        path.write_text("{")
        stamp = desk.clock.now().timestamp() - age_s
        os.utime(path, (stamp, stamp))
    desk.store().claim(1, ADA)
    assert (old.exists(), young.exists()) == (False, True)


def test_on_a_large_board_finished_tasks_are_looked_at_less_often_than_open_ones(
    desk: Desk,
) -> None:
    desk.put(*({"id": number, "status": "completed"} for number in range(1, 300)))
    desk.put({"id": 300}, {"id": 301})
    store = desk.store()
    desk.clock.tick_s = 0.001
    store.scan()
    desk.change(1, status="pending")
    desk.change(300, priority=7)
    desk.path(301).unlink()
    desk.put({"id": 302})
    seen = store.scan().tasks
    assert (seen["300"].priority, "301" in seen, "302" in seen) == (7, False, True)
    desk.clock.later(1)
    assert store.scan().tasks["1"].status == "pending"


def test_what_waits_for_a_ring_is_told_the_ring_it_is_in_or_the_first_it_waits_for(
    desk: Desk,
) -> None:
    edges = {1: [2], 2: [1], 3: [4, 1], 4: [3], 5: [3], 6: [5], 7: [2], 8: []}
    desk.put(*({"id": key, "blockedBy": blockers} for key, blockers in edges.items()))
    snapshot = desk.store().scan()
    said = {task.id: snapshot.reason(task) for task in snapshot.unfinished}
    one, two = "waits for the cycle 1 -> 2 -> 1", "waits for the cycle 3 -> 4 -> 3"
    assert said == {1: one, 2: one, 3: two, 4: two, 5: one, 6: one, 7: one, 8: None}


def test_a_half_written_only_task_keeps_a_drain_until_it_is_whole_whoever_looked_before(
    desk: Desk,
) -> None:
    whole = '{"id": 1, "subject": "whole"}'
    desk.half_write(1, whole[:20])
    desk.store().scan()  # the command's own look, before there is a team
    store = desk.store("r1")
    for _ in range(3):
        assert not outlook(store.scan(), [ADA]).nothing_left
        desk.clock.later(0.4)
    desk.path(1).write_text(whole)
    assert outlook(store.scan(), [ADA]).ready == ("1",)
    assert store.claim_next(ADA) is not None


def _priority(store: Store, task_id: int) -> int:
    return store.scan().tasks[str(task_id)].priority


def test_while_changes_are_told_a_look_reads_what_was_told_and_sweeps_only_now_and_then(
    desk: Desk,
) -> None:
    desk.put({}, {}, {})
    store = desk.store()
    store.observer.rely(30)
    store.scan()
    desk.change(1, priority=1)
    desk.change(2, priority=2)
    assert store.observer.hear(["task_2.json"])
    assert (_priority(store, 1), _priority(store, 2)) == (0, 2)
    desk.clock.later(29)
    assert _priority(store, 1) == 0
    desk.clock.later(1)
    assert _priority(store, 1) == 1


def test_files_that_are_told_may_be_new_or_gone_and_come_and_go_between_sweeps(desk: Desk) -> None:
    desk.put({}, {})
    store = desk.store()
    store.scan()
    store.observer.rely(30)
    store.scan()
    desk.path(1).unlink()
    desk.put({"id": 3})
    assert store.observer.hear(["task_1.json", "task_3.json"])
    assert list(store.scan().tasks) == ["2", "3"]
    desk.put({"id": 1})
    desk.path(3).unlink()
    desk.clock.later(30)
    assert sorted(store.scan().tasks) == ["1", "2"]


def test_what_is_as_it_was_last_seen_is_no_news(desk: Desk) -> None:
    desk.put({}, {})
    store = desk.store()
    store.scan()
    store.claim(1, ADA)
    assert not store.observer.hear(["task_1.json", "task_2.json", "task_9.json"])


def test_the_first_look_after_telling_began_sweeps_a_large_board_whole(desk: Desk) -> None:
    desk.put(*({"id": number, "status": "completed"} for number in range(1, 300)))
    store = desk.store()
    desk.clock.tick_s = 0.001
    store.scan()
    store.observer.rely(30)
    desk.change(1, status="pending")
    assert store.scan().tasks["1"].status == "pending"


def test_what_was_told_and_read_since_is_not_read_again(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    store.observer.rely(30)
    fence = store.claim(1, ADA).fence
    desk.change(1, labels=["x"])
    assert store.observer.hear(["task_1.json"])
    assert store.holds(fence)
    seen = store.observer.folder.version
    assert store.scan().tasks["1"].raw["labels"] == ["x"]
    assert store.observer.folder.version == seen


def test_doubt_and_the_end_of_telling_lead_to_a_sweep(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    assert not store.observer.doubt()
    store.observer.rely(30)
    store.scan()
    desk.change(1, priority=1)
    assert _priority(store, 1) == 0
    assert store.observer.doubt()
    assert _priority(store, 1) == 1
    desk.change(1, priority=2)
    store.observer.rely(0)
    assert _priority(store, 1) == 2


def test_when_very_many_files_changed_at_once_all_are_looked_at(desk: Desk) -> None:
    desk.put(*({"id": number} for number in range(1, 1100)))
    store = desk.store()
    store.observer.rely(30)
    store.scan()
    for number in range(1, 1100):
        desk.path(number).unlink()
    assert store.observer.hear(f"task_{number}.json" for number in range(1, 1099))
    assert not store.scan().tasks


def test_a_claim_finds_what_was_told_and_nothing_that_was_not(desk: Desk) -> None:
    store = desk.store()
    store.observer.rely(30)
    assert store.claim_next(ADA) is None
    desk.put({"id": 1}, {"id": 2})
    assert store.claim_next(ADA) is None
    store.observer.hear(["task_2.json"])
    task = store.claim_next(ADA)
    assert task is not None
    assert task.id == 2


def test_a_file_that_went_and_came_unseen_between_two_looks_is_read_anew(desk: Desk) -> None:
    desk.put({"id": 1})
    store = desk.store()
    store.scan()
    store.add({"subject": "second"})
    desk.path(2).unlink()
    assert list(store.scan().tasks) == ["1"]


def test_many_new_tasks_are_claimed_in_the_same_order_as_few(desk: Desk) -> None:
    desk.put(*({"id": number, "priority": number % 2} for number in range(40, 0, -1)))
    store = desk.store()
    store.scan()
    desk.put({"id": 41, "priority": 1}, {"id": 2, "status": "completed"})
    wanted = [*range(1, 42, 2), *range(4, 41, 2)]
    claimed = [task.id for _ in wanted if (task := store.claim_next(ADA)) is not None]
    assert claimed == wanted
    assert [task.id for task in store.scan().unfinished] == sorted(wanted)
