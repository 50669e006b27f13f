"""A promise of the README that no other whole run proves."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


def test_a_stop_loses_no_result_that_is_finished_in_time(
    place: Place, until: Callable[[Path], None]
) -> None:
    place.task(1, run="echo first >> ran.txt")
    long = "echo second | tee -a ran.txt; echo > begun; until [ -e go ]; do sleep 0.01; done"
    place.task(2, blockedBy=[1], run=long)
    place.task(3, blockedBy=[2], run="echo third >> ran.txt")
    run = place.start("run", "--drain")
    until(place.root / "begun")
    run.send_signal(signal.SIGTERM)
    (place.root / "go").touch()
    run.communicate(timeout=20)

    assert run.returncode == 143
    assert [place.read(n)["status"] for n in (1, 2, 3)] == ["completed", "completed", "pending"]
    assert place.read(2)["result"]["output"] == "second\n"
    assert place.finish("run", "--drain")[0] == 0
    assert (place.root / "ran.txt").read_text().split() == ["first", "second", "third"]
