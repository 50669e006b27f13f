from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from runner.cli.main import main
from tests.cli.conftest import Cli

WAYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "--model", "team.yaml")
DONE = {"run": "true"}
FAILS = {"run": "echo no luck; exit 7"}
STUCK = {"run": "true", "blockedBy": [99]}
THINKS = {"description": "Think."}


@pytest.mark.parametrize(
    ("tasks", "code"),
    [
        ([DONE, DONE], 0),
        ([DONE, FAILS], 1),
        ([DONE, STUCK], 3),
        ([FAILS, STUCK], 1),
        ([DONE, THINKS], 2),
        ([], 0),
    ],
    ids=["all done", "one fails", "one left", "failed and left", "no model", "empty board"],
)
def test_exit_codes_are_the_same_in_text_and_in_json(
    cli: Cli, tasks: list[dict[str, Any]], code: int
) -> None:
    cli.board(*tasks)
    machine = cli("run", "--drain", "--json")
    assert (machine.code, machine.json["exit"]) == (code, code)
    human = cli("run", "--drain")
    assert human.code == code
    assert f"(exit {code})" in human.out or code == 2


def test_a_folder_without_a_board_is_exit_2_in_both_modes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(tmp_path), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["exit"] == 2
    assert main(["run", str(tmp_path / "nowhere")]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_no_model_says_the_ways_to_set_one_and_claims_nothing(cli: Cli) -> None:
    cli.board(DONE, THINKS)
    before = cli.path(1).read_bytes()
    answer = cli("run", "--drain", "--json")
    assert answer.code == 2
    assert all(way in answer.json["error"] for way in WAYS)
    assert "Ways to set one: `model:` in team.yaml or --model with " in answer.json["error"]
    assert "Mend" not in answer.json["error"]
    assert cli.path(1).read_bytes() == before


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, "script file {file} is missing"),
        ("taks: {}", "{file}: taks: found {{}}, expected one of tasks, agents, default"),
        ("tasks: {1: [{txt: a}]}", "{file}: tasks.1[0]: found {{'txt': 'a'}}, expected a mapping"),
        ("tasks: [", "{file}: line 1: found "),
    ],
)
def test_a_script_that_cannot_be_used_is_named_with_file_and_key(
    cli: Cli, script: str | None, said: str
) -> None:
    file = cli.layout.root / "turns.yaml"
    cli.layout.team_yaml.write_text("model: script/turns.yaml\n")
    cli.board(THINKS)
    if script is not None:
        file.write_text(script)
    for argv in (["run", "--drain"], ["run", "--dry-run"]):
        answer = cli(*argv)
        assert answer.code == 2
        assert f"\n  - script/turns.yaml: {said.format(file=file)}" in answer.err
        assert "\nMend the script file that is named above.\n" in answer.err
    assert cli.raw(1)["status"] == "pending"


def test_bad_settings_are_exit_2_with_file_key_and_what_was_expected(cli: Cli) -> None:
    cli.layout.team_yaml.write_text("limits: {max_turn: 3}\n")
    answer = cli("run", "--json")
    assert answer.code == 2
    assert "team.yaml: limits.max_turn: found 'an unknown key'" in answer.json["error"]
    assert answer.json["error"].endswith(" (did you mean max_turns?)")
    assert cli("run", "--members", "0").code == 2


def test_plain_lines_tell_board_workspace_events_and_a_verdict(cli: Cli) -> None:
    cli.board({"subject": "Write the parser", **DONE}, {"subject": "Break it", **FAILS})
    lines = cli("run", "--drain", "--members", "1").out.splitlines()
    assert lines[0] == f"board {cli.layout.tasks}"
    assert lines[1] == f"works in {cli.layout.workspace}"
    claimed = [line.split() for line in lines if " claimed " in line]
    assert claimed[0][1:] == ["alice", "claimed", "1", "Write", "the", "parser"]
    assert any(line.startswith("2 Break it (failed): ") and "7" in line for line in lines)
    assert lines[-1] == "something failed: 1 of 2 tasks completed (exit 1)"


def test_every_task_left_undone_is_named_with_its_reason(cli: Cli) -> None:
    cli.board(
        {"run": "true", "blockedBy": [2]},
        {"run": "true", "blockedBy": [1]},
        STUCK,
        {"run": "true", "required_role": "pilot"},
    )
    out = cli("run", "--drain").out.splitlines()
    assert any(line.startswith("1 Task 1 (blocked): ") and "cycle" in line for line in out)
    assert any(line.startswith("2 Task 2 (blocked): ") and "cycle" in line for line in out)
    assert any(line.startswith("3 Task 3 (blocked): ") and "99" in line for line in out)
    assert any(line.startswith("4 Task 4 ") and "pilot" in line for line in out)
    assert out[-1].endswith("(exit 3)")


def test_a_wait_for_the_model_is_told_with_its_reason(cli: Cli) -> None:
    turns = "default: [{fault: overloaded}, {calls: [{submit_result: {data: done}}]}]\n"
    (cli.layout.root / "turns.yaml").write_text(turns)
    cli.board(THINKS)
    answer = cli("run", "--drain", "--members", "1", "--model", "script/turns.yaml")
    assert answer.code == 0
    [line] = [line for line in answer.out.splitlines() if " model waits " in line]
    assert "alice    model waits       1    asked again in 1 s: " in line
    assert "overloaded" in line


def test_json_is_one_document_and_the_events_go_to_standard_error(cli: Cli) -> None:
    cli.board(DONE)
    answer = cli("run", "--drain", "--json")
    assert set(answer.json) == {
        "run",
        "team",
        "started",
        "finished",
        "exit",
        "tasks",
        "teammates",
        "totals",
        "notes",
    }
    assert " claimed " in answer.err
    assert " completed " in answer.err


def test_only_works_on_the_named_tasks(cli: Cli) -> None:
    cli.board(DONE, DONE, DONE)
    assert cli("run", "--drain", "--only", "1,3").code == 0
    assert [cli.raw(n)["status"] for n in (1, 2, 3)] == ["completed", "pending", "completed"]
    assert "no task 9" in cli("run", "--drain", "--only", "9").err
    assert cli("run", "--drain", "--only", ",").code == 2


def test_a_time_limit_ends_the_run_with_4_and_says_so(cli: Cli) -> None:
    cli.layout.team_yaml.write_text("limits: {grace: 0.1}\n")
    cli.board({"run": "sleep 60"})
    answer = cli("run", "--drain", "--max-time", "0.2")
    assert answer.code == 4
    assert "the time limit of 0.2 s" in answer.out
    assert answer.out.splitlines()[-1].endswith("(exit 4)")
    assert cli.raw(1)["status"] == "pending"


def test_what_people_are_told_at_the_end_is_in_the_json_too(cli: Cli) -> None:
    cli.layout.team_yaml.write_text("limits: {grace: 0.1}\n")
    cli.board({"run": "sleep 60"})
    report = cli("run", "--drain", "--max-time", "0.2", "--json").json
    assert report["exit"] == 4
    assert any("the time limit of 0.2 s" in note for note in report["notes"])


def test_a_claim_of_another_place_is_left_alone_until_it_is_taken_over(cli: Cli) -> None:
    claim: dict[str, Any] = {
        "id": "c",
        "run": "run-x",
        "by": "zoe",
        "at": "2026-01-01T00:00:00.000Z",
    }
    claim |= {"source": "run", "place": "elsewhere:1", "was": None}
    cli.board({"status": "in_progress", "owner": "zoe", "claim": claim, "run": "true"})
    left = cli("run", "--drain")
    assert left.code == 3
    assert "elsewhere" in left.out
    assert cli("run", "--drain", "--take-over").code == 0
    assert cli.raw(1)["status"] == "completed"


def test_a_task_that_is_made_during_the_run_is_told_with_its_subject(cli: Cli) -> None:
    task = '{"id": 2, "subject": "Made on the way", "run": "true"}'
    cli.board({"run": f"echo '{task}' > .tasks/task_2.json"})
    answer = cli("run", "--drain", "--members", "1")
    assert answer.code == 0
    [line] = [text for text in answer.out.splitlines() if " claimed " in text and " 2 " in text]
    assert line.endswith("Made on the way")


def test_a_dry_run_says_what_would_be_done_and_claims_nothing(cli: Cli) -> None:
    cli.board(DONE, {"blockedBy": [1], **DONE}, {"id": 3, "required_role": "pilot", **DONE})
    answer = cli("run", "--dry-run", "--json")
    assert answer.code == 3
    assert [(one["id"], one["outlook"]) for one in answer.json["tasks"]] == [
        (1, "ready"),
        (2, "coming"),
        (3, "stuck"),
    ]
    assert answer.json["tasks"][0]["by"] == ["alice", "bob", "carol"]
    assert "pilot" in answer.json["tasks"][2]["reason"]
    assert cli("run", "--dry-run", "--only", "1,2").out.endswith("nothing was claimed (exit 0)\n")
    assert cli.raw(1)["status"] == "pending"


def test_a_dry_run_lists_everything_before_it_says_that_nothing_can_think(cli: Cli) -> None:
    cli.board(DONE, THINKS)
    answer = cli("run", "--dry-run")
    assert answer.code == 2
    assert [line.split()[:2] for line in answer.out.splitlines()[1:3]] == [
        ["1", "ready"],
        ["2", "stuck"],
    ]
    assert answer.out.endswith("nothing was claimed (exit 2)\n")
    assert "no usable model for task 2" in answer.err
    told = cli("run", "--dry-run", "--json").json
    assert [one["outlook"] for one in told["tasks"]] == ["ready", "stuck"]
    assert (told["exit"], "no usable model" in told["error"]) == (2, True)


def test_a_dry_run_of_a_board_where_nothing_is_open_says_so(cli: Cli) -> None:
    cli.board({"status": "completed"})
    answer = cli("run", "--dry-run")
    assert (answer.code, answer.out) == (0, "nothing to do\n")


def test_a_dry_run_tells_what_failed_before_and_ends_as_the_run_would(cli: Cli) -> None:
    cli.board({"status": "failed"}, {"id": "b", "status": "failed"}, {"status": "completed"})
    answer = cli("run", "--dry-run")
    assert answer.code == cli("run", "--drain").code == 1
    assert "failed before, left as it is: 1, b; `runner tasks retry ID`" in answer.out
    assert "nothing to do" not in answer.out
    assert cli("run", "--dry-run", "--only", "3").code == 0


def test_a_dry_run_names_only_who_would_not_be_refused(cli: Cli) -> None:
    cli.layout.team_yaml.write_text(
        "model: script/turns.jsonl\n"
        "members: [{name: ann, agent: task}, {name: ben, agent: nobody}]\n"
    )
    (cli.layout.root / "turns.jsonl").write_text("")
    cli.board(THINKS, DONE)
    told = cli("run", "--dry-run", "--json").json
    assert [one["by"] for one in told["tasks"]] == [["ann"], ["ann", "ben"]]


def test_the_junit_report_has_every_task_and_its_folder_is_checked_first(cli: Cli) -> None:
    cli.board(DONE, FAILS)
    assert cli("run", "--drain", "--junit", "none/report.xml").code == 2
    assert cli.raw(1)["status"] == "pending"
    assert cli("run", "--drain", "--junit", "report.xml").code == 1
    [suite] = ET.fromstring((cli.layout.root / "report.xml").read_bytes())  # noqa: S314 - ours
    assert [case.get("name") for case in suite] == ["1 Task 1", "2 Task 2"]


@pytest.mark.parametrize("target", [".", "sealed.xml", "begun", "/proc/report.xml"])
def test_a_junit_target_that_cannot_be_written_is_exit_2_before_the_run(
    cli: Cli, target: str
) -> None:
    cli.board(DONE)
    (cli.layout.root / "sealed.xml").touch(mode=0o444)
    os.mkfifo(cli.layout.root / "begun")
    answer = cli("run", "--drain", "--json", "--junit", target)
    assert (answer.code, answer.json["exit"]) == (2, 2)
    assert f"--junit {cli.layout.root / target}" in answer.json["error"]
    assert cli.raw(1)["status"] == "pending"


@pytest.mark.parametrize(("tasks", "code"), [([], 1), ([FAILS], 1), ([STUCK], 3)])
def test_a_junit_report_that_cannot_be_saved_is_told_in_the_one_document(
    cli: Cli, tasks: list[dict[str, Any]], code: int
) -> None:
    cli.board({"run": "mkdir report.xml"}, *tasks)
    answer = cli("run", "--drain", "--json", "--junit", "report.xml")
    assert (answer.code, answer.json["exit"]) == (code, code)
    assert "report.xml could not be saved" in answer.json["notes"][-1]
    assert "runner: --junit: " in answer.err


def test_a_dry_run_has_no_junit_report(cli: Cli) -> None:
    answer = cli("run", "--dry-run", "--junit", "report.xml")
    assert answer.code == 2
    assert "--junit: a dry run has no report" in answer.err


def test_a_dry_run_takes_nothing_over(cli: Cli) -> None:
    answer = cli("run", "--dry-run", "--take-over")
    assert answer.code == 2
    assert "--take-over: a dry run takes nothing over" in answer.err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_a_live_view_is_drawn_and_a_final_table_stays(cli: Cli) -> None:
    cli.board({"subject": "Write the parser", "run": "sleep 1.2"}, STUCK)
    with redirect_stdout(Terminal()) as terminal:
        code = main(["run", str(cli.layout.root), "--drain", "--members", "1"])
    assert code == 3
    text = terminal.getvalue()
    assert "alice" in text
    assert "1 running" in text
    assert "Write the parser" in text
    assert text.splitlines()[-1] == "something is left undone: 1 of 2 tasks completed (exit 3)"


@contextmanager
def child(
    cli: Cli, *argv: str, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """The command line as a process of its own; standard input is a pipe that never ends."""
    never, keep_open = os.pipe()
    process: subprocess.Popen[bytes] = subprocess.Popen(
        [sys.executable, "-m", "runner", *argv],
        cwd=cli.layout.root,
        env=environment,
        stdin=never,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        with process:
            yield process
    finally:
        process.kill()
        os.close(never)
        os.close(keep_open)


@pytest.fixture
def heeded_hangup() -> Iterator[None]:
    """Tests under `nohup` pass on that SIGHUP is ignored, and a run respects that."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_the_run_with_its_code_and_returns_the_task(
    cli: Cli, number: signal.Signals, code: int, heeded_hangup: None
) -> None:
    cli.layout.team_yaml.write_text("limits: {grace: 0.1}\n")
    fifo = cli.layout.root / "begun"
    os.mkfifo(fifo)
    cli.board({"run": "echo > begun; sleep 60"})
    with child(cli, "run", "--drain", "--json") as process:
        fifo.read_bytes()  # ends as soon as the command has written
        process.send_signal(number)
        out, err = process.communicate(timeout=15)
    assert process.returncode == code, err
    assert json.loads(out)["exit"] == code
    assert number.name.encode() in err
    assert (cli.raw(1)["status"], cli.raw(1).get("owner") or None) == ("pending", None)


def test_a_second_signal_ends_at_once(cli: Cli) -> None:
    cli.layout.team_yaml.write_text("limits: {grace: 300}\n")
    fifo = cli.layout.root / "begun"
    os.mkfifo(fifo)
    cli.board({"run": "echo > begun; sleep 300"})
    with child(cli, "run", "--drain") as process:
        fifo.read_bytes()
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        first = process.stderr.readline()
        assert b"ending in at most 300 s; once more ends at once" in first
        process.send_signal(signal.SIGTERM)
        _, second = process.communicate(timeout=15)
    assert second == b"runner: SIGTERM: ending at once\n"
    assert process.returncode == 143
    assert cli.raw(1)["status"] == "pending"


def test_a_run_whose_output_nobody_reads_finishes_its_work_quietly(cli: Cli) -> None:
    cli.board(*[{"run": "true"} for _ in range(5)])
    shell = f"({sys.executable} -m runner run --drain; echo $? >code) | head -1"
    done = subprocess.run(
        ["sh", "-c", shell], cwd=cli.layout.root, capture_output=True, timeout=18, check=False
    )
    assert done.stdout == f"board {cli.layout.tasks}\n".encode()
    assert done.stderr == b""
    assert (cli.layout.root / "code").read_text() == "0\n"
    assert {cli.raw(n)["status"] for n in range(1, 6)} == {"completed"}


def test_a_command_that_asks_a_question_fails_fast_and_odd_output_is_no_trouble(cli: Cli) -> None:
    cli.board({"subject": "Ask 🚀", "run": "read -r answer && echo got $answer"})
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    with child(cli, "run", "--drain", environment=environment) as process:
        out, err = process.communicate(timeout=15)
    assert process.returncode == 1, err
    assert b"Ask ?" in out
    assert b"Traceback" not in err
    assert "Ask 🚀" in cli.path(1).read_text(encoding="utf-8")
