"""Task Master, beads and Claude Code: what their files say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runner.board.importing import Entry, Found, Skipped
from runner.board.importing_json import beads, claude_code, decoded, tags_of, task_master
from tests.board.importing_kit import about, blockers, planned


def by_id(found: Found) -> dict[int | str | None, Entry]:
    return {entry.id: entry for entry in found.entries}


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def folder(*tasks: Any) -> list[tuple[str, bytes]]:
    return [(f"{n}.json", json.dumps(task).encode()) for n, task in enumerate(tasks, 1)]


@pytest.mark.parametrize(
    ("document", "tags"),
    [
        ({"tasks": [], "metadata": {}}, [None]),
        ({"master": {"tasks": []}, "next": {"tasks": [1]}, "state": 5}, ["master", "next"]),
        ({"tasks": {"tasks": []}}, ["tasks"]),
        ({"issues": []}, []),
        ([], []),
    ],
)
def test_lists_of_task_master_are_found_by_their_tags(document: Any, tags: list[Any]) -> None:
    assert list(tags_of(document)) == tags


def test_a_task_of_task_master_keeps_all_it_says() -> None:
    raw = {
        "id": 4,
        "title": "Build\nit",
        "description": "What",
        "details": "How",
        "testStrategy": "Proof",
        "acceptanceCriteria": ["one", "two"],
        "status": "review",
        "priority": "critical",
        "dependencies": [1, "2", 3.1],
        "assignee": "zoe",
        "metadata": {"sprint": 3},
        "effort": 5,
        "tags": [],
        "subtasks": [],
    }
    [entry] = task_master([raw], "master").entries
    assert entry.subject == "Build it"
    assert entry.description == (
        "What\n\n## Details\n\nHow\n\n## Acceptance criteria\n\n- one\n- two\n\n"
        "## Test strategy\n\nProof"
    )
    assert (entry.status, entry.held) == ("pending", "its status is 'review'")
    assert (entry.priority, entry.waits_for, entry.assignee) == (2, (1, "2", "3.1"), "zoe")
    assert entry.metadata == {"sprint": 3}
    assert entry.fields == {"status": "review", "priority": "critical", "effort": 5}


def test_subtasks_become_tasks_and_their_numbers_mean_siblings() -> None:
    raw = {
        "id": 5,
        "title": "Whole",
        "dependencies": [3],
        "subtasks": [
            {"id": 1, "title": "A", "parentId": "5"},
            {"id": 2, "title": "B", "dependencies": [1, 3, "6.1"]},
            {"title": "C"},
            "odd",
        ],
    }
    found = task_master([{"id": 3, "title": "Before"}, raw, {"id": "6.1", "title": "X"}], None)
    made = planned(found)
    assert blockers(made) == {
        3: [],
        5: [3, "5.1", "5.2"],
        "5.1": [3],
        "5.2": ["5.1", 3, "6.1"],
        6: [],
        "6.1": [],
    }
    assert found.skipped == (
        Skipped(where="task 2, subtask 4", reason="expected an object, found str"),
    )


def test_subtasks_that_are_no_list_are_kept() -> None:
    [entry] = task_master([{"id": 1, "title": "A", "subtasks": "none yet"}], None).entries
    assert entry.fields == {"subtasks": "none yet"}


def test_broken_tasks_cost_themselves_only() -> None:
    found = task_master([None, {"id": 1}, {"id": 2, "title": "\x00\x1b"}, {"title": "T"}], "next")
    assert [(skipped.where, skipped.broken) for skipped in found.skipped] == [
        ("task 1", True),
        ("task 2", True),
        ("task 3", True),
    ]
    assert (len(found.entries), found.part) == (1, "next")
    assert task_master([], "master").part is None


@pytest.mark.parametrize(
    ("written", "status", "held", "kept"),
    [
        ("pending", "pending", False, False),
        ("To Do", "pending", False, True),
        ("in-progress", "pending", False, True),
        ("hooked", "pending", False, True),
        ("done", "completed", False, True),
        ("completed", "completed", False, False),
        ("cancelled", "deleted", False, True),
        ("tombstone", "deleted", False, True),
        ("failed", "failed", False, False),
        ("deferred", "pending", True, True),
        ("blocked", "pending", True, True),
        (5, "pending", True, True),
        ("", "pending", False, False),
        (None, "pending", False, False),
    ],
)
def test_statuses(written: object, status: str, held: bool, kept: bool) -> None:
    [entry] = task_master([{"id": 1, "title": "T", "status": written}], None).entries
    assert (entry.status, entry.held is not None, "status" in entry.fields) == (status, held, kept)


def test_blocked_says_no_more_than_the_blockers_do() -> None:
    raw = {"id": 1, "title": "T", "status": "blocked", "dependencies": [2]}
    [entry] = task_master([raw], None).entries
    assert (entry.status, entry.held) == ("pending", None)


def test_what_was_in_progress_begins_anew_and_says_so() -> None:
    [entry] = task_master([{"id": 1, "title": "T", "status": "in-progress"}], None).entries
    assert entry.notes == ("was in progress there: it begins anew",)


@pytest.mark.parametrize(
    ("written", "priority", "kept"),
    [
        ("high", 1, True),
        ("medium", 0, True),
        (2, 2, False),
        ("whenever", 0, True),
        ([1], 0, True),
        ("", 0, False),
        (None, 0, False),
    ],
)
def test_priorities(written: object, priority: int, kept: bool) -> None:
    [entry] = task_master([{"id": 1, "title": "T", "priority": written}], None).entries
    assert (entry.priority, "priority" in entry.fields) == (priority, kept)


def test_an_issue_of_beads_keeps_all_it_says() -> None:
    raw = {
        "id": "bd-a3f8.1",
        "title": "Fix it",
        "description": "What",
        "design": "How",
        "acceptance_criteria": "Proof",
        "notes": "N",
        "status": "open",
        "priority": 0,
        "issue_type": "bug",
        "assignee": "alice",
        "labels": ["ui"],
        "metadata": [1],
        "dependencies": [
            {"issue_id": "bd-a3f8.1", "depends_on_id": "bd-2", "type": "blocks"},
            {"issue_id": "bd-a3f8.1", "depends_on_id": "bd-3", "type": "waits-for"},
            {"issue_id": "bd-a3f8.1", "depends_on_id": "bd-a3f8", "type": "parent-child"},
            {"issue_id": "bd-a3f8.1", "depends_on_id": "bd-b", "type": "parent-child"},
            {"issue_id": "bd-a3f8.1", "depends_on_id": "bd-4", "type": "related"},
            "odd",
            {"type": "blocks"},
        ],
    }
    [entry] = beads(lines(raw)).entries
    assert entry.description == (
        "What\n\n## Design\n\nHow\n\n## Acceptance criteria\n\nProof\n\n## Notes\n\nN"
    )
    assert (entry.waits_for, entry.parent) == (("bd-2", "bd-3"), "bd-a3f8")
    assert (entry.priority, entry.assignee, entry.metadata) == (2, "alice", {})
    links = raw["dependencies"]
    assert isinstance(links, list)
    assert entry.fields == {
        "status": "open",
        "priority": 0,
        "issue_type": "bug",
        "labels": ["ui"],
        "metadata": [1],
        "dependencies": links[3:],
    }


@pytest.mark.parametrize(("written", "priority"), [(1, 1), (2, 0), (4, -2), (True, 0), ("P1", 0)])
def test_priorities_of_beads_count_the_other_way_round(written: object, priority: int) -> None:
    [entry] = beads(lines({"id": "a", "title": "T", "priority": written})).entries
    assert (entry.priority, entry.fields["priority"]) == (priority, written)


@pytest.mark.parametrize(
    ("extra", "held"),
    [
        ({"issue_type": "message"}, "it is of type message"),
        ({"is_template": True}, "is_template is set"),
        ({"pinned": True}, "pinned is set"),
        ({"defer_until": "2027-01-01"}, "it is deferred until 2027-01-01"),
        (
            {"dependencies": [{"depends_on_id": "b", "type": "conditional-blocks"}]},
            "it is to run only if b fails",
        ),
        ({"issue_type": "epic", "pinned": False}, None),
        ({"dependencies": {"depends_on_id": "b"}}, None),
    ],
)
def test_what_beads_does_not_offer_as_work_is_held(extra: Any, held: str | None) -> None:
    [entry] = beads(lines({"id": "a", "title": "T", **extra})).entries
    assert entry.held == held


def test_an_epic_is_done_after_its_issues() -> None:
    child = {"depends_on_id": "e", "type": "parent-child"}
    made = planned(
        beads(
            lines(
                {"id": "e", "title": "Epic", "dependencies": [{"depends_on_id": "x"}]},
                {"id": "e.1", "title": "One", "dependencies": [child]},
                {"id": "x", "title": "Before"},
            )
        )
    )
    assert blockers(made) == {"e": ["x", "e.1"], "e.1": ["x"], "x": []}


def test_damaged_lines_and_records_that_are_no_issues_are_named() -> None:
    data = b"\xef\xbb\xbf" + lines(
        {"_type": "memory", "key": "k"}, {"_type": "issue", "title": "T"}
    )
    found = beads(data + b'{"id": \n\n\xff\n[1]\n{"id": "a"}')
    assert [(skipped.where, skipped.broken) for skipped in found.skipped] == [
        ("line 1", False),
        ("line 3", True),
        ("line 5", True),
        ("line 6", True),
        ("line 7", True),
    ]
    assert [entry.where for entry in found.entries] == ["line 2"]
    assert found.entries[0].fields == {}


def test_a_task_folder_of_claude_code_is_nearly_ours() -> None:
    found = claude_code(
        folder(
            {
                "id": "1",
                "subject": "First",
                "description": "D",
                "activeForm": "Doing",
                "status": "completed",
                "owner": "alice",
                "blocks": ["2", "9"],
                "blockedBy": [],
            },
            {"subject": "Second", "status": "in_progress", "metadata": {"k": 1}},
            {"id": "3", "subject": "Third", "blockedBy": ["2"], "blocks": []},
            {"id": "4", "subject": "Inner", "metadata": {"_internal": True}},
        )
    )
    made = planned(found)
    assert blockers(made) == {"1": [], "2": ["1"], "3": ["2"]}
    assert made.new[0].fields["owner"] == "alice"
    assert about(made, "1")["fields"] == {"activeForm": "Doing", "blocks": ["9"]}
    assert made.new[1].fields["metadata"]["k"] == 1
    assert [(skipped.where, skipped.broken) for skipped in made.skipped] == [("4.json", False)]


def test_both_sides_of_a_link_count_once() -> None:
    found = claude_code(
        folder(
            {"id": "1", "subject": "A", "blocks": ["2"]},
            {"id": "2", "subject": "B", "blockedBy": ["1"]},
        )
    )
    assert by_id(found)["2"].waits_for == ("1",)


def test_damaged_files_of_a_task_folder_are_named() -> None:
    found = claude_code([("1.json", b"{"), ("2.json", b"[]"), ("3.json", b'{"id": "3"}')])
    assert [skipped.where for skipped in found.skipped] == ["1.json", "2.json", "3.json"]
    assert found.entries == ()


def test_numbers_that_cannot_be_kept_are_refused() -> None:
    with pytest.raises(ValueError, match="no number that can be kept"):
        decoded(b'{"x": NaN}')


@pytest.mark.parametrize(("written", "meant"), [(7.0, 7), (True, None), ({"a": 1}, '{"a": 1}')])
def test_odd_ids(written: object, meant: object) -> None:
    [entry] = beads(lines({"id": written, "title": "T"})).entries
    assert entry.id == meant
