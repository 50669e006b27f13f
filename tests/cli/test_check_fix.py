"""`runner tasks check --fix`: each fix is shown, then made."""

from __future__ import annotations

from tests.cli.conftest import Cli


def untidy(cli: Cli) -> None:
    cli.board({"id": 1, "status": "completed"}, {"id": 2, "blockedBy": [1]})
    cli.path(3).write_text('{"subject": "s"}')


def test_what_can_be_mended_is_shown_and_mended(cli: Cli) -> None:
    untidy(cli)
    answer = cli("tasks", "check", "--fix")
    assert answer.code == 0
    assert answer.out.splitlines() == [
        "task_3.json: the id 3 of its name is written into it",
        "task_2.json: blockers that are done leave blockedBy: 1",
        "2 of 2 mended",
        "",
        "no problems",
    ]
    assert (cli.raw(2)["blockedBy"], cli.raw(3)["id"]) == ([], 3)
    again = cli("tasks", "check", "--fix")
    assert again.out.splitlines() == ["nothing to mend", "no problems"]


def test_a_dry_run_shows_it_and_changes_nothing(cli: Cli) -> None:
    untidy(cli)
    before = cli.path(2).read_bytes()
    answer = cli("tasks", "check", "--fix", "--dry-run")
    assert answer.code == 0
    assert "task_2.json: blockers that are done leave blockedBy: 1" in answer.out
    assert "missing-id" in answer.out
    assert (cli.path(2).read_bytes(), cli.layout.team.exists()) == (before, False)


def test_the_data_tells_what_was_made_and_what_is_left(cli: Cli) -> None:
    untidy(cli)
    cli.path(4).write_text("{")
    cli.path(2).chmod(0o444)
    answer = cli("tasks", "check", "--fix", "--json")
    assert answer.code == 1
    assert answer.json["fixes"] == [
        {
            "kind": "missing-id",
            "file": "task_3.json",
            "id": 3,
            "message": "the id 3 of its name is written into it",
            "made": True,
            "reason": None,
        },
        {
            "kind": "done-blocker",
            "file": "task_2.json",
            "id": 2,
            "message": "blockers that are done leave blockedBy: 1",
            "made": False,
            "reason": "it could not be written",
        },
    ]
    assert "invalid-json" in {problem["kind"] for problem in answer.json["problems"]}
    assert "not mended: task_2.json: it could not be written" in answer.err


def test_what_cannot_be_mended_is_exit_1_also_without_errors(cli: Cli) -> None:
    untidy(cli)
    cli.path(2).chmod(0o444)
    answer = cli("tasks", "check", "--fix")
    assert (answer.code, "1 of 2 mended" in answer.out) == (1, True)
    assert cli("tasks", "check").code == 0
    dry = cli("tasks", "check", "--fix", "--dry-run", "--json")
    assert (dry.code, dry.json["fixes"][0]["made"]) == (0, False)


def test_a_dry_run_without_a_fix_is_refused(cli: Cli) -> None:
    answer = cli("tasks", "check", "--dry-run")
    assert (answer.code, "only --fix changes anything" in answer.err) == (2, True)
    assert "fixes" not in cli("tasks", "check", "--json").json
