"""Ids of both kinds on one board (field case B3): one task each, and every file keeps its form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runner.errors import UsageError
from tests.board.conftest import ADA

if TYPE_CHECKING:
    from tests.board.conftest import Desk

OURS = {"status", "owner", "attempt", "claim", "startedAt", "finishedAt", "result", "unblockedBy"}
OURS |= {"blockedBy", "usage"}


def test_ids_as_numbers_and_as_text_are_one_task_and_keep_their_type(desk: Desk) -> None:
    more: dict[str, Any] = {"estimate": 3, "labels": ["ui"], "subject": "Prüfe 門"}
    desk.put(
        {"id": "10", "blockedBy": [2]} | more,
        {"id": "11", "blockedBy": ["2"]} | more,
        {"id": 2} | more,
        {"id": 3} | more,
    )
    before = {task_id: desk.raw(task_id) for task_id in (2, 3, 10, 11)}
    store, done = desk.store(), []
    while (task := store.claim_next(ADA)) is not None:
        done.append(task.id)
        store.complete(task.fence, result="ok")
    assert done == [2, 3, "10", "11"]
    for task_id, old in before.items():
        new = desk.raw(task_id)
        assert {key: new[key] for key in new if key not in OURS} == {
            key: old[key] for key in old if key not in OURS
        }
        text = desk.path(task_id).read_text(encoding="utf-8")
        assert "Prüfe 門" in text
        assert not any(word in text for word in ("undefined", "None", "parentId", "\\u"))


def test_a_name_that_is_not_the_inner_id_is_reported(desk: Desk) -> None:
    desk.put({"id": 1})
    desk.path(1).rename(desk.path(5))
    problems = desk.store().scan(settle=True).problems
    assert [(one.kind, one.file) for one in problems] == [("name-mismatch", "task_5.json")]


@pytest.mark.parametrize("written", ["", "  "])
def test_an_empty_id_is_a_bad_field_and_is_never_claimed(desk: Desk, written: str) -> None:
    desk.put({"id": 1})
    desk.change(1, id=written)
    snapshot = desk.store().scan()
    assert [problem.kind for problem in snapshot.problems] == ["bad-field"]
    assert desk.store().claim_next(ADA) is None


def test_metadata_that_is_no_object_is_refused_at_the_door(desk: Desk) -> None:
    desk.put({})
    with pytest.raises(UsageError, match="metadata: found 5, expected an object"):
        desk.store().edit(1, {"metadata": 5})
    assert "metadata" not in desk.raw(1)
