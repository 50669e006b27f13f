"""From bytes to a task: lenient where it is safe, refusing where it decides about claiming."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runner.board.reading import parse_task
from runner.board.saving import changed, encode_task
from runner.board.task import Task
from runner.core.ids import key_of, order_key

_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_TEXT = st.text(st.characters(codec=None, categories=None))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | _FLOATS | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)
_KNOWN = (
    "id task_id subject title status owner claimed_by blockedBy blocked_by agent required_role "
    "claim_role priority schema run verify plan isolated timeout maxAttempts attempt claim retryAt "
    "unblockedBy blocks result error usage startedAt finishedAt metadata"
).split()
_OBJECTS = st.dictionaries(st.sampled_from(_KNOWN) | _TEXT, _JSON, max_size=8)


def _parse(**fields: Any) -> tuple[Task | None, list[str]]:
    task, problems = parse_task("task_1.json", json.dumps({"id": 1, **fields}).encode())
    return task, [problem.kind for problem in problems]


def _task(**fields: Any) -> Task:
    task, _ = _parse(subject="s", **fields)
    assert task is not None
    return task


@given(st.binary(max_size=300))
@example(b"[" * 100_000)
@example(b'{"id": ' + b"9" * 5_000 + b"}")
def test_any_bytes_are_a_task_or_a_problem(data: bytes) -> None:
    task, problems = parse_task("task_1.json", data)
    assert task is not None or len(problems) == 1


@given(_OBJECTS)
def test_any_object_is_read_and_keeps_every_field(fields: dict[str, Any]) -> None:
    data = json.dumps(fields).encode()
    task, problems = parse_task("task_1.json", data)
    if task is None:
        assert [problem.kind for problem in problems] == ["bad-field"]
        return
    saved = json.loads(encode_task("task_1.json", changed(task.raw, {"error": "x"})))
    assert list(saved)[: len(fields)] == list(fields)
    assert {**saved, "error": None} == {**fields, "error": None}


@given(st.text() | st.integers() | st.floats())
def test_keys_of_any_ids_can_be_sorted(value: object) -> None:
    keys = [key for one in (value, "b10", 2, "10") if (key := key_of(one)) is not None]
    assert sorted(keys, key=order_key)


@pytest.mark.parametrize("written", [3, "3", 3.0, "task_3", "task_003", " 03 "], ids=repr)
def test_all_ways_to_write_a_number_are_one_task(written: object) -> None:
    assert key_of(written) == "3"


@pytest.mark.parametrize("written", [None, True, [], {}, "", " ", 1.5, float("inf")], ids=repr)
def test_what_cannot_be_an_id_has_no_key(written: object) -> None:
    assert key_of(written) is None


def test_order_is_numbers_first_then_natural_text() -> None:
    keys = ["b10", "10", "b2", "2", "a", "b02"]
    assert sorted(keys, key=order_key) == ["2", "10", "a", "b02", "b2", "b10"]


@pytest.mark.parametrize(
    ("field", "value", "attribute", "meaning"),
    [
        ("priority", "Urgent", "priority", 2),
        ("priority", "3", "priority", 3),
        ("priority", 1.9, "priority", 1),
        ("blockedBy", "2, task_3", "blocked_by", ("2", "3")),
        ("blocked_by", 2, "blocked_by", ("2",)),
        ("claimed_by", " ada ", "owner", "ada"),
        ("owner", "  ", "owner", None),
        ("plan", "no", "plan", False),
        ("isolated", "false", "isolated", False),
        ("timeout", "90", "timeout_s", 90.0),
        ("timeout", "1.5", "timeout_s", 1.5),
        ("maxAttempts", 2.0, "max_attempts", 2),
        ("faults", "2", "faults", 2),
        ("faults", "many", "faults", 0),
        ("run", "make", "run", "make"),
        ("run", ["make", "-j"], "run", ("make", "-j")),
        ("verify", "true", "verify", ("true",)),
        ("verify", ["true", " "], "verify", ("true",)),
        ("schema", {"type": "object"}, "schema", {"type": "object"}),
        ("requiredRole", "tester", "required_role", "tester"),
        ("retryAt", "", "retry_at", None),
        ("error", {"code": 1}, "error", '{"code": 1}'),
        ("usage", [], "usage", None),
        ("startedAt", "yesterday", "started_at", None),
        ("status", "In-Progress", "status", "in_progress"),
        ("status", "cancelled", "status", "deleted"),
    ],
    ids=repr,
)
def test_fields_are_read_in_every_form(
    field: str, value: object, attribute: str, meaning: object
) -> None:
    task = _task(**{field: value})
    assert getattr(task, attribute) == meaning
    assert task.unclaimable is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("owner", 7),
        ("agent", ["a"]),
        ("required_role", 1),
        ("blockedBy", [None]),
        ("blockedBy", {"id": 2}),
        ("schema", "object"),
        ("run", []),
        ("run", ""),
        ("run", ["a", 1]),
        ("verify", [1]),
        ("plan", "maybe"),
        ("isolated", 1),
        ("timeout", 0),
        ("timeout", "soon"),
        ("timeout", True),
        ("maxAttempts", 0),
        ("attempt", -1),
        ("attempt", True),
        ("retryAt", "tomorrow"),
        ("retryAt", 5),
    ],
    ids=repr,
)
def test_a_field_that_decides_and_cannot_be_understood_forbids_the_claim(
    field: str, value: object
) -> None:
    task, kinds = _parse(subject="s", **{field: value})
    assert task is not None
    assert kinds == ["bad-field"]
    assert field in (task.unclaimable or "")


def test_an_odd_priority_is_warned_about_and_normal() -> None:
    for value in ("P1", True, [1]):
        task, kinds = _parse(subject="s", priority=value)
        assert task is not None
        assert (task.priority, task.unclaimable, kinds) == (0, None, ["bad-field"])


def test_two_spellings_may_agree_but_not_contradict() -> None:
    assert _task(owner="", claimed_by="ada").owner == "ada"
    assert _task(blockedBy=[2], blocked_by=["2"]).unclaimable is None
    assert "contradicts" in (_task(blockedBy=[2], blocked_by=[3]).unclaimable or "")


def test_a_key_that_stands_there_twice_forbids_the_claim() -> None:
    data = b'{"id": 1, "subject": "s", "status": "completed", "status": "pending"}'
    task, problems = parse_task("task_1.json", data)
    assert task is not None
    assert "twice" in (task.unclaimable or "")
    assert [problem.severity for problem in problems] == ["error"]


@pytest.mark.parametrize(
    "bad", ["../../outside", "..", "a/b", "C:x", "x" * 300, "con", "x\0y"], ids=ascii
)
def test_an_id_that_is_no_safe_name_is_unclaimable(bad: str) -> None:
    data = json.dumps({"id": bad, "subject": "s"}).encode()
    task, problems = parse_task("task_1.json", data)
    assert task is not None
    assert task.unclaimable is not None
    assert "bad-field" in [problem.kind for problem in problems]


def test_a_missing_id_comes_from_the_file_name() -> None:
    for name, expected in (("task_007.json", 7), ("task_login.json", "login")):
        task, problems = parse_task(name, b'{"subject": "s"}')
        assert task is not None
        assert task.id == expected
        assert [problem.kind for problem in problems] == ["missing-id"]


def test_a_file_named_only_by_spaces_has_no_usable_id() -> None:
    task, problems = parse_task("task_ .json", b'{"subject": "s"}')
    assert task is not None
    assert [problem.kind for problem in problems][:2] == ["missing-id", "bad-field"]


def test_agent_beside_run_is_warned_about() -> None:
    task, kinds = _parse(subject="s", run="true", agent="a", plan=True)
    assert task is not None
    assert (task.unclaimable, kinds) == (None, ["bad-field"])


@pytest.mark.parametrize(
    "claim",
    [
        "x",
        {"id": "c"},
        {"id": "c", "by": "a", "at": "t", "place": "p", "run": 7},
        {"id": "c", "by": "a", "at": "t", "place": "p", "run": "../x"},
    ],
)
def test_a_claim_that_is_not_as_we_write_it_is_nobodys(claim: object) -> None:
    assert _task(status="in_progress", claim=claim).claim is None


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_numbers_that_no_file_can_keep_are_not_json(number: str) -> None:
    data = b'{"id": 1, "subject": "s", "x": %b}' % number.encode()
    task, problems = parse_task("task_1.json", data)
    assert task is None
    assert f"not JSON: {number} is no number that can be kept" in problems[0].message


def test_a_file_nested_too_deep_to_be_written_is_unclaimable() -> None:
    for levels, refused in ((99, False), (100, True), (300, True)):
        data = b'{"id": 1, "subject": "s", "x": ' + b"[" * levels + b"1" + b"]" * levels + b"}"
        task, _ = parse_task("task_1.json", data)
        assert task is not None
        assert (task.unclaimable is not None) is refused


def test_a_file_with_many_small_lists_is_not_deep() -> None:
    assert _task(x=[[] for _ in range(200)]).unclaimable is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"plan": True}, "plan: plan mode is not part of this version"),
        ({"isolated": "yes"}, "isolated: own worktrees are not part of this version"),
        ({"isolated": True, "run": "true"}, "isolated: own worktrees are not part of this version"),
    ],
)
def test_what_this_version_does_not_carry_out_forbids_the_claim(
    fields: dict[str, Any], reason: str
) -> None:
    task, problems = parse_task(
        "task_1.json", json.dumps({"id": 1, "subject": "s", **fields}).encode()
    )
    assert task is not None
    assert task.unclaimable == reason
    assert [(one.severity, one.kind) for one in problems] == [("warning", "bad-field")]


def test_times_are_kept_in_utc() -> None:
    moment = _task(retryAt="2026-03-01T12:00:00+02:00").retry_at
    assert f"{moment:%H:%M %Z}" == "10:00 UTC"
