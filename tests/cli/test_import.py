"""`runner tasks import`: what is found where, what is added, what is told."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any, get_args

import pytest

from runner.board.importing import Tool
from runner.cli.import_sources import find_source
from runner.cli.task_import import TOOLS
from runner.errors import UsageError
from tests.cli.conftest import Answer, Cli

PAGE = "---\nid: {0}\ntitle: Page {0}\nstatus: {1}\n---\n\nBody of {0}\n"


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def taskmaster(root: Path, *tasks: Any) -> Path:
    path = root / ".taskmaster" / "tasks" / "tasks.json"
    return write(path, {"master": {"tasks": list(tasks), "metadata": {}}})


def ids(answer: Answer) -> list[int | str]:
    return [task["id"] for task in answer.json["tasks"]]


def test_tasks_of_another_tool_become_tasks_of_the_board(cli: Cli) -> None:
    taskmaster(
        cli.layout.root,
        {"id": 1, "title": "Set up", "status": "done"},
        {"id": 2, "title": "Build", "dependencies": [1], "priority": "high", "effort": 3},
        {"id": 3, "title": "Later", "status": "deferred"},
    )
    answer = cli("tasks", "import", ".")
    assert answer.code == 0
    told = "3 tasks added (task-master, .taskmaster/tasks/tasks.json)"
    assert answer.out.splitlines()[-1] == told
    assert cli.raw(2)["metadata"]["imported"] == {
        "from": "task-master",
        "source": ".taskmaster/tasks/tasks.json",
        "id": 2,
        "fields": {"priority": "high", "effort": 3},
    }
    states = {task["id"]: task["state"] for task in cli("tasks", "list", "--json").json}
    assert states == {1: "completed", 2: "ready", 3: "assigned"}
    assert [p["kind"] for p in cli("tasks", "check", "--json").json["problems"]] == []


def test_a_dry_run_tells_the_same_and_changes_nothing(cli: Cli) -> None:
    taskmaster(cli.layout.root, {"id": 1, "title": "A"}, {"id": 2, "title": "B"})
    before = cli("tasks", "import", ".", "--dry-run", "--json").json
    assert (before["dryRun"], list(cli.layout.tasks.iterdir())) == (True, [])
    assert not cli.layout.team.exists()
    assert "2 tasks would be added" in cli("tasks", "import", ".", "--dry-run").out
    after = cli("tasks", "import", ".", "--json").json
    assert {**after, "dryRun": True} == before


def test_the_data_tells_ids_notes_and_what_was_left_out(cli: Cli) -> None:
    cli.board({"id": 1})
    taskmaster(cli.layout.root, {"id": 1, "title": "A", "assignee": "zoe"}, {"id": 2})
    answer = cli("tasks", "import", ".taskmaster", "--json")
    assert answer.code == 1
    assert answer.json == {
        "from": "task-master",
        "source": ".taskmaster/tasks/tasks.json",
        "dryRun": False,
        "tasks": [
            {
                "id": 2,
                "sourceId": 1,
                "subject": "A",
                "status": "pending",
                "owner": None,
                "blockedBy": [],
                "priority": None,
                "notes": [
                    "id 1 is taken here: it becomes 2",
                    "anybody may take it: zoe is no member of the team",
                ],
            }
        ],
        "known": [],
        "skipped": [
            {
                "where": "task 2",
                "reason": "no title: a task needs one line that says what it is",
                "broken": True,
            }
        ],
    }


def test_a_second_import_adds_only_what_is_new(cli: Cli) -> None:
    tasks = [{"id": 1, "title": "A"}]
    taskmaster(cli.layout.root, *tasks)
    cli("tasks", "import", ".")
    taskmaster(cli.layout.root, *tasks, {"id": 2, "title": "B", "dependencies": [1]})
    answer = cli("tasks", "import", ".")
    assert answer.out.splitlines()[-1].startswith("1 task added, 1 here already (task-master")
    assert cli.raw(2)["blockedBy"] == [1]
    assert cli("tasks", "import", ".", "--json").json["known"][0] == {"id": 1, "sourceId": 1}


def test_a_member_of_the_team_keeps_what_was_assigned_to_it(cli: Cli) -> None:
    taskmaster(cli.layout.root, {"id": 1, "title": "A", "assignee": "alice"})
    cli("tasks", "import", ".")
    assert cli.raw(1)["owner"] == "alice"


def test_more_tasks_than_go_into_one_lock_hold_are_all_added(cli: Cli) -> None:
    issues = [{"id": f"bd-{n}", "title": f"T{n}"} for n in range(101)]
    path = cli.layout.root / ".beads" / "issues.jsonl"
    write(path, "\n".join(json.dumps(issue) for issue in issues))
    assert len(ids(cli("tasks", "import", ".", "--json"))) == 101
    assert len(list(cli.layout.tasks.iterdir())) == 101


def test_what_cannot_be_saved_is_named_and_the_rest_is_added(cli: Cli) -> None:
    taskmaster(
        cli.layout.root, {"id": 1, "title": "A", "details": "x" * 9000}, {"id": 2, "title": "B"}
    )
    _, hard = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8000, hard))
    try:
        answer = cli("tasks", "import", ".", "--json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (answer.code, ids(answer)) == (1, [2])
    [skipped] = answer.json["skipped"]
    assert "task_1.json could not be saved: File too large" in skipped["reason"]
    assert ids(cli("tasks", "import", ".", "--json")) == [1]


def test_an_id_that_another_file_has_is_not_taken_from_it(cli: Cli) -> None:
    taskmaster(cli.layout.root, {"id": "a", "title": "A"}, {"id": 2, "title": "B"})
    (cli.layout.tasks / "task_A.json").symlink_to("nowhere")
    assert ids(cli("tasks", "import", ".", "--json")) == [3, 2]


def test_tags_of_task_master_have_to_be_named(cli: Cli) -> None:
    path = write(
        cli.layout.root / "tasks.json",
        {
            "master": {"tasks": [{"id": 1, "title": "A"}]},
            "next": {"tasks": [{"id": 1, "title": "B"}, {"id": 2, "title": "C"}]},
        },
    )
    refused = cli("tasks", "import", "tasks.json")
    assert (refused.code, "master (1), next (2)" in refused.err) == (2, True)
    assert "no tag old; there are: master" in cli("tasks", "import", str(path), "--tag", "old").err
    both = cli("tasks", "import", "tasks.json", "--tag", "next", "--tag", "master", "--json")
    assert [(task["id"], task["subject"]) for task in both.json["tasks"]] == [
        (1, "A"),
        (3, "B"),
        (2, "C"),
    ]
    assert cli.raw(3)["metadata"]["imported"]["part"] == "next"


def test_backlog_is_read_with_all_its_folders(cli: Cli) -> None:
    root = cli.layout.root / "backlog"
    write(root / "tasks" / "task-2 - Two.md", PAGE.format("task-2", "To Do"))
    write(root / "tasks" / "task-10 - Ten.md", PAGE.format("task-10", "In Progress"))
    write(root / "completed" / "task-1.md", PAGE.format("task-1", "Done"))
    write(root / "archive" / "tasks" / "task-3.md", PAGE.format("task-3", "To Do"))
    write(root / "drafts" / "draft-1.md", PAGE.format("draft-1", "Draft"))
    for named in (".", "backlog", "backlog/tasks"):
        answer = cli("tasks", "import", named, "--dry-run", "--json")
        found = [(task["id"], task["status"]) for task in answer.json["tasks"]]
        assert found == [
            ("task-2", "pending"),
            ("task-10", "pending"),
            ("task-1", "completed"),
            ("task-3", "deleted"),
            ("draft-1", "pending"),
        ], named
        assert answer.json["source"] == "backlog"


def test_a_task_folder_of_claude_code_outside_the_board_is_told_by_its_end(
    cli: Cli, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("home") / ".claude" / "tasks" / "my-team"
    for number in (1, 2, 10):
        write(folder / f"{number}.json", {"id": str(number), "subject": f"T{number}"})
    write(folder / ".lock", "")
    answer = cli("tasks", "import", str(folder), "--json")
    assert (ids(answer), answer.json["source"]) == (["1", "2", "10"], ".claude/tasks/my-team")


def test_unreadable_files_of_a_folder_are_named(cli: Cli) -> None:
    write(cli.layout.root / "list" / "1.json", {"id": "1", "subject": "A"})
    broken = write(cli.layout.root / "list" / "2.json", "")
    broken.unlink()
    broken.symlink_to(f"/proc/{os.getpid()}/mem")  # opens, and fails to be read
    answer = cli("tasks", "import", "list")
    assert answer.code == 1
    assert answer.err.startswith("skipped: 2.json: ")
    assert "1 task added, 1 skipped (claude-code, list)" in answer.out


@pytest.mark.parametrize(
    ("files", "options", "told"),
    [
        ({}, ["nothing"], "no such file or folder; expected Task Master's"),
        ({"a.txt": "x"}, ["a.txt"], "not a file of tasks that can be read"),
        ({"a.txt": "x"}, ["."], "no tasks of another tool found"),
        ({"a.txt": "x"}, [".", "--from", "beads"], "no tasks of beads found"),
        ({"tasks.json": "{"}, ["."], "not JSON"),
        ({"tasks.json": "\xff"}, ["tasks.json"], "not JSON"),
        ({"tasks.json": "[]"}, ["tasks.json"], "found no list of tasks"),
        ({"tasks.json": '{"tasks": []}'}, [".", "--tag", "a"], "no tag a; there are: none"),
        ({"issues.jsonl": ""}, [".", "--tag", "a"], "--tag: only lists of Task Master"),
        ({"issues.jsonl": "", "tasks.json": "{}"}, ["."], "several tools: task-master ("),
        ({"1.json": "{}"}, ["1.json", "--from", "claude-code"], "not a file of tasks"),
    ],
)
def test_what_cannot_be_imported_is_exit_2(
    cli: Cli, files: dict[str, str], options: list[str], told: str
) -> None:
    for name, text in files.items():
        (cli.layout.root / name).write_text(text, encoding="latin-1")
    answer = cli("tasks", "import", *options)
    assert answer.code == 2
    assert told in answer.err
    assert list(cli.layout.tasks.iterdir()) == []


def test_a_file_that_cannot_be_opened_is_exit_2(cli: Cli) -> None:
    (cli.layout.root / "issues.jsonl").symlink_to(f"/proc/{os.getpid()}/mem")
    answer = cli("tasks", "import", "issues.jsonl")
    assert answer.code == 2
    assert "issues.jsonl: " in answer.err


def test_the_tool_says_which_of_several_is_meant(cli: Cli) -> None:
    write(cli.layout.root / "issues.jsonl", '{"id": "bd-1", "title": "A"}')
    taskmaster(cli.layout.root, {"id": 1, "title": "B"})
    assert ids(cli("tasks", "import", ".", "--from", "beads", "--json")) == ["bd-1"]


def test_records_that_are_no_tasks_do_not_count_as_broken(cli: Cli) -> None:
    write(cli.layout.root / "issues.jsonl", '{"_type": "memory", "key": "k"}')
    answer = cli("tasks", "import", ".")
    assert answer.code == 0
    assert answer.err == "skipped: line 1: a record of type 'memory', no task\n"
    assert answer.out == "0 tasks added, 1 skipped (beads, issues.jsonl)\n"


def test_the_tools_are_those_that_can_be_read(tmp_path: Path) -> None:
    assert get_args(Tool) == TOOLS
    with pytest.raises(UsageError, match=r"Backlog\.md folder"):
        find_source(tmp_path / "none", None)
