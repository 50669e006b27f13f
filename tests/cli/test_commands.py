from __future__ import annotations

from pathlib import Path

import pytest

from runner.cli.main import main
from tests.cli.conftest import Cli


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def write(cli: Cli, name: str, text: str, family: str = ".claude") -> Path:
    directory = cli.layout.root / family / "commands"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.md").write_text(text)
    return directory / f"{name}.md"


def test_list_has_those_that_count_with_what_they_shadow(cli: Cli) -> None:
    first = write(cli, "fix", "---\nagent: coder\nargument-hint: '[file]'\n---\nMend $@", ".xcsh")
    second = write(cli, "fix", "Other")
    (fix, init) = cli("commands", "list", "--json").json
    assert fix == {
        "name": "fix",
        "description": "Mend $@",
        "source": "project",
        "file": str(first),
        "agent": "coder",
        "argumentHint": "[file]",
        "takesInput": True,
        "shadows": [str(second)],
    }
    assert (init["name"], init["source"], init["shadows"]) == ("init", "bundled", [])


def test_list_for_people_names_source_agent_and_input(cli: Cli) -> None:
    write(cli, "fix", "Mend $@")
    write(cli, "tidy", "Tidy up")
    bad = write(cli, "bad", "")
    answer = cli("commands", "list")
    lines = [line.split() for line in answer.out.splitlines()]
    assert lines[:3] == [
        ["NAME", "SOURCE", "AGENT", "INPUT", "DESCRIPTION"],
        ["fix", "project", "text", "Mend", "$@"],
        ["tidy", "project", "none", "Tidy", "up"],
    ]
    assert f"warning: {bad}: skipped: there is no text in it" in answer.err


def test_list_tells_of_what_lies_there_and_is_not_read(cli: Cli) -> None:
    folder = write(cli, "fix", "Mend $@").parent / "more"
    folder.mkdir()
    (folder / "deep.md").write_text("Deep")
    answer = cli("commands", "list")
    assert f"{folder}: not looked into: only files directly in commands are read" in answer.err
    assert "deep" not in answer.out


def test_commands_need_no_board(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-C", str(tmp_path), "commands", "list"]) == 0
    assert "init" in capsys.readouterr().out


def test_show_has_file_settings_and_the_whole_text(cli: Cli) -> None:
    file = write(cli, "fix", "---\ncolor: red\nmodel: m\n---\nMend $@\n\n    now \x1b[31m!")
    answer = cli("commands", "show", "fix")
    assert answer.out.splitlines() == [
        "name: fix",
        "description: Mend $@",
        "source: project",
        f"file: {file}",
        "input: text",
        "unknown keys: color, model",
        "",
        "Mend $@",
        "",
        "    now  [31m!",
    ]
    assert answer.err.startswith("warning: `model` was ignored")
    shown = cli("commands", "show", "fix", "--json").json
    assert shown["instructions"] == "Mend $@\n\n    now \x1b[31m!"
    assert (shown["unknownKeys"], shown["fallback"]) == (["color", "model"], False)


def test_an_unknown_name_is_exit_1_and_lists_what_there_is(cli: Cli) -> None:
    write(cli, "fix", "Mend")
    answer = cli("commands", "show", "Fix", "--json")
    assert answer.code == 1
    assert answer.json["error"] == 'Unknown command "Fix". Available: fix, init'


def test_an_unknown_name_whose_file_was_skipped_says_why(cli: Cli) -> None:
    bad = write(cli, "bad", "---\nagent: [a, b]\n---\nMend")
    write(cli, "worse", "")
    answer = cli("commands", "show", "bad")
    assert answer.err.startswith(f"warning: {bad} was skipped: line 2: `agent` is")
    assert "worse" not in answer.err
