"""When a team has crashed often enough to be left alone."""

from __future__ import annotations

from runner.errors import SaveFailed
from runner.team.crashes import Crashes

TEAM = ("ann", "bob")
BOOM = RuntimeError("boom")


def test_a_team_is_doomed_when_everybody_crashed_alike() -> None:
    crashes = Crashes()
    crashes.note("ann", BOOM, achieved=0)
    assert crashes.doom(TEAM) is None
    crashes.note("bob", ExceptionGroup("unhandled errors", [RuntimeError("boom")]), achieved=0)
    assert crashes.doom(TEAM) == "RuntimeError: boom"


def test_somebody_alone_is_doomed_at_the_second_crash() -> None:
    crashes = Crashes()
    crashes.note("ann", BOOM, achieved=0)
    assert crashes.doom(["ann"]) is None
    crashes.note("ann", BOOM, achieved=0)
    assert crashes.doom(["ann"]) == "RuntimeError: boom"


def test_another_error_or_anything_achieved_begins_the_count_anew() -> None:
    for error, achieved in ((RuntimeError("other"), 0), (BOOM, 1)):
        crashes = Crashes()
        crashes.note("ann", BOOM, achieved=0)
        crashes.note("bob", error, achieved=achieved)
        assert crashes.doom(TEAM) is None


def test_what_the_disk_has_against_us_may_pass() -> None:
    crashes = Crashes()
    for error in (OSError("full"), SaveFailed("f", "full")):
        crashes.note("ann", error, achieved=0)
        crashes.note("bob", error, achieved=0)
        assert crashes.doom(TEAM) is None
    assert crashes.doom([]) is None
