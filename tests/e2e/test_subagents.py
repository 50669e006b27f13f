"""Runs whose agents start subagents, from the command line to the record of each of them."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Place
from tests.e2e.test_runs import is_running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


def agent(place: Place, name: str, **front: str) -> None:
    folder = place.root / ".claude" / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{key}: {value}\n" for key, value in front.items())
    text = f"---\nname: {name}\ndescription: {name} works\n{lines}---\nYou are {name}.\n"
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def script(place: Place, **turns: dict[str, list[dict[str, Any]]]) -> None:
    """Every agent plays it; JSON is YAML."""
    (place.root / "team.yaml").write_text("model: script/s.yaml\n", encoding="utf-8")
    (place.root / "s.yaml").write_text(json.dumps(turns), encoding="utf-8")


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{tool: arguments}]}


def start(name: str, *assignments: str, **more: Any) -> dict[str, Any]:
    return call("task", agent=name, tasks=[{"assignment": one} for one in assignments], **more)


def log(place: Place, *argv: str) -> list[dict[str, Any]]:
    code, out, err = place.finish("tasks", "log", "1", *argv, "--json")
    assert code == 0, err
    lines: list[dict[str, Any]] = json.loads(out)
    return lines


def test_a_task_is_shared_among_subagents_and_each_leaves_its_record(place: Place) -> None:
    agent(place, "lead", spawns="writer, reader")
    agent(place, "writer", spawns="reader")
    agent(place, "reader", tools="read")
    place.task(1, agent="lead")
    script(
        place,
        tasks={
            "1": [
                start("writer", "write"),
                start("reader", "one", "two", background=True),
                start("explore", "look"),
                {"text": "I wait."},
                {"text": "I wait."},
                call("submit_result", data="whole"),
                call("submit_result", data="whole"),
            ]
        },
        agents={
            "writer": [
                call("write", path="made.txt", content="x"),
                start("reader", "check it"),
                call("submit_result", data={"wrote": "made.txt"}),
            ],
            "reader": [
                call("write", path="never.txt", content="x"),
                call("submit_result", data="has read"),
            ],
        },
    )

    code, out, err = place.finish("run", "--drain", "--json")

    assert code == 0, err
    [done] = json.loads(out)["tasks"]
    assert (done["status"], done["agent"]) == ("completed", "lead")
    assert (done["usage"]["subagents"], done["usage"]["changedFiles"]) == (4, ["made.txt"])
    assert place.read(1)["result"] == "whole"
    assert not (place.root / "never.txt").exists()
    told = [line["text"] for line in log(place) if line["kind"] in {"result", "user"}]
    assert any('"wrote": "made.txt"' in text for text in told)
    assert "Cannot spawn 'explore'. Allowed: writer, reader" in told
    assert sum("has read" in text for text in told) == 2
    for subagent, who in (("1", "writer"), ("1-1", "reader"), ("2", "reader"), ("3", "reader")):
        assert log(place, "--subagent", subagent)[0]["agent"] == who
    ended = [line["subagent"] for line in place.events() if line["event"] == "subagent.ended"]
    assert sorted(ended) == ["1", "1-1", "2", "3"]


def test_kill_9_leaves_no_command_of_a_subagent_running(
    place: Place, until: Callable[[Path], None]
) -> None:
    agent(place, "lead", spawns="worker")
    agent(place, "worker")
    place.task(1, agent="lead")
    script(
        place,
        tasks={"1": [start("worker", "serve")], "1/2": [call("submit_result", data="again")]},
        agents={"worker": [call("bash", command="echo $$ > pid; sleep 300")]},
    )
    run = place.start("run", "--drain")
    until(place.root / "pid")
    run.send_signal(signal.SIGKILL)
    run.communicate()

    code, _, err = place.finish("run", "--drain", "--json")

    assert code == 0, err
    assert not is_running(int((place.root / "pid").read_text()))
    assert (place.read(1)["result"], place.read(1)["attempt"]) == ("again", 2)


def test_sigterm_ends_subagents_with_their_attempt(
    place: Place, until: Callable[[Path], None]
) -> None:
    agent(place, "lead", spawns="worker")
    agent(place, "worker")
    place.task(1, agent="lead")
    script(
        place,
        tasks={"1": [start("worker", "serve", "serve too")]},
        agents={"worker": [call("bash", command="echo $$ >> pids; echo > there; sleep 300")]},
    )
    with (place.root / "team.yaml").open("a") as stream:
        stream.write("limits: {grace: 0.2}\n")
    run = place.start("run", "--drain")
    until(place.root / "there")
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=10)

    assert run.returncode == 143
    assert not any(is_running(int(pid)) for pid in (place.root / "pids").read_text().split())
    assert place.read(1)["status"] == "pending"
    ended = [line["outcome"] for line in place.events() if line["event"] == "subagent.ended"]
    assert ended == ["Cancelled", "Cancelled"]
