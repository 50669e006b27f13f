"""Public helpers for testing teams without a model or a clock."""

from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.model import ScriptedModel, call, calls, give_up, say, submit
from runner.testing.team import running_team

__all__ = [
    "FakeClock",
    "ScriptedModel",
    "call",
    "calls",
    "give_up",
    "make_board",
    "running_team",
    "say",
    "submit",
]
