"""Many processes on one board, in a short form; `score.py` has the long one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.testing import broken_promises, make_board, race, racers, together
from tests.multiprocess.rounds import kill_round, race_round

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


def test_eight_processes_do_every_task_once_and_lose_none(tmp_path: Path) -> None:
    assert race_round(tmp_path, processes=8, tasks=160) == []


@pytest.mark.parametrize("seed", range(4))
def test_a_board_whose_processes_are_killed_ends_complete_or_explained(
    tmp_path: Path, seed: int
) -> None:
    assert kill_round(tmp_path, seed).faults == ()


def test_a_race_through_layers_keeps_the_order(tmp_path: Path) -> None:
    make_board(tmp_path, [{"blockedBy": [number] if number else []} for number in range(20)])
    raced = race(tmp_path, ["a", "b", "c"])
    assert sum(map(len, raced.done)) == 20
    assert raced.twice == []
    assert broken_promises(tmp_path, swept=True) == []


def test_four_processes_empty_a_layered_board_without_doing_anything_twice(tmp_path: Path) -> None:
    layers = [range(layer * 20 + 1, layer * 20 + 21) for layer in range(3)]
    make_board(tmp_path, [{"id": one, "blockedBy": []} for one in layers[0]])
    later = [*layers[1], *layers[2]]
    make_board(tmp_path, [{"id": one, "blockedBy": [one - 20]} for one in later])
    raced = race(tmp_path, [f"p{number}" for number in range(4)])
    assert sorted(one for ids in raced.done for one in ids) == list(range(1, 61))
    assert broken_promises(tmp_path, swept=True) == []


def test_of_eight_processes_exactly_one_gets_the_task_fifty_times(tmp_path: Path) -> None:
    with racers(tmp_path, [f"p{number}" for number in range(8)], by_hand=True) as racing:
        for number in range(1, 51):
            make_board(tmp_path, [{"id": number}])
            answers = together(racing, f"claim {number}")
            refused = [one["error"] for one in answers if one != number]
            assert len(refused) == 7
            assert all("claimed by hand by p" in one for one in refused)
    assert broken_promises(tmp_path) == []


def test_losers_of_a_race_go_on_to_the_next_task(tmp_path: Path) -> None:
    with racers(tmp_path, [f"p{number}" for number in range(4)], by_hand=True) as racing:
        for first in range(1, 41, 4):
            ids = list(range(first, first + 4))
            make_board(tmp_path, [{"id": one} for one in ids])
            assert sorted(together(racing, "next")) == ids


def test_changes_that_eight_processes_make_to_one_file_are_all_there(tmp_path: Path) -> None:
    make_board(tmp_path, [{"theirs": 1}])
    with racers(tmp_path, [f"p{number}" for number in range(8)]) as racing:
        for turn in range(5):
            for number, racer in enumerate(racing):
                racer.tell(f"edit 1 {json.dumps({f'note{number}-{turn}': turn})}")
            assert [racer.answer() for racer in racing] == [1] * 8
    raw = json.loads((tmp_path / ".tasks/task_1.json").read_bytes())
    assert len([key for key in raw if key.startswith("note")]) == 40
    assert raw["theirs"] == 1
