"""What can be mended safely is found, mended, and nothing else is touched."""

from __future__ import annotations

import json
import os

import pytest

from runner.board.mending import Fix, Mender
from tests.board.conftest import ADA, Desk


def mender(desk: Desk) -> Mender:
    return Mender(desk.store(), desk.clock)


def kinds(fixes: list[Fix]) -> list[tuple[str, object]]:
    return [(fix.kind, fix.id) for fix in fixes]


def test_a_sound_board_has_nothing_to_mend(desk: Desk) -> None:
    desk.put({}, {"status": "completed"}, {"blockedBy": [1]})
    assert mender(desk).fixes() == []
    assert mender(desk).make([]) == {}


def test_blockers_that_are_done_leave_the_lists_of_pending_tasks(desk: Desk) -> None:
    desk.put(
        {"status": "completed"},
        {"status": "deleted"},
        {"blockedBy": [1, 2, 9]},
        {"blockedBy": [1], "status": "in_progress"},
    )
    mending = mender(desk)
    [fix] = mending.fixes()
    assert (fix.kind, fix.file, fix.id) == ("done-blocker", "task_3.json", 3)
    assert fix.message == "blockers that are done leave blockedBy: 1, 2"
    assert fix.to_json()["message"] == fix.message
    assert mending.make([fix]) == {}
    assert (desk.raw(3)["blockedBy"], desk.raw(3)["unblockedBy"]) == ([9], [1, 2])
    assert desk.raw(4)["blockedBy"] == [1]


def test_claims_of_dead_runs_go_back(desk: Desk) -> None:
    desk.put({}, {})
    with desk.live("r2") as store:
        store.claim(2, ADA)
        desk.dead_claim("r1", 1)
        mending = mender(desk)
        [fix] = mending.fixes()
        assert kinds([fix]) == [("stale-claim", 1)]
        assert fix.message == "was held by ada of run r1, which is dead: given back"
        assert mending.make([fix]) == {}
        assert (desk.raw(1)["status"], desk.raw(2)["status"]) == ("pending", "in_progress")


def test_the_id_of_a_file_name_is_written_into_it(desk: Desk) -> None:
    desk.path(7).write_text('{"subject": "s", "x": 1}')
    desk.path("b").write_text('{"x": 1}')
    mending = mender(desk)
    fixes = mending.fixes()
    assert kinds(fixes) == [("missing-id", 7)]
    assert mending.make(fixes) == {}
    assert desk.raw(7) == {"subject": "s", "x": 1, "id": 7}


def test_what_cut_off_saves_left_behind_is_removed_when_it_is_old(desk: Desk) -> None:
    desk.put({})
    desk.layout.ensure_team()
    old = [desk.layout.tasks / ".task_1.json.abc.tmp", desk.layout.runs / ".r1.json.abc.tmp"]
    young = desk.layout.team / ".ids.json.abc.tmp"
    for path in (*old, young):
        path.write_text("{")
        long_ago = desk.clock.now().timestamp() - 4000 * (path != young)
        os.utime(path, (long_ago, long_ago))
    mending = mender(desk)
    fixes = mending.fixes()
    found = [".tasks/.task_1.json.abc.tmp", ".team/runs/.r1.json.abc.tmp"]
    assert [fix.file for fix in fixes] == found
    assert mending.make(fixes) == {}
    assert [path.exists() for path in (*old, young)] == [False, False, True]


def test_an_end_that_no_journal_tells_is_noted(desk: Desk) -> None:
    desk.put({}, {}, {}, {})
    with desk.live("r1") as store:
        store.complete(store.claim(1, ADA).fence)
        store.fail(store.claim(2, ADA).fence, error="no luck")
        store.complete(store.claim(3, ADA).fence)
        journal = desk.layout.runs / "r1.jsonl"
        lines = journal.read_text().splitlines(keepends=True)
        # died before the lines of 1 and 2
        kept = [line for line in lines if json.loads(line)["event"] == "task.claimed"]
        journal.write_text("".join([*kept, lines[-1]]))
        assert mender(desk).fixes() == []  # its run lives: the line may be on its way
    desk.store().claim(4, ADA)
    desk.store().finish_by_hand(4, owner="ada")
    mending = mender(desk)
    fixes = mending.fixes()
    assert kinds(fixes) == [("journal-line", 1), ("journal-line", 2)]
    assert fixes[1].message == "the journal lacks that attempt 1 failed: noted"
    assert mending.make(fixes) == {}
    noted = [line for line in desk.events() if line.get("noted_later")]
    assert [(line["event"], line["teammate"], line.get("error")) for line in noted] == [
        ("task.completed", "ada", None),
        ("task.failed", "ada", "no luck"),
    ]


def _cut(desk: Desk, run: str, *lost: str) -> None:
    """Take lines out of a journal, as if the run had died before it wrote them."""
    journal = desk.layout.runs / f"{run}.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(one for one in lines if json.loads(one)["event"] not in lost))


def test_the_next_run_notes_what_a_dead_one_could_not_and_only_once(desk: Desk) -> None:
    desk.put({}, {})
    with desk.live("r1") as store:
        store.complete(store.claim(1, ADA).fence)
        store.fail(store.claim(2, ADA).fence, error="no luck")
    _cut(desk, "r1", "task.completed", "task.failed")
    for run in ("r2", "r3"):
        with desk.live(run) as store:
            assert store.claim_next(ADA) is None
    noted = [line for line in desk.events() if line.get("noted_later")]
    assert [(line["run"], line["event"], line["task"]) for line in noted] == [
        ("r2", "task.completed", 1),
        ("r2", "task.failed", 2),
    ]


@pytest.mark.parametrize("lost", [(), ("task.completed",)])
def test_an_end_that_is_told_is_not_noted_again_though_the_clock_went_back(
    desk: Desk, lost: tuple[str, ...]
) -> None:
    desk.put({})
    with desk.live("r1") as store:
        store.release(store.claim(1, ADA).fence, reason="not now")
        claim = store.claim(1, ADA)
        desk.clock.later(-3600)
        store.complete(claim.fence)
    _cut(desk, "r1", *lost)
    for run in ("r2", "r3"):
        with desk.live(run) as store:
            assert store.claim_next(ADA) is None
    assert len(desk.events("task.completed")) == 1
    assert mender(desk).fixes() == []


def test_a_run_notes_the_end_when_another_one_dies_beside_it(desk: Desk) -> None:
    desk.put({}, {})
    with desk.live("r2") as store:
        assert store.return_stale() == []
        with desk.live("r1") as dying:
            dying.complete(dying.claim(1, ADA).fence)
            dying.claim(2, ADA)
        _cut(desk, "r1", "task.completed")
        assert [task.id for task in store.return_stale()] == [2]
    assert [(one["run"], one["task"]) for one in desk.events("task.completed")] == [("r2", 1)]


@pytest.mark.parametrize("journal", ["ended", "gone"])
def test_a_run_that_told_its_end_or_whose_journal_is_gone_is_not_searched(
    desk: Desk, journal: str
) -> None:
    desk.put({})
    with desk.live("r1") as store:
        store.complete(store.claim(1, ADA).fence)
    _cut(desk, "r1", "task.completed")
    path = desk.layout.runs / "r1.jsonl"
    if journal == "ended":
        path.write_text(path.read_text() + '{"event": "run.ended"}\n')
    else:
        path.unlink()
    with desk.live("r2") as store:
        assert store.claim_next(ADA) is None
    assert desk.events("task.completed") == []


def test_an_end_of_another_place_is_not_noted(desk: Desk) -> None:
    desk.put({})
    with desk.live("r1") as store:
        store.complete(store.claim(1, ADA).fence)
    desk.change(1, claim={**desk.raw(1)["claim"], "place": "elsewhere"})
    journal = desk.layout.runs / "r1.jsonl"
    journal.write_text(journal.read_text().splitlines(keepends=True)[0])
    assert mender(desk).fixes() == []
    desk.change(1, claim={**desk.raw(1)["claim"], "run": None, "source": "manual"})
    assert mender(desk).fixes() == []


def test_a_task_that_was_opened_again_meanwhile_is_not_noted(desk: Desk) -> None:
    desk.put({})
    store = desk.store()
    store.scan()
    assert store.note_end(1).status == "pending"
    assert desk.events("task.completed") == []


def test_what_could_not_be_mended_says_why(desk: Desk) -> None:
    desk.put({"status": "completed"}, {"blockedBy": [1]})
    desk.path(7).write_text('{"subject": "s"}')
    desk.path(2).chmod(0o444)
    mending = mender(desk)
    fixes = mending.fixes()
    desk.path(7).chmod(0o444)
    refused = mending.make(fixes)
    assert kinds(list(refused)) == [("missing-id", 7), ("done-blocker", 2)]
    assert "read-only" in refused[fixes[0]]
    assert refused[fixes[1]] == "it could not be written"
