"""Public helpers for testing teams without a model or a clock."""

from runner.testing.answering import Asked
from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.crash import STEPS, die_at
from runner.testing.fake_server import FakeServer
from runner.testing.faults import (
    Altered,
    BrokenOff,
    Cut,
    Fault,
    Hanging,
    Html,
    HungUp,
    Refused,
    Slow,
)
from runner.testing.invariants import broken_promises
from runner.testing.model import ScriptedModel, call, calls, give_up, say, submit, think
from runner.testing.race import Raced, Racer, race, racers, together
from runner.testing.team import running_team

__all__ = [
    "STEPS",
    "Altered",
    "Asked",
    "BrokenOff",
    "Cut",
    "FakeClock",
    "FakeServer",
    "Fault",
    "Hanging",
    "Html",
    "HungUp",
    "Raced",
    "Racer",
    "Refused",
    "ScriptedModel",
    "Slow",
    "broken_promises",
    "call",
    "calls",
    "die_at",
    "give_up",
    "make_board",
    "race",
    "racers",
    "running_team",
    "say",
    "submit",
    "think",
    "together",
]
