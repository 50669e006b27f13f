"""A board in a folder and the real command line as a child process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runner.testing import make_board


@dataclass(frozen=True)
class Place:
    """A folder with a board and the command line pointed at it."""

    root: Path

    def task(self, task_id: int, **fields: Any) -> None:
        make_board(self.root, [{"id": task_id, **fields}])

    def read(self, task_id: int) -> dict[str, Any]:
        path = self.root / ".tasks" / f"task_{task_id}.json"
        value: dict[str, Any] = json.loads(path.read_bytes())
        return value

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted((self.root / ".tasks").iterdir())}

    def events(self) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = []
        for path in sorted((self.root / ".team" / "runs").glob("*.jsonl")):
            lines += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return sorted(lines, key=lambda line: str(line["ts"]))

    def environment(self) -> dict[str, str]:
        keep = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
        return keep | {"HOME": str(self.root / "home")}

    def start(self, *argv: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "runner", *argv],
            cwd=self.root,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def finish(self, *argv: str) -> tuple[int, str, str]:
        """Run to the end: exit code, standard output, standard error."""
        process = self.start(*argv)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err


@pytest.fixture
def place(tmp_path: Path) -> Place:
    make_board(tmp_path)
    (tmp_path / "home").mkdir()
    return Place(tmp_path)


@pytest.fixture
def until() -> Callable[[Path], None]:
    """Wait until a file has content; the 20 s test timeout bounds it."""

    def wait(path: Path) -> None:
        # a FIFO would be neater, but the writers here are arbitrary shell commands
        watcher = f'until [ -s "{path}" ]; do sleep 0.01; done'
        subprocess.run(["sh", "-c", watcher], check=True, timeout=15)

    return wait
