"""Names, ids, time and the data folders."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from runner.core.clock import SystemClock, from_iso, to_iso
from runner.core.data import data_dir
from runner.core.ids import is_safe, random_id, safe_name
from runner.errors import UnsafeName


@pytest.mark.parametrize(
    "value",
    [
        *("../../outside", "..", ".", "a/b", "a\\b", "C:x", "", "x" * 65, "con", "NUL.txt"),
        *("x\x00y", "-flag", ".hidden", "ä", "a b", "a\n", 7, None, "COM1"),
    ],
)
def test_names_that_must_not_become_paths_are_refused(value: object) -> None:
    assert not is_safe(value)
    with pytest.raises(UnsafeName, match="recipient"):
        safe_name("recipient", value)


@pytest.mark.parametrize("value", ["a", "7", "alice-2", "v1.2_x", "x" * 64, "console", "context"])
def test_ordinary_names_are_taken_as_they_are(value: str) -> None:
    assert safe_name("task id", value) == value


def test_random_ids_differ_and_are_safe() -> None:
    ids = {random_id("run-") for _ in range(100)}
    assert len(ids) == 100
    assert all(is_safe(one) and len(one) == 16 for one in ids)


def test_times_are_written_in_utc_with_milliseconds_and_read_back() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678900, tzinfo=timezone(timedelta(hours=2)))
    assert to_iso(moment) == "2026-01-02T01:04:05.678Z"
    assert from_iso("2026-01-02T01:04:05.678Z") == datetime(2026, 1, 2, 1, 4, 5, 678000, tzinfo=UTC)
    assert from_iso("2026-01-02T01:04").tzinfo == UTC
    with pytest.raises(ValueError, match="isoformat"):
        from_iso("yesterday")


async def test_the_system_clock_tells_utc_and_never_goes_back() -> None:
    clock = SystemClock()
    before = clock.monotonic()
    await clock.sleep(0)
    assert clock.monotonic() >= before
    assert clock.now().tzinfo == UTC


async def test_a_moment_that_has_passed_is_waited_for_no_more() -> None:
    await SystemClock().sleep(-1)


def test_the_data_folders_are_found_and_a_missing_one_is_named() -> None:
    assert (data_dir("tasks_example") / ".tasks").is_dir()
    assert list(data_dir("bundled_agents").glob("*.md"))
    with pytest.raises(FileNotFoundError, match="install boardrunner again"):
        data_dir("no_such_folder")
