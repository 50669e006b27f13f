from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator

import pytest

from runner.board.runs import RunLock
from runner.core.clock import SystemClock
from runner.core.layout import Layout
from runner.core.settings import MemberSpec
from runner.team.roster import Roster
from tests.cli.conftest import Cli


@contextlib.contextmanager
def live_run(layout: Layout, run: str, *names: str) -> Iterator[None]:
    """A run as others see it: its lock is held and its roster is on disk."""
    lock = RunLock.start(layout, run)
    try:
        roster = Roster(layout, run=run, team="crew", clock=SystemClock())
        roster.enlist([MemberSpec(name=name, role="coder") for name in names])
        yield
    finally:
        lock.release()


def test_status_lists_the_teammates_of_live_runs(cli: Cli) -> None:
    assert cli("team", "status").out == "no run is at work on this board\n"
    with live_run(cli.layout, "run-1", "ada", "ben"):
        told = cli("team", "status", "--json").json
        assert [member["name"] for member in told["members"]] == ["ada", "ben"]
        assert told["members"][0] == {
            "name": "ada",
            "role": "coder",
            "agent": None,
            "status": "idle",
            "task": None,
            "run": "run-1",
            "team": "crew",
        }
        assert [run["run"] for run in told["runs"]] == ["run-1"]
        about, _, ada, _ = cli("team", "status").out.splitlines()
        assert about.startswith("run-1 of team crew: since ")
        assert about.endswith(f", process {os.getpid()}, works in {cli.layout.workspace}")
        assert ada.split()[:2] == ["ada", "coder"]
    assert cli("team", "status", "--json").json == {"runs": [], "members": []}


def test_status_tells_two_runs_apart(cli: Cli) -> None:
    with live_run(cli.layout, "run-1", "ada"), live_run(cli.layout, "run-2", "ada", "ben"):
        told = cli("team", "status", "--json").json
        assert [(one["run"], one["name"]) for one in told["members"]] == [
            ("run-1", "ada"),
            ("run-2", "ada-2"),
            ("run-2", "ben"),
        ]
        assert [run["run"] for run in told["runs"]] == ["run-1", "run-2"]
        lines = cli("team", "status").out.splitlines()
        firsts = [line.split()[0] for line in lines]
        assert firsts == ["run-1", "run-2", "NAME", "ada", "ada-2", "ben"]


def test_status_tells_the_workspace_of_a_run_and_forgives_an_odd_roster(cli: Cli) -> None:
    with live_run(cli.layout, "run-1", "ada"):
        [run] = cli("team", "status", "--json").json["runs"]
        assert run["workspace"] == str(cli.layout.workspace)
        path = cli.layout.runs / "run-1.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"started": "noon"}))
        line = cli("team", "status").out.splitlines()[0]
    assert line.startswith("run-1 of team crew: process ")


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_message_is_refused(cli: Cli, text: str) -> None:
    answer = cli("team", "send", "alice", text)
    assert answer.code == 2
    assert "expected a message" in answer.err
    assert not cli.layout.team.exists()


def test_a_message_of_the_lead_arrives_and_looking_takes_nothing_away(cli: Cli) -> None:
    assert cli("team", "send", "alice", "Look at\ntask 3").out == "sent to alice\n"
    for _ in range(2):
        [message] = cli("team", "inbox", "alice", "--json").json
        assert (message["from"], message["content"]) == ("lead", "Look at\ntask 3")
    assert cli("team", "inbox", "alice").out.endswith(" lead: Look at task 3\n")
    [event] = [json.loads(line) for line in cli.layout.cli_journal.read_text().splitlines()]
    assert (event["event"], event["to"], event["id"]) == ("message.sent", "alice", message["id"])


def test_a_teammate_of_a_live_run_can_be_written_to(cli: Cli) -> None:
    with live_run(cli.layout, "run-1", "ada"):
        told = cli("team", "send", "ada", "Hi", "--json").json
    assert (told["to"], told["content"]) == ("ada", "Hi")


def test_an_unknown_recipient_is_an_error_that_lists_the_members(cli: Cli) -> None:
    answer = cli("team", "send", "zoe", "Hi")
    assert answer.code == 1
    assert "alice" in answer.err
    assert cli("team", "send", "../zoe", "Hi").code == 2
    assert cli("team", "inbox", "../zoe").code == 2
    assert list(cli.layout.inbox.glob("zoe*")) == []


def test_an_empty_inbox_says_so(cli: Cli) -> None:
    assert cli("team", "inbox").out == "no unread messages for lead\n"
    assert not cli.layout.team.exists()


def test_stop_asks_one_or_everybody_at_work(cli: Cli) -> None:
    with live_run(cli.layout, "run-1", "ada", "ben"):
        [asked] = cli("team", "stop", "ben", "--json").json
        assert (asked["name"], asked["run"]) == ("ben", "run-1")
        assert cli("team", "stop", "zoe").code == 1
        everybody = cli("team", "stop").out.splitlines()
    assert everybody == [f"asked {name} of run run-1 to shut down" for name in ("ada", "ben")]
    [message] = cli("team", "inbox", "ada", "--json").json
    assert (message["type"], message["run"]) == ("shutdown_request", "run-1")
    assert "(shutdown_request)" in cli("team", "inbox", "ada").out


def test_send_and_stop_know_the_same_members(cli: Cli) -> None:
    (cli.layout.root / "team.yaml").write_text("members: [ada, ben]\n", encoding="utf-8")
    with live_run(cli.layout, "run-1", "ada"):
        assert cli("team", "send", "ben", "hello").code == 0
        absent = cli("team", "stop", "ben")
        assert (absent.code, absent.out) == (0, "ben is not at work\n")
        assert cli("team", "stop", "ben", "--json").json == []
        wrong = [cli("team", "send", "zoe", "hello").err, cli("team", "stop", "zoe").err]
    assert wrong[0] == wrong[1]
    assert "members: lead, ada, ben" in wrong[0]


def test_who_is_at_work_can_be_stopped_whatever_team_yaml_holds(cli: Cli) -> None:
    (cli.layout.root / "team.yaml").write_text("members: [", encoding="utf-8")
    with live_run(cli.layout, "run-1", "ada"):
        assert cli("team", "stop", "ada").code == 0


def test_who_was_asked_to_stop_is_shown_as_stopping(cli: Cli) -> None:
    with live_run(cli.layout, "run-1", "ada", "ben"):
        cli("team", "stop", "ben")
        members = cli("team", "status", "--json").json["members"]
    assert [one["status"] for one in members] == ["idle", "stopping"]


def test_stop_without_a_run_is_no_error(cli: Cli) -> None:
    assert cli("team", "stop").out == "no run is at work on this board\n"
    assert cli("team", "stop", "--json").json == []
