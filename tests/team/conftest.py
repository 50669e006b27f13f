"""What tests of teams begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.core.layout import Layout
from runner.testing.board import make_board


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """An empty board on which a run was at work before."""
    layout = make_board(tmp_path)
    layout.ensure_team()
    return layout
