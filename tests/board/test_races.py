"""Real processes on one board: started once, let go together, round after round."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.core.files import locked
from runner.errors import BoardBusy
from tests.board.conftest import ADA, Desk

pytestmark = pytest.mark.slow

_RACER = Path(__file__).parent / "racer.py"


class Racer:
    """One process that obeys; `tell` returns at once, `answer` waits."""

    def __init__(self, desk: Desk, *names: str) -> None:
        # killed in the middle, it could only leave half a measurement
        environment = {key: text for key, text in os.environ.items() if "COVERAGE" not in key}
        self.process = subprocess.Popen(
            [sys.executable, str(_RACER), str(desk.layout.root), *names],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, words: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the process ended with {self.process.wait()} instead of an answer"
        return json.loads(line)

    def ask(self, words: str) -> Any:
        self.tell(words)
        return self.answer()

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGCONT)
        with contextlib.suppress(BrokenPipeError):
            self.process.communicate(timeout=10)


@contextlib.contextmanager
def _racers(desk: Desk, *names: tuple[str, ...]) -> Iterator[list[Racer]]:
    desk.layout.ensure_team()
    racers = [Racer(desk, *one) for one in names]
    try:
        assert [racer.answer() for racer in racers] == ["ready"] * len(racers)
        yield racers
    finally:
        for racer in racers:
            racer.end()


def _together(racers: list[Racer], words: str) -> list[Any]:
    for racer in racers:
        racer.tell(words)
    return [racer.answer() for racer in racers]


def test_of_eight_processes_exactly_one_gets_the_task_fifty_times(desk: Desk) -> None:
    with _racers(desk, *((f"p{number}",) for number in range(8))) as racers:
        for round_number in range(1, 51):
            desk.put({"id": round_number})
            answers = _together(racers, f"claim {round_number}")
            assert answers.count(None) == 1, answers
            assert all("claimed by hand by p" in one for one in answers if one is not None)
            assert desk.raw(round_number)["attempt"] == 1


def test_losers_of_a_race_go_on_to_the_next_task(desk: Desk) -> None:
    with _racers(desk, *((f"p{number}",) for number in range(4))) as racers:
        for round_number in range(10):
            first = round_number * 4 + 1
            desk.put(*({"id": first + place} for place in range(4)))
            answers = _together(racers, "next")
            assert sorted(answers) == list(range(first, first + 4))


def test_four_processes_empty_a_layered_board_without_doing_anything_twice(desk: Desk) -> None:
    layers = [[layer * 20 + place for place in range(1, 21)] for layer in range(3)]
    desk.put(*({"id": task_id} for task_id in layers[0]))
    desk.put(*({"id": task_id, "blockedBy": [task_id - 20]} for task_id in layers[1] + layers[2]))
    with _racers(desk, *((f"p{number}", f"run-{number}") for number in range(4))) as racers:
        done = []
        while answers := [one for one in _together(racers, "drain") if one]:
            done += [task_id for answer in answers for task_id in answer]
    assert sorted(done) == [task_id for layer in layers for task_id in layer]
    assert {desk.raw(task_id)["status"] for task_id in done} == {"completed"}
    assert {desk.raw(task_id)["attempt"] for task_id in done} == {1}
    claimed = [line["task"] for line in desk.events("task.claimed")]
    assert sorted(claimed) == sorted(done)


def test_a_run_that_is_killed_leaves_a_stale_task_that_the_next_takes(desk: Desk) -> None:
    desk.put({}, {})
    with _racers(desk, ("ada", "r1"), ("ada", "r2")) as (first, second):
        assert first.ask("next") == 1
        assert desk.store("r3").return_stale() == []
        first.process.kill()
        first.process.wait()
        assert second.ask("next") == 2
    assert (desk.raw(1)["status"], desk.raw(1)["attempt"]) == ("pending", 1)
    assert "run r1 died while ada worked on it" in desk.raw(1)["error"]


def test_a_process_that_exits_in_the_middle_of_a_task_counts_as_an_attempt(desk: Desk) -> None:
    desk.put({})
    with _racers(desk, ("ada", "r1")) as (racer,):
        racer.ask("next")
        racer.tell("die")
        assert racer.process.wait() == 9
    assert [task.attempt for task in desk.store().return_stale()] == [1]


def test_the_lock_of_a_killed_holder_is_free_at_once(desk: Desk) -> None:
    desk.put({})
    with _racers(desk, ("holder",)) as (holder,):
        assert holder.ask("hold") == "held"
        holder.process.kill()
        holder.process.wait()
        task = desk.store(lock_timeout_s=1.0).claim_next(ADA)
    assert task is not None


def test_a_stopped_holder_makes_the_board_busy_and_is_named(desk: Desk) -> None:
    desk.put({})
    with _racers(desk, ("holder",)) as (holder,):
        assert holder.ask("hold") == "held"
        os.kill(holder.process.pid, signal.SIGSTOP)
        store = desk.store(lock_timeout_s=0.05)
        with pytest.raises(BoardBusy, match=r"board\.lock was not free within 0\.05 s") as busy:
            store.claim_next(ADA)
        assert busy.value.holder in (None, f"process {holder.process.pid}")
        # looking needs no lock
        assert list(store.scan().tasks) == ["1"]
        os.kill(holder.process.pid, signal.SIGCONT)
        assert holder.ask("free") == "freed"
        assert store.claim_next(ADA) is not None


def test_never_two_holders_of_one_lock(desk: Desk) -> None:
    desk.layout.ensure_team()
    overlap = desk.layout.team / "overlap"
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from runner.core.files import locked\n"
        "lock, mark = Path(sys.argv[1]), sys.argv[2]\n"
        "for _ in range(700):\n"
        "    with locked(lock):\n"
        "        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))\n"
        "        os.unlink(mark)\n"
    )
    argv = [sys.executable, "-c", script, str(desk.layout.lock_file), str(overlap)]
    processes = [subprocess.Popen(argv) for _ in range(3)]
    assert [process.wait(timeout=15) for process in processes] == [0, 0, 0]


def test_a_lock_file_that_nobody_holds_stops_nobody(desk: Desk) -> None:
    desk.put({}, {})
    desk.layout.ensure_team()
    for text, task_id in (("", 1), (str(os.getpid()), 2)):
        desk.layout.lock_file.write_text(text)
        task = desk.store(lock_timeout_s=0.2).claim(task_id, ADA)
        assert task.status == "in_progress"


def test_two_threads_of_claims_in_one_process_wait_for_one_another(desk: Desk) -> None:
    desk.layout.ensure_team()
    with (
        locked(desk.layout.lock_file),
        pytest.raises(BoardBusy, match="not free within 0"),
        locked(desk.layout.lock_file, timeout_s=0.02),
    ):
        raise AssertionError("unreachable: two holders")
