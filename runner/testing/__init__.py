"""Public helpers for testing teams without a model or a clock."""

from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.model import ScriptedModel
from runner.testing.team import running_team

__all__ = ["FakeClock", "ScriptedModel", "make_board", "running_team"]
