"""Field cases that need real processes: B1, C2, D3, I2, and a demo without any network."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

# any try to reach another host leaves a mark and ends the process
NO_NETWORK = """
import os, socket
def refused(self, address, _real=socket.socket.connect):
    if self.family == socket.AF_UNIX:
        return _real(self, address)
    open(os.environ["REACHED"], "w").write(repr(address))
    os._exit(77)
socket.socket.connect = refused
socket.getaddrinfo = lambda *a, **k: os._exit(78)
"""


def test_three_runs_of_four_teammates_ask_the_model_once_for_each_turn_of_twenty_tasks(
    place: Place,
) -> None:
    turns = {}
    for number in range(1, 21):
        place.task(number)
        ran = {"bash": {"command": f"echo {number} >> ran.txt"}}
        turns[str(number)] = [{"calls": [ran]}, {"calls": [{"submit_result": {"data": number}}]}]
    (place.root / "s.yaml").write_text(json.dumps({"tasks": turns}))
    (place.root / "team.yaml").write_text("model: script/s.yaml\n")

    runs = [place.start("run", "--drain", "--json", "--members", "4") for _ in range(3)]
    ends = [(*run.communicate(timeout=80), run.returncode) for run in runs]

    assert [code for _, _, code in ends] == [0, 0, 0], ends
    once = Counter(range(1, 21))
    assert Counter(map(int, (place.root / "ran.txt").read_text().split())) == once
    asked = Counter(one["task"] for one in place.events() if one["event"] == "turn.ended")
    assert asked == Counter(dict.fromkeys(range(1, 21), 2))
    for number in once:
        task = place.read(number)
        assert (task["status"], task["attempt"], task["result"]) == ("completed", 1, number)


def test_sigterm_during_a_model_call_gives_the_task_back_and_keeps_what_was_written(
    place: Place, until: Callable[[Path], None]
) -> None:
    write = {"write": {"path": "part.txt", "content": "half"}}
    script = {"tasks": {"1": [{"calls": [write]}, {"fault": "hang"}]}}
    (place.root / "s.yaml").write_text(json.dumps(script))
    (place.root / "team.yaml").write_text("model: script/s.yaml\nlimits: {grace: 0.2}\n")
    place.task(1)
    place.task(2, run="touch second", blockedBy=[1])
    run = place.start("run", "--drain")
    until(place.root / "part.txt")
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=15)

    task = place.read(1)
    assert run.returncode == 143
    assert (task["status"], task.get("owner") or None, task["attempt"]) == ("pending", None, 1)
    assert (place.root / "part.txt").read_text() == "half"
    assert not (place.root / "second").exists()


def test_a_message_taken_by_a_run_that_is_killed_is_unread_or_saved(place: Place) -> None:
    (place.root / "s.yaml").write_text("default: [{fault: hang}]")
    (place.root / "team.yaml").write_text("model: script/s.yaml\nmembers: 1\n")
    assert place.finish("team", "send", "alice", "read me")[0] == 0
    # the lead looks first: nothing is consumed
    for _ in range(2):
        assert len(json.loads(place.finish("team", "inbox", "alice", "--json")[1])) == 1
    run = place.start("run")
    transcripts = place.root / ".team" / "transcripts" / "alice"
    until_any = f'until cat "{transcripts}"/*.jsonl 2>/dev/null | grep -q .; do :; done'
    subprocess.run(["sh", "-c", until_any], check=True, timeout=15)
    run.kill()
    run.communicate()

    unread = json.loads(place.finish("team", "inbox", "alice", "--json")[1])
    saved = "".join(path.read_text(encoding="utf-8") for path in transcripts.glob("*.jsonl"))
    assert [one["content"] for one in unread] == ["read me"] or "read me" in saved


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_run_without_standard_input_on_a_narrow_console_ends_well(
    place: Place, encoding: str
) -> None:
    place.task(1, subject="Launch 🚀", run="if read -r answer; then exit 9; fi; echo grün 🚀")
    shell = f'"{sys.executable}" -m runner run --drain <&-'
    done = subprocess.run(
        ["sh", "-c", shell],
        cwd=place.root,
        env=place.environment() | {"PYTHONIOENCODING": encoding, "LC_ALL": "C"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Launch ?" in done.stdout
    assert place.read(1)["result"]["output"] == "grün 🚀\n"


def test_the_demo_needs_no_network_and_what_it_builds_works(tmp_path: Path) -> None:
    folder, reached = tmp_path / "demo", tmp_path / "reached"
    (tmp_path / "sitecustomize.py").write_text(NO_NETWORK)
    environment = Place(tmp_path).environment()
    environment |= {"PYTHONPATH": os.fspath(tmp_path), "REACHED": os.fspath(reached)}
    demo = [sys.executable, "-m", "runner", "demo", os.fspath(folder)]
    done = subprocess.run(
        demo,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not reached.exists()
    codes = [
        subprocess.run(
            [sys.executable, "-m", "linkcheck", pages], cwd=folder, capture_output=True, check=False
        ).returncode
        for pages in ("docs", "tests/sample", "nowhere")
    ]
    assert codes == [0, 1, 2]
