"""Fields that nobody reads because they are not spelt as ours are."""

from __future__ import annotations

import pytest

from runner.board.misspelt import meant_by
from runner.board.reading import parse_task
from tests.board.conftest import ADA, Desk


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("verfy", "verify"),
        ("verfiy", "verify"),
        ("blockedby", "blockedBy"),
        ("blocked-by", "blockedBy"),
        ("blokedBy", "blockedBy"),
        ("requiredrole", "required_role"),
        ("Required Role", "required_role"),
        ("claimrole", "claim_role"),
        ("claimedBy", "claimed_by"),
        ("timout", "timeout"),
        ("shema", "schema"),
        ("agnet", "agent"),
        ("max_attempts", "maxAttempts"),
        ("isolatd", "isolated"),
    ],
)
def test_a_slip_is_taken_for_the_field_that_it_is_close_to(key: str, meant: str) -> None:
    assert meant_by(key) == meant


@pytest.mark.parametrize(
    "key",
    """activeForm worktree layer labels tags type created_at updatedAt started_at agents agent_id
    owners owned runs run_id plans planned blocked blocker blocking attempts retries role roles
    schemas timeout_s timeouts verified verification required required_files priorities metadata
    assignee parent estimate links url kind notes details phase effort scope turn rank x _
    日本""".split(),
)
def test_the_fields_of_other_tools_are_theirs(key: str) -> None:
    assert meant_by(key) is None


def test_a_misspelt_field_is_a_warning_and_stays_in_the_file(desk: Desk) -> None:
    desk.put({"verfy": "make test", "blockedby": None, "layer": 2})
    (problem,) = desk.store().scan().problems
    assert (problem.severity, problem.kind, problem.id) == ("warning", "bad-field", 1)
    expected = "verfy: not a field of ours, so it does nothing; is verify meant?"
    assert problem.message == expected
    task = desk.store("r1").claim_next(ADA)
    assert task is not None
    assert desk.raw(1)["verfy"] == "make test"


def test_nothing_is_said_of_a_task_that_is_over() -> None:
    _, problems = parse_task("task_1.json", b'{"id": 1, "status": "done", "verfy": "x"}')
    assert problems == ()
