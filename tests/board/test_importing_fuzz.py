"""Whatever stands in the files of other tools, nothing crashes and every entry is accounted for."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.board.importing import Found
from runner.board.importing_json import beads, claude_code, task_master
from runner.board.importing_markdown import TaskPage, backlog
from tests.board.importing_kit import planned

NUMBERS = st.integers(-3, 12) | st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.sampled_from("1 2.1 a/b done blocked blocks parent-child high".split())
SCALARS = st.none() | st.booleans() | NUMBERS | WORDS
VALUES = st.recursive(
    SCALARS | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "depends_on_id", "type", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(
    "id title subject status priority dependencies blockedBy blocks subtasks metadata owner "
    "assignee description parent_task_id _type issue_type defer_until parentId labels".split()
)
RECORDS = st.dictionaries(KEYS, VALUES, max_size=6).map(lambda raw: {"title": "T", **raw}) | VALUES


def accounted(found: Found, records: int) -> None:
    """Each record became a task or was named; what is planned can be added."""
    made = planned(found, {"id": 1})
    assert len(made.new) + len(made.skipped) >= records
    ids = [str(new.id).casefold() for new in made.new]
    assert len(set(ids)) == len(ids)
    assert "1" not in ids
    known = {new.id for new in made.new}
    assert all(isinstance(new.fields["blockedBy"], list) for new in made.new)
    assert made.skipped or all(one in known for new in made.new for one in new.fields["blockedBy"])


@given(st.lists(RECORDS, max_size=6))
@settings(max_examples=150, deadline=None)
def test_any_json(records: list[Any]) -> None:
    accounted(task_master(records, None), len(records))
    accounted(beads(b"\n".join(json.dumps(one).encode() for one in records)), len(records))
    files = [(f"{n}.json", json.dumps(one).encode()) for n, one in enumerate(records)]
    accounted(claude_code(files), len(records))


@given(st.lists(RECORDS.map(json.dumps) | st.text(max_size=60), max_size=5))
@settings(max_examples=100, deadline=None)
def test_any_front_matter(texts: list[str]) -> None:
    pages = [
        TaskPage("tasks", f"{n}.md", f"---\n{text}\n---\nbody".encode(errors="replace"))
        for n, text in enumerate(texts)
    ]
    accounted(backlog(pages), len(pages))


@given(st.lists(st.binary(max_size=80), max_size=5))
@settings(max_examples=100, deadline=None)
def test_any_bytes(blobs: list[bytes]) -> None:
    accounted(backlog(TaskPage("tasks", "a.md", blob) for blob in blobs), len(blobs))
    accounted(claude_code((f"{n}.json", blob) for n, blob in enumerate(blobs)), len(blobs))
    beads(b"\n".join(blobs))
