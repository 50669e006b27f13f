from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner import __version__
from runner.cli.main import main


def test_the_version_is_told_alone_and_as_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert main(["-C", ".", "--version"]) == 0
    assert capsys.readouterr().out == f"runner {__version__}\n" * 2


def test_the_package_can_be_run_as_a_module() -> None:
    argv = [sys.executable, "-m", "runner", "--version"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout == f"runner {__version__}\n"


def test_the_version_is_answered_before_anything_heavy_is_imported() -> None:
    code = (
        "import sys; before = set(sys.modules); from runner.cli.main import main;"
        "main(['--version']); new = set(sys.modules) - before;"
        "print(sorted({'click', 'rich', 'anyio', 'filelock', 'yaml'} & new))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_looking_at_ready_tasks_loads_no_model_no_team_and_no_log(tmp_path: Path) -> None:
    (tmp_path / ".tasks").mkdir()
    code = (
        "import sys; from runner.cli.main import main; main(sys.argv[1:]);"
        "heavy = ('rich', 'structlog', 'yaml', 'anyio', 'filelock',"
        " 'runner.team', 'runner.work', 'runner.agents');"
        "print([name for name in heavy if name in sys.modules])"
    )
    argv = [sys.executable, "-c", code, "-C", str(tmp_path), "tasks", "ready"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for word in ("demo", "run", "init", "tasks", "agents", "team", "events"):
        assert word in out
    assert main([]) == 0


@pytest.mark.parametrize(
    "argv",
    [
        ["no-such-command"],
        ["run", "--no-such-option"],
        ["tasks"],
        ["tasks", "show"],
        ["run", "--members", "many"],
    ],
)
def test_a_wrong_call_is_exit_2_with_a_hint(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("runner: ")
    assert "--help" in told.err
    assert ". (see" not in told.err


@pytest.mark.parametrize(
    ("argv", "meant"),
    [(["taks", "list"], "tasks"), (["tasks", "shw"], "show"), (["run", "--drian"], "--drain")],
)
def test_a_slip_of_the_keyboard_is_told_what_was_meant(
    argv: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    assert f"'{meant}'" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["", "run", "tasks", "tasks list"])
def test_help_has_a_short_option(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*word.split(), "-h"]) == 0
    assert "-h, --help" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["", "run", "tasks", "agents", "commands", "team"])
def test_help_fits_80_columns_and_cuts_no_sentence_short(
    word: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*word.split(), "--help"]) == 0
    usage, *lines = capsys.readouterr().out.splitlines()
    assert max(map(len, [usage, *lines])) <= 80
    assert not any(line.endswith("...") for line in lines)


def test_a_wrong_call_with_json_is_one_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "list", "--json", "--no-such-option"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["exit"] == 2
    assert "--no-such-option" in document["error"]


def test_no_board_is_exit_2_in_text_and_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-C", str(tmp_path), "tasks", "list"]) == 2
    assert "runner init" in capsys.readouterr().err
    assert main(["-C", str(tmp_path), "tasks", "list", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["exit"] == 2
    assert main(["-C", str(tmp_path / "nowhere"), "tasks", "list"]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_the_board_is_found_from_a_folder_below_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".tasks").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert main(["-C", str(tmp_path / "a" / "b"), "tasks", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.fixture
def board(tmp_path: Path) -> Path:
    (tmp_path / ".tasks").mkdir()
    for number in range(300):
        task = {"id": number, "subject": f"Launch 🚀 {number} " + "x" * 300, "status": "pending"}
        path = tmp_path / ".tasks" / f"task_{number}.json"
        path.write_text(json.dumps(task, ensure_ascii=False), encoding="utf-8")
    return tmp_path


def child(board: Path, shell: str) -> subprocess.CompletedProcess[bytes]:
    """`shell` with `$R` for the command line; a pipe that never ends as standard input."""
    never, keep_open = os.pipe()
    try:
        return subprocess.run(
            ["sh", "-c", shell],
            cwd=board,
            env=os.environ | {"R": f"{sys.executable} -m runner"},
            stdin=never,
            capture_output=True,
            timeout=15,
            check=False,
        )
    finally:
        os.close(never)
        os.close(keep_open)


def test_a_closed_output_pipe_is_a_quiet_end(board: Path) -> None:
    done = child(board, "($R tasks list; echo $? >code) | head -1")
    assert done.stdout.startswith(b"ID")
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""
    assert (board / "code").read_text() == "0\n"


@pytest.mark.parametrize("argv", [["--help"], ["-C", ".", "--version"], ["tasks", "list"]])
def test_output_into_a_pipe_that_is_closed_already_is_a_quiet_end(
    board: Path, argv: list[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "runner", *argv]
    try:
        done = subprocess.run(
            command, cwd=board, stdout=writer, stderr=subprocess.PIPE, timeout=15, check=False
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


class InterruptedList(list[str]):
    """A command line during which Ctrl-C is pressed."""

    def __iter__(self) -> Iterator[str]:
        raise KeyboardInterrupt


def test_ctrl_c_before_the_command_has_begun_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(InterruptedList(["tasks", "list", "--json"])) == 130
    assert json.loads(capsys.readouterr().out) == {"error": "interrupted", "exit": 130}


def test_a_folder_that_cannot_be_made_is_a_plain_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["-C", str(tmp_path), "init", "file/below", "--json"]) == 1
    told = capsys.readouterr()
    assert told.err == f"runner: {tmp_path}/file/below: Not a directory\n"
    assert json.loads(told.out)["exit"] == 1


def test_a_crash_is_told_logged_and_ends_in_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-C", str(tmp_path), "init", "a\0b", "--json"]) == 1
    told = capsys.readouterr()
    assert "internal error" in json.loads(told.out)["error"]
    assert "command_crashed" in told.err
    assert "Traceback" in told.err


def test_output_that_cannot_be_encoded_is_replaced_and_files_stay_utf_8(board: Path) -> None:
    done = child(
        board,
        "export PYTHONIOENCODING=ascii; $R tasks add 'Größe 🚀' --id 1000; $R tasks show 1000",
    )
    assert done.returncode == 0, done.stderr
    assert b"Gr??e ?" in done.stdout
    assert "Größe 🚀" in (board / ".tasks" / "task_1000.json").read_text(encoding="utf-8")


def test_closed_standard_streams_are_no_trouble(board: Path) -> None:
    done = child(board, "$R tasks done 1 --owner nobody <&- >&- 2>&-; echo $?")
    assert (done.stdout, done.stderr) == (b"1\n", b"")
