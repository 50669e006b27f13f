"""The boards of tests/data/cases/boards: what may be claimed, what is odd, what a write touches."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner.board.outlook import outlook, why_not
from runner.board.snapshot import Snapshot
from runner.board.task import Claimant, Task
from runner.core.ids import order_key

if TYPE_CHECKING:
    from tests.board.conftest import Desk

_CASES = sorted((Path(__file__).parent.parent / "data" / "cases" / "boards").glob("*.json"))
_EVE = Claimant(name="eve")
_OURS = {"status", "owner", "claimed_by", "attempt", "claim", "startedAt", "finishedAt", "result"}
_EDGES = {"blockedBy", "blocked_by", "unblockedBy", "blocks", "error", "retryAt", "usage"}


def _lay_out(desk: Desk, case: dict[str, Any]) -> None:
    for name, text in case["files"].items():
        (desk.layout.tasks / name).write_bytes(text.encode())
    for name, text in case.get("files_base64", {}).items():
        (desk.layout.tasks / name).write_bytes(base64.b64decode(text))


def _claimable(snapshot: Snapshot) -> list[int | str]:
    tasks = sorted(snapshot.tasks.values(), key=lambda task: order_key(task.key))
    return [task.id for task in tasks if why_not(snapshot, task, _EVE) is None]


def _objects(files: dict[str, bytes]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, data in files.items():
        try:
            found[name] = json.loads(data.decode("utf-8-sig"))
        except ValueError:
            found[name] = data
    return found


def _touched(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def _assert_foreign_fields_kept(before: Any, after: Any) -> None:
    foreign = [key for key in before if key not in _OURS | _EDGES]
    assert [key for key in after if key not in _OURS | _EDGES] == foreign
    assert {key: after[key] for key in foreign} == {key: before[key] for key in foreign}
    kept = [key for key in before if key in after]
    assert [key for key in after if key in before] == kept
    for one, other in (("blocked_by", "blockedBy"), ("claimed_by", "owner")):
        assert not (one in before and other not in before and other in after)


def _waiting_for(tasks: dict[str, Any], task: Task) -> set[str]:
    listed = {"", task.file}
    for name, value in tasks.items():
        edges = value.get("blockedBy", value.get("blocked_by")) if isinstance(value, dict) else None
        if edges:
            listed.add(name)
    return listed


@pytest.mark.parametrize("path", _CASES, ids=lambda path: path.stem)
def test_the_case_is_read_as_it_says(desk: Desk, path: Path) -> None:
    case = json.loads(path.read_bytes())
    _lay_out(desk, case)
    before = desk.bytes()
    snapshot = desk.store().scan(settle=True)
    expected, skipped = case["expect"], case["expect"].get("skip_ids", [])
    assert [one for one in _claimable(snapshot) if one not in skipped] == expected["claimable"]
    for wanted in expected["problems"]:
        kinds = wanted["kind"] if isinstance(wanted["kind"], list) else [wanted["kind"]]
        assert any(
            problem.kind in kinds
            and (problem.file == wanted["file"] if "file" in wanted else problem.id == wanted["id"])
            for problem in snapshot.problems
        ), wanted
    if not expected["problems"]:
        assert not [problem for problem in snapshot.problems if problem.severity != "warning"]
    assert desk.bytes() == before


@pytest.mark.parametrize("path", _CASES, ids=lambda path: path.stem)
def test_a_claim_and_a_completion_touch_only_what_they_mean(desk: Desk, path: Path) -> None:
    _lay_out(desk, json.loads(path.read_bytes()))
    store = desk.store()
    while True:
        before = desk.bytes()
        task = store.claim_next(_EVE)
        if task is None:
            break
        claimed = desk.bytes()
        assert _touched(before, claimed) == {task.file}
        _assert_foreign_fields_kept(_objects(before)[task.file], _objects(claimed)[task.file])
        done = store.complete(task.fence, result={"said": "grün"})
        after = desk.bytes()
        assert type(done.id) is type(task.id)
        assert "grün" in after[task.file].decode()
        assert _touched(claimed, after) <= _waiting_for(_objects(claimed), task)
        for name in _touched(claimed, after):
            _assert_foreign_fields_kept(_objects(claimed)[name], _objects(after)[name])
    assert outlook(store.scan(settle=True), [_EVE]).nothing_left


def test_a_write_changes_the_bytes_of_its_own_fields_only(desk: Desk) -> None:
    text = (
        '{\n  "created": "2026-05-12T23:29:21.3469806+01:00",\n  "id": "007",\n'
        '  "titel": "Prüfe die Türen 門",\n  "subject": "Doors",\n  "owner": null,\n'
        '  "status": "todo",\n  "estimate": 3.50,\n  "labels": [\n    "ui"\n  ]\n}\n'
    )
    desk.path("007").write_bytes(text.encode())
    store = desk.store()
    task = store.claim("7", _EVE)
    store.release(task.fence, reason="not now")
    expected = text.replace('"todo"', '"pending"').replace("3.50", "3.5").removesuffix("\n}\n")
    assert desk.path("007").read_text(encoding="utf-8") == expected + ',\n  "attempt": 1\n}\n'


def test_the_word_blocked_becomes_pending_when_its_last_blocker_is_done(desk: Desk) -> None:
    desk.put({"id": 1}, {"id": 2, "status": "blocked", "blockedBy": [1]})
    store = desk.store()
    first = store.claim_next(_EVE)
    assert first is not None
    store.complete(first.fence)
    assert desk.raw(2)["status"] == "pending"
    second = store.claim_next(_EVE)
    assert second is not None
    assert second.id == 2
