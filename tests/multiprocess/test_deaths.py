"""Who holds a task or the lock and is killed, stopped or slow; disks that are full."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.board.store import Store
from runner.board.task import Claimant
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.layout import Layout
from runner.errors import BoardBusy
from runner.testing import Racer, broken_promises, make_board, race, racers

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

ADA = Claimant(name="ada")


def store_on(layout: Layout, **options: Any) -> Store:
    layout.ensure_team()
    clock = SystemClock()
    journal = Journal(layout.cli_journal, run=None, clock=clock)
    return Store(layout, clock=clock, journal=journal, **options)


def raw(layout: Layout, number: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((layout.tasks / f"task_{number}.json").read_bytes())
    return found


def test_a_run_that_is_killed_leaves_a_stale_task_that_the_next_takes(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}, {}])
    with Racer(tmp_path, "ada", run="r1") as first, Racer(tmp_path, "ada", run="r2") as second:
        assert first.ask("next") == 1
        assert store_on(layout).return_stale() == []
        first.kill()
        assert second.ask("next") == 2
        assert (raw(layout, 1)["status"], raw(layout, 1)["attempt"]) == ("pending", 1)
        assert "run r1 died while ada worked on it" in raw(layout, 1)["error"]
    race(tmp_path, ["bo"], ahead_s=3600)
    assert [raw(layout, number)["attempt"] for number in (1, 2)] == [2, 2]
    assert broken_promises(tmp_path) == []


def test_a_process_that_exits_in_the_middle_of_a_task_counts_as_an_attempt(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])
    with Racer(tmp_path, "ada") as racer:
        racer.ask("next")
        with pytest.raises(RuntimeError, match="ada ended with 9 and gave no answer"):
            racer.ask("exit")
    assert [task.attempt for task in store_on(layout).return_stale()] == [1]


def test_the_lock_of_a_killed_holder_is_free_at_once(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])
    with Racer(tmp_path, "holder") as holder:
        assert holder.ask("lock") == "locked"
        holder.kill()
    assert store_on(layout, lock_timeout_s=1.0).claim_next(ADA) is not None


def test_a_stopped_holder_makes_the_board_busy_and_is_named(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])
    with Racer(tmp_path, "holder") as holder:
        assert holder.ask("lock") == "locked"
        holder.process.send_signal(signal.SIGSTOP)
        store = store_on(layout, lock_timeout_s=0.05)
        with pytest.raises(BoardBusy, match=r"board\.lock was not free within 0\.05 s") as busy:
            store.claim_next(ADA)
        assert busy.value.holder in (None, f"process {holder.process.pid}")
        # looking needs no lock
        assert list(store.scan().tasks) == ["1"]
        holder.process.send_signal(signal.SIGCONT)
        assert holder.ask("free") == "free"
        assert store.claim_next(ADA) is not None


def test_whoever_waits_for_a_slow_holder_gets_its_task_when_the_lock_is_free(
    tmp_path: Path,
) -> None:
    make_board(tmp_path, [{}, {}])
    with racers(tmp_path, ["slow", "b", "c"]) as (slow, *waiting):
        assert slow.ask("lock") == "locked"
        for racer in waiting:
            racer.tell("next")
        assert slow.ask("free") == "free"
        assert sorted(racer.answer() for racer in waiting) == [1, 2]


def test_on_a_full_disk_a_claim_does_not_count_and_later_it_does(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{"description": "long " * 2000}])
    before = (layout.tasks / "task_1.json").read_bytes()
    with Racer(tmp_path, "full", room=4096) as racer:
        assert "task_1.json could not be saved: File too large" in racer.ask("drain")["error"]
    assert [path.read_bytes() for path in layout.tasks.iterdir()] == [before]
    assert race(tmp_path, ["next"]).done == ((1,),)
    assert raw(layout, 1)["attempt"] == 1
    assert broken_promises(tmp_path, swept=True) == []


def test_a_sealed_file_is_passed_over_by_everybody_and_stays_as_it_is(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}, {}])
    sealed = layout.tasks / "task_1.json"
    before = sealed.read_bytes()
    sealed.chmod(0o444)
    assert sorted(race(tmp_path, ["a", "b"]).done) == [(), (2,)]
    assert sealed.read_bytes() == before
    assert broken_promises(tmp_path, swept=True) == []


def test_a_race_in_which_somebody_is_refused_the_board_is_an_error(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}])
    layout.lock_file.mkdir(parents=True)
    with pytest.raises(RuntimeError, match=r"a gave up: .*board\.lock could not be saved"):
        race(tmp_path, ["a"])


@pytest.mark.parametrize("options", [["--die", "late:1"], ["--die", "synced:x"]])
def test_a_death_that_is_not_understood_is_refused(tmp_path: Path, options: list[str]) -> None:
    argv = [sys.executable, "-m", "runner.testing.racer", str(tmp_path), "a", *options]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "expected one of written, synced, replacing, replaced:NTH" in ended.stderr


def test_a_racer_that_cannot_start_or_obey_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RuntimeError, match="a ended with 2"), Racer(tmp_path, "a", die="late:1"):
        raise AssertionError("unreachable: it is not ready")
    with Racer(tmp_path, "b") as racer, pytest.raises(RuntimeError, match="b ended with 1"):
        racer.ask("dance")
    assert "cannot obey ['dance']" in capfd.readouterr().err
