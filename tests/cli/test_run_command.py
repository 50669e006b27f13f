"""`runner run --command NAME`: the command becomes a task, and the run goes on as usual."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli

SCRIPT = "default: [{calls: [{submit_result: {data: done}}]}]\n"
DONE = {"run": "true"}


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def there(cli: Cli) -> Cli:
    """A board with a model and the commands `fix`, which takes input, and `tidy`."""
    (cli.layout.root / "turns.yaml").write_text(SCRIPT)
    cli.layout.team_yaml.write_text("model: script/turns.yaml\nmembers: 1\n")
    write(cli, "fix", "---\nagent: quick_task\n---\nMend $@, only $@.")
    write(cli, "tidy", "---\ndescription: Tidies\n---\nTidy up.")
    return cli


def write(cli: Cli, name: str, text: str) -> None:
    directory = cli.layout.root / ".claude" / "commands"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.md").write_text(text)


def files(cli: Cli) -> list[str]:
    return sorted(path.name for path in cli.layout.tasks.iterdir())


def test_the_command_is_a_task_with_the_input_in_its_text(there: Cli) -> None:
    answer = there("run", "--drain", "--command", "fix", "a.py and", "b $@")
    assert answer.code == 0, answer.err
    assert answer.out.splitlines()[0] == "command fix: task 1 is on the board"
    task = there.raw(1)
    assert task["subject"] == "fix: a.py and b $@"
    assert task["description"] == "Mend a.py and b $@, only a.py and b $@."
    assert (task["agent"], task["status"], task["result"]) == ("quick_task", "completed", "done")


def test_without_input_and_agent_the_description_is_the_subject(there: Cli) -> None:
    assert there("run", "--drain", "--command=tidy").code == 0
    task = there.raw(1)
    assert (task["subject"], task["description"]) == ("tidy: Tidies", "Tidy up.")
    assert "agent" not in task


def test_long_or_odd_input_makes_one_line_of_subject_and_is_whole_in_the_text(there: Cli) -> None:
    given = "one\ntwo \udcff \x1b[1m " + "x" * 200
    assert there("run", "--drain", "--command", "fix", given).code == 0
    task = there.raw(1)
    assert len(task["subject"]) == 100
    assert task["subject"].startswith("fix: one two \ufffd [1m xxx")
    assert task["subject"].endswith("...")
    assert given.replace("\udcff", "\ufffd") in task["description"]


def test_json_tells_the_id_and_stays_one_document(there: Cli) -> None:
    there.board(DONE)
    answer = there("run", "--drain", "--json", "--command", "tidy")
    assert answer.json["command"] == {"name": "tidy", "task": 2}
    assert [task["status"] for task in answer.json["tasks"]] == ["completed", "completed"]
    assert "command tidy: task 2 is on the board" in answer.err


def test_only_gets_the_new_task_as_well(there: Cli) -> None:
    there.board(DONE, DONE)
    assert there("run", "--drain", "--only", "2", "--command", "tidy").code == 0
    assert [there.raw(number)["status"] for number in (1, 2, 3)] == [
        "pending",
        "completed",
        "completed",
    ]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--command", "fx"], 'Unknown command "fx". Available: fix, lost, off, tidy, init'),
        (["--command", "fix", "--only", "9"], "--only: no task 9 on "),
        (
            ["--command", "tidy", "now"],
            "command 'tidy' takes no input, found 'now': there is no $@",
        ),
        (["sub", "--command", "tidy"], "'sub' stands before --command: name the folder of a board"),
        (["sub", "--command=fix", "x"], "`runner -C DIR run --command NAME`"),
        (["--command"], "requires an argument"),
        (["a", "b"], "found 'a b', expected one DIR"),
        (["--command", "lost"], "command 'lost': Unknown agent \"nobody\". Available: "),
        (["--command", "off"], "command 'off': Agent \"explore\" is switched off"),
        (["--command", "fix", "--model", "script/no.yaml"], "script file"),
        (["--command", "fix", "--junit", "no/such/r.xml"], "--junit"),
    ],
)
def test_what_cannot_begin_is_exit_2_and_nothing_is_added(
    there: Cli, argv: list[str], said: str
) -> None:
    write(there, "lost", "---\nagent: nobody\n---\nx")
    write(there, "off", "---\nagent: explore\n---\nx")
    (there.layout.root / "sub").mkdir()
    with there.layout.team_yaml.open("a") as stream:
        stream.write("disabled_agents: [explore]\n")
    answer = there("run", "--drain", *argv)
    assert answer.code == 2
    assert said in answer.err
    assert files(there) == []


def test_a_refusal_says_that_nothing_was_added(there: Cli) -> None:
    write(there, "lost", "---\nagent: nobody\n---\nx")
    assert "; nothing was put on the board" in there("run", "--command", "lost").err
    there.layout.team_yaml.write_text("members: 1\n")
    assert "Nothing was put on the board" in there("run", "--command", "tidy").err


def test_words_behind_two_dashes_are_input(there: Cli) -> None:
    assert there("run", "--drain", "--command", "fix", "--", "--drain").code == 0
    assert there.raw(1)["subject"] == "fix: --drain"


def test_warnings_of_the_command_are_told(there: Cli) -> None:
    write(there, "old", "Mend $ARGUMENTS")
    assert "$ARGUMENTS stays as it is" in there("run", "--drain", "--command", "old").err


def test_commands_are_those_of_the_folder_where_the_run_was_started(there: Cli) -> None:
    below = there.layout.root / "below"
    (below / ".claude" / "commands").mkdir(parents=True)
    (below / ".claude" / "commands" / "near.md").write_text("Near.")
    assert there("-C", str(below), "run", "--drain", "--command", "near").code == 0
    assert there.raw(1)["description"] == "Near."


def test_a_dry_run_shows_the_task_and_adds_nothing(there: Cli) -> None:
    there.board(DONE)
    answer = there("run", "--dry-run", "--command", "fix", "a.py")
    assert answer.code == 0
    assert answer.out.splitlines()[:5] == [
        "command fix: would be put on the board as task 2",
        "subject: fix: a.py",
        "agent: quick_task",
        "",
        "Mend a.py, only a.py.",
    ]
    assert [line.split()[:2] for line in answer.out.splitlines()[7:9]] == [
        ["1", "ready"],
        ["2", "ready"],
    ]
    assert files(there) == ["task_1.json"]


def test_a_dry_run_shows_only_the_beginning_of_a_long_text(there: Cli) -> None:
    write(there, "long", "\n".join(f"Step {number}" for number in range(30)))
    lines = there("run", "--dry-run", "--command", "long").out.splitlines()
    assert lines[10:12] == ["Step 7", "[22 more lines; --json has the whole text]"]


def test_input_that_is_missing_is_told_but_for_bundled_commands(there: Cli) -> None:
    write(there, "hinted", "---\nargument-hint: FILE\n---\nMend $@")
    assert (
        "warning: command 'hinted' takes input (FILE), and there is none: $@ becomes nothing"
    ) in there("run", "--dry-run", "--command", "hinted").err
    for argv in (["fix", "a.py"], ["tidy"], ["init"]):
        assert "takes input" not in there("run", "--dry-run", "--command", *argv).err


def test_a_dry_run_of_a_command_without_agent_names_none(there: Cli) -> None:
    lines = there("run", "--dry-run", "--command", "tidy").out.splitlines()
    assert lines[1:4] == ["subject: tidy: Tidies", "", "Tidy up."]


def test_a_dry_run_in_json_has_the_fields_of_the_task(there: Cli) -> None:
    there.board(DONE)
    answer = there("run", "--dry-run", "--json", "--only", "1", "--command", "tidy")
    assert answer.json["command"] == {
        "name": "tidy",
        "task": 2,
        "fields": {"subject": "tidy: Tidies", "description": "Tidy up.", "agent": None},
    }
    assert [task["id"] for task in answer.json["tasks"]] == [1, 2]


def test_a_dry_run_of_what_cannot_begin_is_exit_2_with_the_reason(there: Cli) -> None:
    write(there, "lost", "---\nagent: nobody\n---\nx")
    answer = there("run", "--dry-run", "--json", "--command", "lost")
    assert (answer.code, answer.json["exit"]) == (2, 2)
    assert answer.json["error"].startswith("command 'lost': Unknown agent \"nobody\"")
    assert answer.json["tasks"][0]["reason"].startswith('Unknown agent "nobody"')
