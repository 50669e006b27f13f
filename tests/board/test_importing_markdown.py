"""Backlog.md: front matter, a body, and the folder that says what became of a task."""

from __future__ import annotations

import pytest

from runner.board.importing import Entry, Found
from runner.board.importing_markdown import TaskPage, backlog
from tests.board.importing_kit import about, blockers, planned

PAGE = """---
id: BACK-355.01
title: 'Core: Add a type'
status: To Do
assignee:
  - '@alice'
created_date: '2026-01-01 23:37'
labels:
  - core
dependencies: [BACK-2]
parent_task_id: BACK-355
subtasks: []
priority: high
ordinal: 125000
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
Add it.
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
- [ ] #1 There is a type <!-- so -->
<!-- AC:END -->
"""


def page(text: str, folder: str = "tasks") -> Found:
    return backlog([TaskPage(folder, f"{folder}/a.md", text.encode())])


def one(text: str, folder: str = "tasks") -> Entry:
    [entry] = page(text, folder).entries
    return entry


@pytest.mark.parametrize(
    "text", [PAGE, "\ufeff\n" + PAGE.replace("\n", "\r\n")], ids=["lf", "crlf"]
)
def test_a_task_keeps_all_it_says(text: str) -> None:
    entry = one(text)
    assert (entry.id, entry.subject, entry.status) == ("BACK-355.01", "Core: Add a type", "pending")
    assert entry.description == (
        "## Description\n\nAdd it.\n\n## Acceptance Criteria\n- [ ] #1 There is a type <!-- so -->"
    )
    assert (entry.waits_for, entry.parent) == (("BACK-2",), "BACK-355")
    assert (entry.priority, entry.assignee) == (1, "alice")
    assert entry.fields == {
        "status": "To Do",
        "priority": "high",
        "created_date": "2026-01-01 23:37",
        "labels": ["core"],
        "ordinal": "125000",
    }


def test_values_are_taken_as_they_were_typed() -> None:
    assert one("---\nid: 007\ntitle: on\n---\n").id == "007"
    assert one("---\nid: 1\ntitle: 12:30\n---").subject == "12:30"


@pytest.mark.parametrize(
    "line",
    [
        "assignee: @alice",
        "assignee: [@alice, @zoe]",
        "assignee:\n  - @alice\n  - @zoe",
        "assignee: zoe",
    ],
)
def test_names_with_a_bare_at_are_read(line: str) -> None:
    assert one(f"---\nid: 1\ntitle: T\n{line}\n---\n").assignee in {"alice", "zoe", "alice, zoe"}


@pytest.mark.parametrize(
    ("folder", "status", "meant", "held"),
    [
        ("completed", "Done", "completed", None),
        ("archive", "To Do", "deleted", None),
        ("archive", "Done", "completed", None),
        ("archive", "Review", "deleted", None),
        ("drafts", "Draft", "pending", "its status is 'Draft'"),
        ("drafts", "To Do", "pending", "it is a draft"),
        ("tasks", "Review", "pending", "its status is 'Review'"),
    ],
)
def test_the_folder_tells_too(folder: str, status: str, meant: str, held: str | None) -> None:
    entry = one(f"---\nid: 1\ntitle: T\nstatus: {status}\n---\n", folder)
    assert (entry.status, entry.held) == (meant, held)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# Notes\n", "no front matter"),
        ("---\nid: 1\n", "no front matter"),
        ("---\n---\n", "found null"),
        ("---\n- a\n---\n", "found list"),
        ("---\nid: 1\n---\n", "no title"),
        ("---\nid: 1\ntitle: [\n---\n", "front matter: line 4: "),
        ("---\ntitle: a\x07b\n---\n", "front matter: unacceptable character"),
        ("---\nid: &a 1\ntitle: *a\n---\n", "aliases"),
        ("---\ntitle: " + "[" * 600 + "]" * 600 + "\n---\n", "nested too deep"),
    ],
)
def test_damaged_files_are_named(text: str, reason: str) -> None:
    [skipped] = page(text).skipped
    assert skipped.where == "tasks/a.md"
    assert reason in skipped.reason


def test_parts_and_blockers_are_linked_whatever_the_case() -> None:
    pages = [
        "---\nid: TASK-1\ntitle: Whole\n---\n",
        "---\nid: task-1.1\ntitle: Part\nparent_task_id: task-1\n---\n",
        "---\nid: task-2\ntitle: After\ndependencies: [Task-1]\n---\n",
    ]
    made = planned(
        backlog(TaskPage("tasks", f"{n}.md", text.encode()) for n, text in enumerate(pages))
    )
    assert blockers(made) == {"TASK-1": ["task-1.1"], "task-1.1": [], "task-2": ["TASK-1"]}
    assert about(made, "task-1.1")["parent"] == "task-1"
