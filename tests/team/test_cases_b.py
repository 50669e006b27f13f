"""Whole boards with something wrong in them (field cases B4, B5), worked on by a team."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from runner.board.task import Task
from runner.team.outcome import Done, Outcome
from runner.team.types import Assignment, Teammate
from runner.testing import FakeClock, make_board, running_team
from tests.team.helpers import events, finish, on_disk

ROTTEN = {
    "task_21.json": b"",
    "task_22.json": b"null",
    "task_23.json": b"[]",
    "task_24.json": b'"x"',
    "task_4.json": b'{"id": "4", "sta',
    "task_25.json": b"\0" * 40,
    "task_26.json": b'{"id": 26,\n<<<<<<< ours\n"status": "pending"\n=======\n>>>>>>> theirs\n}',
    "task_6.json": b'{"id": "6"}',
    # DESIGN reads "done" as completed; so a word that nobody knows stands here
    "task_5.json": b'{"id": "5", "status": "simmering"}',
}


async def test_what_can_never_run_is_named_with_its_reason_and_the_rest_is_done(
    tmp_path: Path,
) -> None:
    blockers = {1: [99], 2: [2], 3: [4], 4: [3], 5: [], 6: None, 7: "5"}
    layout = make_board(tmp_path, [{"id": n, "blockedBy": b} for n, b in blockers.items()])
    order = list[int | str]()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        assert isinstance(assignment, Task)
        order.append(assignment.id)
        return Done()

    async with running_team(layout, work=work, drain=True) as team:
        report = await team.finished()
    assert (report.exit_code, sorted(map(int, order))) == (3, [5, 6, 7])
    assert order.index(7) > order.index(5)
    reasons = {row.id: row.reason or "" for row in report.tasks if row.verdict == "undone"}
    assert "99" in reasons[1]
    assert "2 -> 2" in reasons[2]
    assert all("3 -> 4 -> 3" in reasons[n] for n in (3, 4))


async def test_rotten_files_are_told_once_and_kept_and_the_good_ones_are_done(
    tmp_path: Path,
) -> None:
    layout, clock = make_board(tmp_path, [{}, {}, {}, {"id": 9, "blockedBy": ["4"]}]), FakeClock()
    for name, data in ROTTEN.items():
        (layout.tasks / name).write_bytes(data)
    async with running_team(layout, work=finish, clock=clock) as team:
        await clock.advance(59)
        assert [on_disk(layout, n)["status"] for n in (1, 2, 3)] == ["completed"] * 3
        await clock.advance(1)
        report = await team.finished()
    told = Counter(one["problem"]["file"] for one in events(team.journal, "board.problem"))
    assert {name: told[name] for name in ROTTEN} == dict.fromkeys(ROTTEN, 1)
    assert {name: (layout.tasks / name).read_bytes() for name in ROTTEN} == ROTTEN
    assert on_disk(layout, 9)["status"] == "pending"
    assert report.exit_code == 3
