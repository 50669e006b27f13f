from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Cli


def test_list_has_the_documented_shape_in_claiming_order(cli: Cli) -> None:
    cli.board(
        {"id": 10, "subject": "Last"},
        {"id": "2", "subject": "Second"},
        {"id": 3, "status": "pending", "blockedBy": ["10", "99", "task_2"]},
        {"id": 7, "priority": "high", "owner": "ann"},
    )
    rows = cli("tasks", "list", "--json").json
    assert [row["id"] for row in rows] == [7, "2", 3, 10]
    assert rows[2] == {
        "id": 3,
        "subject": "Task 3",
        "status": "pending",
        "owner": None,
        "state": "blocked",
        "blockedBy": [10, 99, "2"],
        "file": "task_3.json",
        "reason": rows[2]["reason"],
    }
    assert "99" in rows[2]["reason"]
    assert (rows[0]["state"], rows[0]["owner"]) == ("assigned", "ann")


def test_list_for_people_has_a_line_for_each_task_and_points_at_problems(cli: Cli) -> None:
    cli.board({"id": 1, "subject": "Write\nit"}, {"id": 2, "blockedBy": [1]})
    (cli.layout.tasks / "task_3.json").write_text("{")
    answer = cli("tasks", "list", "--state", "ready")
    assert answer.err == "1 problem on this board: see `runner tasks check`\n"
    assert [line.split() for line in answer.out.splitlines()] == [
        ["ID", "STATE", "OWNER", "BLOCKED", "BY", "SUBJECT"],
        ["1", "ready", "Write", "it"],
    ]


def test_list_for_people_tells_reasons_where_there_are_any(cli: Cli) -> None:
    cli.board({"id": 1}, {"id": 2, "blockedBy": [1]})
    head, _, blocked = cli("tasks", "list").out.splitlines()
    assert head.split()[-1] == "REASON"
    assert blocked.endswith("blocked by 1 (pending)")


def test_list_refuses_a_state_that_there_is_not_and_names_those_there_are(cli: Cli) -> None:
    answer = cli("tasks", "list", "--state", "bogus")
    assert answer.code == 2
    assert all(state in answer.err for state in ("'bogus'", "ready", "in_progress", "unclaimable"))


def test_show_tells_blockers_that_are_open_and_those_that_are_done(cli: Cli) -> None:
    cli.board(
        *({"id": 1, "status": "completed"}, {"id": 2}, {"id": 3, "status": "completed"}),
        {"id": 4, "blockedBy": [1, 2], "unblockedBy": [3]},
    )
    lines = cli("tasks", "show", "4").out.splitlines()
    assert "blocked by   2" in lines
    assert "waited for   1, 3" in lines


def test_looking_at_a_board_writes_nothing(cli: Cli) -> None:
    cli.board({"id": 1})
    for command in ("list", "ready", "graph", "check"):
        assert cli("tasks", command).code == 0
    assert not cli.layout.team.exists()


def test_ready_lists_ids_as_written_for_a_role_and_an_owner(cli: Cli) -> None:
    cli.board(
        {"id": 1},
        {"id": "02"},
        {"id": 3, "required_role": "reviewer"},
        {"id": 4, "owner": "ann"},
        {"id": 5, "blockedBy": [1]},
    )
    assert cli("tasks", "ready", "--json").json == [1, "02"]
    assert cli("tasks", "ready", "--json", "--role", "reviewer").json == [1, "02", 3]
    assert cli("tasks", "ready", "--json", "--owner", "ann").json == [4, 1, "02"]
    assert cli("tasks", "ready").out.splitlines()[0] == "1 Task 1"


def test_show_tells_what_the_file_says_and_what_it_means(cli: Cli) -> None:
    cli.board(
        {"id": 1, "status": "failed", "error": "no luck", "result": {"a": 1}},
        {"id": 2, "blockedBy": [1], "description": "Do\n  this\x1b[2J", "estimate": 3},
    )
    assert "blocked by 1 (failed)" in cli("tasks", "show", "2").out
    assert "  this [2J" in cli("tasks", "show", "2").out
    told = cli("tasks", "show", "task_2", "--json").json
    assert (told["state"], told["task"]["estimate"]) == ("blocked", 3)
    failed = cli("tasks", "show", "1").out
    assert "no luck" in failed
    assert '"a": 1' in failed


def test_show_tells_a_command_as_it_would_be_typed(cli: Cli) -> None:
    cli.board({"run": ["grep", "a  b", "x.txt"]}, {"run": "true", "verify": "test  -e  'a  b'"})
    assert "run          grep 'a  b' x.txt\n" in cli("tasks", "show", "1").out
    assert "verify       test  -e  'a  b'\n" in cli("tasks", "show", "2").out


def test_show_tells_what_the_work_has_cost_and_changed(cli: Cli) -> None:
    usage = {"turns": 2, "toolCalls": 1, "inputTokens": 1200, "outputTokens": 30, "usd": 0.0312}
    cli.board(
        {"id": 1, "usage": {**usage, "changedFiles": ["a.py", "b.py"]}},
        {"id": 2, "usage": "none", "run": "true"},
    )
    lines = cli("tasks", "show", "1").out.splitlines()
    assert "used         2 turns, 1 call, 1,200 tokens in, 30 out, $0.0312" in lines
    assert "changed      a.py, b.py" in lines
    assert "used" not in cli("tasks", "show", "2").out


def test_an_unknown_or_unreadable_task_is_exit_1_and_named(cli: Cli) -> None:
    (cli.layout.tasks / "task_4.json").write_text("[]")
    missing = cli("tasks", "show", "9", "--json")
    assert (missing.code, missing.json["exit"]) == (1, 1)
    assert "'9'" in missing.json["error"]
    unreadable = cli("tasks", "show", "4")
    assert unreadable.code == 1
    assert "task_4.json" in unreadable.err


def test_add_writes_what_was_said_and_nothing_else(cli: Cli) -> None:
    cli.board({"id": 1})
    (cli.layout.root / "shape.json").write_text('{"type": "object"}')
    argv = ["--description", "All of it", "--blocked-by", "1,99", "--agent", "task", "--role", "r"]
    argv += ["--priority", "high", "--verify", "true", "--verify", "false", "--owner", "ann"]
    argv += ["--timeout", "90", "--max-attempts", "2"]
    added = cli("tasks", "add", "Größe", *argv, "--schema", "shape.json", "--json")
    assert added.code == 0, added.err
    assert cli.raw(2) == added.json
    assert {key: value for key, value in added.json.items() if key != "status"} == {
        "id": 2,
        "subject": "Größe",
        "description": "All of it",
        "owner": "ann",
        "blockedBy": [1, 99],
        "agent": "task",
        "required_role": "r",
        "priority": "high",
        "schema": {"type": "object"},
        "verify": ["true", "false"],
        "timeout": 90,
        "maxAttempts": 2,
    }
    assert added.err.startswith("warning: task 2 waits for 99: not on the board\n")


def test_add_leaves_out_what_was_not_said(cli: Cli) -> None:
    assert cli("tasks", "add", "Go", "--timeout", "0.5").err == ""
    assert cli.raw(1) == {
        "id": 1,
        "subject": "Go",
        "status": "pending",
        "blockedBy": [],
        "timeout": 0.5,
    }


def test_add_takes_an_own_id_and_refuses_a_taken_or_unsafe_one(cli: Cli) -> None:
    assert cli("tasks", "add", "A", "--id", "release", "--run", "true").out == (
        "added task release: A\n"
    )
    assert cli("tasks", "add", "B", "--id", "release").code != 0
    assert cli("tasks", "add", "B", "--id", "../up").code == 2
    assert cli("tasks", "add", "B", "--owner", "../up").code != 0
    assert cli("tasks", "add", "B", "--schema", "none.json").code == 2
    assert [path.name for path in cli.layout.tasks.glob("*.json")] == ["task_release.json"]


def test_edit_changes_the_named_fields_and_keeps_the_rest(cli: Cli) -> None:
    cli.board({"id": 1, "priority": 1, "estimate": 3, "required_role": "r"})
    assert (
        cli(
            *("tasks", "edit", "1", "--set", "subject=7", "--set", "priority=null"),
            *("--set", "blockedBy=[2]", "--set", "estimate=5", "--set", "required_role=null"),
            *("--set", "verify=make test", "--set", "owner=ann"),
        ).out
        == "task 1: changed subject, priority, blockedBy, estimate, required_role, verify, owner\n"
    )
    assert cli.raw(1) == {
        "id": 1,
        "subject": "7",
        "status": "pending",
        "estimate": 5,
        "blockedBy": [2],
        "verify": "make test",
        "owner": "ann",
    }


@pytest.mark.parametrize("field", ["run", "verify"])
@pytest.mark.parametrize(
    ("typed", "kept"),
    [("true", "true"), ("7", "7"), ('["a", "b"]', ["a", "b"]), ("make x", "make x")],
)
def test_edit_takes_a_command_as_it_was_typed(
    cli: Cli, field: str, typed: str, kept: object
) -> None:
    cli.board({"id": 1})
    assert cli("tasks", "edit", "1", "--set", f"{field}={typed}").code == 0
    assert cli.raw(1)[field] == kept


def test_edit_sets_and_removes_single_keys_of_metadata(cli: Cli) -> None:
    cli.board({"id": 1, "metadata": {"a": 1, "b": 2}}, {"id": 2, "metadata": [1]})
    argv = ("--set", "metadata.status=open", "--set", "metadata.b=null", "--set", "metadata.x=[1]")
    assert cli("tasks", "edit", "1", *argv).out == "task 1: changed metadata\n"
    assert cli.raw(1)["metadata"] == {"a": 1, "status": "open", "x": [1]}
    refused = cli("tasks", "edit", "2", "--set", "metadata.x=1")
    assert refused.code == 2
    assert "the metadata of this task is no object" in refused.err


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("blokedBy=[1]", "did you mean blockedBy?"),
        ("anything=1", "goes into metadata"),
        ("status=completed", "tasks done"),
        ("id=2", "an id stays"),
        ("subject", "expected KEY=VALUE"),
        ("attempt=3", "attempt: written by the runner alone"),
        ("result=1", "tasks done --result"),
        ("error=x", "tasks fail --error"),
        ("subject=", "expected one line of printable text"),
        ("subject=null", "a task needs one line"),
        ("priority=[1]", "priority: found [1], expected a whole number"),
        ("agent=", "expected one line of printable text"),
        ("blockedBy=[2,NaN]", "NaN is no number that can be kept"),
        ("metadata=1e999", "1e999 is no number that can be kept"),
        ("metadata=" + "[" * 100_000, "nested too deep"),
        ("zzz=3", "no such field. Known: "),
        ("owner=../up", "is not usable"),
    ],
)
def test_edit_refuses_what_is_no_field_of_a_person(cli: Cli, assignment: str, said: str) -> None:
    cli.board({"id": 1, "attempt": 1, "result": 0, "error": "e"})
    before = cli.path(1).read_bytes()
    answer = cli("tasks", "edit", "1", "--set", assignment)
    assert answer.code == 2
    assert said in answer.err
    assert cli.path(1).read_bytes() == before


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["B", "--priority", "zz"], "priority: found 'zz', expected a whole number, or urgent"),
        (["B", "--role", ""], "required_role: found '', expected one line of printable text"),
        (["B", "--agent", "a\nb"], "agent: found 'a\\nb', expected one line of printable text"),
        (["B", "--verify", "true", "--verify", " "], "--verify: found nothing but blanks"),
        (["B\nC"], "subject: found 'B\\nC', expected one line of printable text"),
        (["B\x1b[2J"], "subject: found 'B\\x1b[2J', expected one line of printable text"),
        (["B", "--blocked-by", "../x"], "blockedBy: id '../x' is not usable"),
        (["B", "--schema", "nan.json"], "--schema nan.json: expected a file of JSON: NaN"),
    ],
)
def test_add_refuses_what_a_task_should_not_hold(cli: Cli, argv: list[str], said: str) -> None:
    (cli.layout.root / "nan.json").write_text('{"maximum": NaN}')
    answer = cli("tasks", "add", *argv)
    assert answer.code == 2
    assert said in answer.err
    assert list(cli.layout.tasks.iterdir()) == []


def test_an_agent_is_looked_up_by_its_exact_name_and_becomes_no_path(cli: Cli) -> None:
    cli.layout.team_yaml.write_text("model: script/turns.yaml\n")
    (cli.layout.root / "turns.yaml").write_text("")
    for name in ("リレー", "12:30", "../../outside"):
        assert cli("tasks", "add", "B", "--agent", name, "--role", name).code == 0
    assert cli("tasks", "edit", "3", "--set", "required_role=null").code == 0
    before = sorted(cli.layout.root.parent.iterdir())
    report = cli("run", "--drain", "--only", "3", "--json")
    assert report.code == 3
    [task] = report.json["tasks"]
    assert task["reason"].startswith('Unknown agent "../../outside". Available: ')
    assert sorted(cli.layout.root.parent.iterdir()) == before


def test_claim_done_by_its_claim_id(cli: Cli) -> None:
    cli.board({"id": 1}, {"id": 2, "blockedBy": [1]})
    claimed = cli("tasks", "claim", "--owner", "ann", "--json")
    assert (claimed.code, claimed.json["id"]) == (0, 1)
    assert claimed.json["claim"]["source"] == "manual"
    assert cli("tasks", "done", "1", "--claim", "other").code == 1
    done = cli("tasks", "done", "1", "--claim", claimed.json["claim"]["id"], "--result", "[1]")
    assert done.out == "task 1 is completed\n"
    assert (cli.raw(1)["status"], cli.raw(1)["result"]) == ("completed", [1])
    assert cli("tasks", "ready", "--json").json == [2]


def test_a_claim_that_is_not_to_be_had_is_null_and_exit_1(cli: Cli) -> None:
    cli.board({"id": 1, "required_role": "reviewer"})
    for argv in (["--owner", "ann"], ["--owner", "ann", "1"]):
        answer = cli("tasks", "claim", *argv, "--json")
        assert (answer.code, answer.json) == (1, None)
        assert answer.err.startswith("runner: ")
    assert cli("tasks", "claim", "--owner", "ann", "--role", "reviewer", "1").code == 0
    assert cli("tasks", "claim", "--owner", "ann", "--role", "reviewer", "1").code == 1
    assert cli("tasks", "claim", "--owner", "ann", "7").code == 1


@pytest.mark.parametrize(("status", "force"), [("failed", ""), ("completed", " --force")])
def test_a_claim_of_what_has_ended_tells_how_it_is_opened_again(
    cli: Cli, status: str, force: str
) -> None:
    cli.board({"status": status})
    answer = cli("tasks", "claim", "--owner", "ann", "1")
    assert (answer.code, answer.out) == (1, "")
    assert f"it is {status}; `runner tasks retry 1{force}` opens it again" in answer.err


def test_who_reports_a_task_has_to_say_who_holds_it(cli: Cli) -> None:
    cli.board({"id": 1})
    cli("tasks", "claim", "--owner", "ann", "1")
    for argv in (["done", "1"], ["fail", "1", "--error", "x"]):
        answer = cli("tasks", *argv)
        assert answer.code == 2
        assert "--claim CID or --owner NAME" in answer.err
    assert cli("tasks", "done", "1", "--owner", "ben").code == 1
    assert cli("tasks", "done", "1", "--owner", "ann", "--result", "plain").code == 2
    assert cli.raw(1)["status"] == "in_progress"
    assert cli("tasks", "done", "1", "--owner", "ann").code == 0


def test_done_verifies_first_and_a_failure_leaves_the_task_held(cli: Cli) -> None:
    cli.board({"id": 1, "verify": ["true", "echo not yet; exit 3"]})
    cli("tasks", "claim", "--owner", "ann", "1")
    answer = cli("tasks", "done", "1", "--owner", "ann", "--json")
    assert (answer.code, answer.json["exit"]) == (1, 1)
    assert "exit 3" in answer.json["error"]
    assert "not yet" in answer.json["error"]
    assert cli.raw(1)["status"] == "in_progress"
    assert cli("tasks", "done", "1", "--owner", "ann", "--no-verify").code == 0
    events = cli("events", "--json").json
    [completed] = [event for event in events if event["event"] == "task.completed"]
    assert completed["verify"] == "skipped"


def test_done_looks_at_the_holder_before_it_runs_anything(cli: Cli) -> None:
    cli.board({"id": 1, "verify": "touch ran"})
    cli("tasks", "claim", "--owner", "ann", "1")
    refused = cli("tasks", "done", "1", "--owner", "eve")
    assert refused.code == 1
    assert "claimed by hand by ann" in refused.err
    assert not (cli.layout.root / "ran").exists()
    assert cli("tasks", "done", "1", "--owner", "ann").code == 0
    assert (cli.layout.root / "ran").exists()


@pytest.mark.parametrize("result", ["NaN", "[1, -Infinity]", "1e999", "[" * 100_000])
def test_a_result_by_hand_has_to_be_json(cli: Cli, result: str) -> None:
    cli.board({"id": 1})
    cli("tasks", "claim", "--owner", "ann", "1")
    answer = cli("tasks", "done", "1", "--owner", "ann", "--result", result)
    assert answer.code == 2
    assert "expected JSON" in answer.err
    assert len(answer.err) < 400
    assert cli.raw(1)["status"] == "in_progress"


def test_what_has_ended_is_not_released_by_force_but_retried(cli: Cli) -> None:
    cli.board({"id": 1, "status": "completed", "result": 1})
    before = cli.path(1).read_bytes()
    answer = cli("tasks", "release", "1", "--force")
    assert answer.code == 1
    assert "`runner tasks retry 1 --force` reopens it" in answer.err
    assert cli.path(1).read_bytes() == before


def test_a_result_by_hand_has_to_fit_the_schema_of_the_task(cli: Cli) -> None:
    shape = {"type": "object", "required": ["paths"]}
    cli.board({"id": 1, "schema": shape}, {"id": 2, "schema": {"type": 3}})
    cli("tasks", "claim", "--owner", "ann", "1")
    refused = cli("tasks", "done", "1", "--owner", "ann", "--result", "{}")
    assert refused.code == 2
    assert '"paths" is a required property' in refused.err
    assert cli.raw(1)["status"] == "in_progress"
    assert cli("tasks", "done", "1", "--owner", "ann", "--result", '{"paths": []}').code == 0
    assert cli.raw(1)["result"] == {"paths": []}
    unusable = cli("tasks", "done", "2", "--force", "--result", "{}")
    assert unusable.code == 2
    assert "task 2: its schema cannot be used" in unusable.err


def test_done_with_a_passing_verify_is_recorded_as_such(cli: Cli) -> None:
    cli.board({"id": 1, "verify": "test -d .tasks"})
    cli("tasks", "claim", "--owner", "ann", "1")
    assert cli("tasks", "done", "1", "--owner", "ann").code == 0
    [completed] = [e for e in cli("events", "--json").json if e["event"] == "task.completed"]
    assert completed["verify"] == "passed"


def test_fail_release_retry_and_delete(cli: Cli) -> None:
    cli.board({"id": 1}, {"id": 2})
    cli("tasks", "claim", "--owner", "ann", "1")
    assert cli("tasks", "fail", "1", "--owner", "ann", "--error", "broken").code == 0
    assert (cli.raw(1)["status"], cli.raw(1)["error"]) == ("failed", "broken")
    assert cli("tasks", "retry", "1").out == "task 1 is pending again\n"
    assert cli.raw(1)["status"] == "pending"
    cli("tasks", "claim", "--owner", "ann", "1")
    assert cli("tasks", "release", "1", "--owner", "ann", "--json").json["status"] == "pending"
    assert cli("tasks", "delete", "2").code == 0
    assert cli.raw(2)["status"] == "deleted"


def test_check_reports_problems_and_ends_in_1_if_one_is_an_error(cli: Cli) -> None:
    cli.board(
        {"id": 1, "agent": "explorer"},
        {"id": 2, "owner": "nobody-here"},
        {"id": 3, "blockedBy": [4]},
        {"id": 4, "blockedBy": [3]},
    )
    (cli.layout.tasks / "task_5.json").write_text('{"id": 5, "sta')
    answer = cli("tasks", "check", "--json")
    assert answer.code == 1
    found = {problem["kind"]: problem for problem in answer.json["problems"]}
    assert set(found) >= {"unknown-agent", "unknown-owner", "cycle", "invalid-json"}
    assert "near: explore" in found["unknown-agent"]["message"]
    assert set(found["cycle"]) == {"severity", "kind", "file", "id", "message"}
    assert "unknown-owner" in cli("tasks", "check").out


def test_retry_names_what_was_built_on_a_completed_task(cli: Cli) -> None:
    cli.board(
        {"id": 1, "status": "completed", "result": 1},
        {"id": 2, "status": "completed", "unblockedBy": [1]},
        {"id": 3, "unblockedBy": [1]},
    )
    assert "--force reopens it" in cli("tasks", "retry", "1").err
    answer = cli("tasks", "retry", "1", "--force")
    assert answer.err == "built on it, and left as they are: 2 (completed)\n"
    assert "result" not in cli.raw(1)


def test_check_names_what_only_the_team_can_tell(cli: Cli) -> None:
    cli.board({"id": 1, "required_role": "pilot", "run": "true"})
    cli.layout.team_yaml.write_text(
        "members: [{name: ada, role: coder, agent: explorer}]\n"
        "model: slow\nmodels: {slow: script/none.yaml, smol: slow}\n"
    )
    answer = cli("tasks", "check", "--json")
    assert answer.code == 1
    found = {(p["severity"], p["kind"], p["file"]): p["message"] for p in answer.json["problems"]}
    assert found["advice", "bad-field", "task_1.json"] == (
        "needs role pilot, which nobody in the team has (coder); nobody will claim it"
    )
    agent = found["error", "unknown-agent", "team.yaml"]
    assert agent.startswith('member ada: Unknown agent "explorer". Available: ')
    models = [p["message"] for p in answer.json["problems"] if p["severity"] == "warning"]
    assert [message.partition(":")[0] for message in models] == [
        "model",
        "models.slow",
        "models.smol",
    ]
    assert all("none.yaml is missing" in message for message in models)


def test_check_knows_the_members_of_the_last_run_as_owners(cli: Cli) -> None:
    cli.board({"id": 1, "owner": "zoe"})
    cli.layout.ensure_team()
    cli.layout.config.write_text('{"members": [{"name": "zoe"}]}')
    assert cli("tasks", "check", "--json").json["problems"] == []


def test_check_of_a_sound_board_is_quiet_and_0(cli: Cli) -> None:
    cli.board({"id": 1, "agent": "explore", "owner": "alice"}, {"id": 2, "status": "completed"})
    answer = cli("tasks", "check")
    assert (answer.code, answer.out) == (0, "no problems\n")


def test_check_takes_agents_that_are_switched_off_for_unknown(cli: Cli) -> None:
    cli.board({"id": 1, "agent": "explore"}, {"id": 2, "agent": "none", "run": "true"})
    cli.layout.team_yaml.write_text("disabled_agents: [explore]\n")
    problems = cli("tasks", "check", "--json").json["problems"]
    assert [p["id"] for p in problems if p["kind"] == "unknown-agent"] == [1]


def test_a_manual_claim_is_journalled_once_as_one_line(cli: Cli) -> None:
    cli.board({"id": 1})
    cli("tasks", "claim", "--owner", "ann", "1")
    lines = cli.layout.cli_journal.read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["task.claimed"]


def test_names_that_are_paths_are_refused_before_anything_is_made(cli: Cli) -> None:
    cli.board({"id": 1})
    for name in ("../../outside", "..", "a/b", "C:x", "", "x" * 300, "con"):
        assert cli("tasks", "claim", "--owner", name, "1").code != 0
    for name in ("../../outside", "a/b", "C:x", "x" * 300, "con"):
        for option in ("--owner", "--id", "--blocked-by"):
            assert cli("tasks", "add", "B", option, name).code == 2
        for field in ("owner", "blockedBy"):
            assert cli("tasks", "edit", "1", "--set", f"{field}={name}").code == 2
    assert cli.raw(1) == {"id": 1, "subject": "Task 1", "status": "pending"}
    assert [path.name for path in cli.layout.tasks.iterdir()] == ["task_1.json"]
    assert not cli.layout.team.exists()
