"""A board in a folder and the command line in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runner.cli.main import main
from runner.core.layout import Layout
from runner.testing.board import make_board


@dataclass(frozen=True)
class Answer:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Cli:
    """The command line, pointed at `layout.root`."""

    layout: Layout
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *argv: str) -> Answer:
        self.capsys.readouterr()
        code = main(["-C", str(self.layout.root), *argv])
        told = self.capsys.readouterr()
        return Answer(code, told.out, told.err)

    def board(self, *tasks: dict[str, Any]) -> None:
        make_board(self.layout.root, tasks)

    def raw(self, task_id: object) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.path(task_id).read_bytes())
        return value

    def path(self, task_id: object) -> Path:
        return self.layout.tasks / f"task_{task_id}.json"


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(make_board(tmp_path), capsys)
