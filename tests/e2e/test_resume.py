"""kill -9 in the middle of an attempt: the next run goes on where it was."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from runner.testing import make_board
from tests.e2e.conftest import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]

TURNS = 10
KILL = "[ -e killed ] || { touch killed; kill -9 $PPID; sleep 77; }"


def doomed(root: Path, at: int) -> Place:
    """A task of ten turns, the last of which hands in the result; the run is killed in turn `at`.

    Each of the others writes a line; in the last one the check of the result is cut short.
    """
    (root / "home").mkdir(parents=True)
    commands = [f"echo {turn} >> lines" for turn in range(1, TURNS)]
    commands.append(f"test $(wc -l < lines) = {TURNS - 1}")
    commands[at - 1] += f" && {{ {KILL}; }}"
    make_board(root, [{"id": 1, "verify": commands.pop()}])
    turns: list[dict[str, Any]] = [{"calls": [{"bash": {"command": one}}]} for one in commands]
    turns.append({"calls": [{"submit_result": {"data": "nine lines"}}]})
    (root / "script.yaml").write_text(json.dumps({"tasks": {"1": turns}}))
    (root / "team.yaml").write_text("members: 1\nlimits: {poll_interval: 0.1, grace: 1}\n")
    return Place(root)


def results(place: Place) -> list[str]:
    """The commands whose results were recorded, over all attempts."""
    lines = [
        json.loads(line)
        for path in sorted((place.root / ".team/transcripts/task_1").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    ids = {line["id"] for line in lines if line["kind"] == "result"}
    calls = (line for line in lines if line["kind"] == "call" and line["id"] in ids)
    return [line["arguments"]["command"] for line in calls if line["name"] == "bash"]


def test_a_kill_9_at_any_of_ten_turns_repeats_no_call_with_a_result(tmp_path: Path) -> None:
    places = [doomed(tmp_path / str(at), at) for at in range(1, TURNS + 1)]
    argv = ("run", "--drain", "--json", "--model", "script/script.yaml")
    for place in places:
        assert place.finish(*argv)[0] == -9

    # all at once: each waits out the back-off of the attempt that died
    drains: list[subprocess.Popen[str]] = [place.start(*argv) for place in places]
    for at, (place, drain) in enumerate(zip(places, drains, strict=True), start=1):
        out, err = drain.communicate(timeout=120)
        assert drain.returncode == 0, out + err
        assert (place.read(1)["result"], place.read(1)["attempt"]) == ("nine lines", 2), at
        assert (place.root / "lines").read_text().split() == [str(n) for n in range(1, TURNS)]
        recorded = results(place)
        assert len(set(recorded)) == len(recorded) == (TURNS - 2 if at < TURNS else TURNS - 1)


@pytest.mark.parametrize("history", ["carry", "fresh"])
def test_a_history_is_carried_to_the_next_task_unless_the_team_says_otherwise(
    place: Place, history: str
) -> None:
    for number in (1, 2):
        place.task(number)
    (place.root / "s.yaml").write_text("default: [{calls: [{submit_result: {data: 1}}]}]\n")
    settings = f"model: script/s.yaml\nmembers: 1\nhistory: {history}\n"
    (place.root / "team.yaml").write_text(settings)

    assert place.finish("run", "--drain")[0] == 0

    transcript = place.root / ".team/transcripts/task_2/1.jsonl"
    start = json.loads(transcript.read_bytes().splitlines()[0])
    assert (start["carried"] > 0) is (history == "carry")


def turn(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{tool: arguments}]}


def test_a_kill_9_between_a_compaction_and_the_next_answer_goes_on_with_what_it_left(
    place: Place,
) -> None:
    long = [turn("bash", command=f"echo {n} >> lines; seq 2000") for n in (1, 2, 3)]
    first = [*long, {"fault": "context_overflow"}, {"fault": "hang"}]
    tasks = {"1": first, "1/2": [turn("submit_result", data="whole")]}
    (place.root / "s.yaml").write_text(json.dumps({"tasks": tasks}))
    (place.root / "team.yaml").write_text("model: script/s.yaml\nlimits: {poll_interval: 0.1}\n")
    place.task(1)
    records = place.root / ".team/transcripts/task_1"
    run = place.start("run", "--drain")
    seen = f"until grep -qs compacted {records}/1.jsonl; do sleep 0.01; done"
    subprocess.run(["sh", "-c", seen], check=True, timeout=30)
    run.kill()
    run.communicate()
    assert not (records / "2.jsonl").exists()

    code, _, err = place.finish("run", "--drain", "--json")

    assert code == 0, err
    assert (place.read(1)["result"], place.read(1)["attempt"]) == ("whole", 2)
    assert (place.root / "lines").read_text().split() == ["1", "2", "3"]
    shortened = json.loads((records / "1.jsonl").read_bytes().splitlines()[-1])
    resumed = (json.loads(one) for one in (records / "2.jsonl").read_bytes().splitlines())
    [taken_up] = [one for one in resumed if one["kind"] == "resumed"]
    assert (shortened["kind"], taken_up["turns"]) == ("compacted", shortened["turns"])


def test_after_a_kill_9_in_a_background_subagent_the_next_attempt_is_told_and_starts_it_again(
    place: Place,
) -> None:
    folder = place.root / ".claude/agents"
    folder.mkdir(parents=True)
    for name, spawns in (("lead", "spawns: worker\n"), ("worker", "")):
        front = f"name: {name}\ndescription: works\n{spawns}"
        (folder / f"{name}.md").write_text(f"---\n{front}---\nDo it.\n")
    begin = turn("task", agent="worker", tasks=[{"assignment": "serve"}], background=True)
    hand_in = turn("submit_result", data="whole")
    script = {
        "tasks": {"1": [begin, {"text": "I wait."}], "1/2": [begin, {"text": "I wait."}, hand_in]},
        "agents": {"worker": [turn("bash", command=KILL), turn("submit_result", data="served")]},
    }
    (place.root / "s.yaml").write_text(json.dumps(script))
    (place.root / "team.yaml").write_text("model: script/s.yaml\nlimits: {poll_interval: 0.1}\n")
    place.task(1, agent="lead")
    assert place.finish("run", "--drain")[0] == -9

    code, _, err = place.finish("run", "--drain", "--json")

    assert code == 0, err
    assert (place.read(1)["result"], place.read(1)["attempt"]) == ("whole", 2)
    record = place.root / ".team/transcripts/task_1/2.jsonl"
    lines = [json.loads(one) for one in record.read_bytes().splitlines()]
    told = [one["text"] for one in lines if one["kind"] == "user"]
    assert "Subagents have ended with that attempt: start those again" in told[0]
    assert sum("served" in text for text in told) == 1
