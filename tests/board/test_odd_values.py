"""Whatever stands in a known field, and however a file is called: the work on a board goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from runner.board.fields import words
from runner.board.outlook import outlook
from runner.core.ids import random_id
from tests.board.conftest import ADA, Desk

_KNOWN = (
    "id task_id subject title status owner claimed_by blockedBy blocked_by agent required_role "
    "claim_role priority schema run verify plan isolated timeout maxAttempts attempt faults "
    "retryAt unblockedBy blocks result error usage startedAt finishedAt metadata"
).split()


def _odd_values() -> st.SearchStrategy[Any]:
    """What people and programs write: huge numbers, dates at the ends of time, other kinds."""
    huge = st.sampled_from([10**400, -(10**400), 10**17, 1e308, -0.0, 2**63])
    written = st.sampled_from(
        [
            *("", "9" * 400, "1e999", "\u00b2", "pending", "in_progress", "blocked", "1", "task_1"),
            *("9999-12-31T23:59:59Z", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"),
        ]
    )
    plain = st.none() | st.booleans() | st.integers() | huge | written
    return plain | st.lists(plain, max_size=3) | st.dictionaries(st.sampled_from("ab"), plain)


_CLAIMS = st.fixed_dictionaries(
    {"id": st.just("c"), "by": st.just("ada"), "at": _odd_values(), "place": st.just("here")},
    optional={"run": st.sampled_from([None, "r1", "../x"]), "was": _odd_values()},
)
_ODD_NAMES = st.sampled_from(
    ["\u00b2", "9" * 64, "9" * 15, "\U0001f600" * 55, "-", " ", "01", "x y"]
)


def _work_through(desk: Desk, name: str, text: str) -> None:
    """Look at a board with this file on it, and do all that can be done."""
    (desk.layout.tasks / name).write_text(text, encoding="utf-8")
    store = desk.store("r2")
    snapshot = store.scan(settle=True)
    for task in (*snapshot.tasks.values(), *snapshot.others):
        assert snapshot.state(task)
        assert snapshot.reason(task) != ""
    outlook(snapshot, [ADA])
    while (claimed := store.claim_next(ADA)) is not None:
        assert store.complete(claimed.fence, result=1).status == "completed"
    assert desk.raw("plain")["status"] == "completed"
    assert store.add({"subject": "new"}).key not in snapshot.tasks
    store.scan(settle=True)


def test_what_is_nested_too_deep_to_be_shown_is_said_to_be() -> None:
    value: list[object] = []
    for _ in range(5000):
        value = [value]
    assert words(value) == "something nested too deep to show"


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    fields=st.dictionaries(st.sampled_from(_KNOWN), _odd_values(), max_size=6),
    claim=st.none() | _CLAIMS,
    name=_ODD_NAMES,
)
@example(fields={"timeout": 10**400, "priority": 10**400}, claim=None, name="7")
def test_no_odd_value_and_no_odd_name_stops_the_work_on_a_board(
    fields: dict[str, Any], claim: dict[str, Any] | None, name: str, tmp_path: Path
) -> None:
    desk = Desk(tmp_path / random_id())
    desk.put({"id": "plain"})
    held = {} if claim is None else {"claim": claim | {"place": desk.layout.place()}}
    odd = {**fields, **held} if claim is None else {**fields, **held, "status": "in_progress"}
    _work_through(desk, f"task_{name}.json", json.dumps(odd))


@pytest.mark.parametrize("levels", [150, 900])
@pytest.mark.parametrize("field", ["owner", "error", "id", "status", "x"])
def test_a_value_nested_deep_stops_nothing(desk: Desk, field: str, levels: int) -> None:
    desk.put({"id": "plain"})
    _work_through(desk, "task_2.json", f'{{"{field}": {"[" * levels}{"]" * levels}}}')
