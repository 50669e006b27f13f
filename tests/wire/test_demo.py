"""The example board, unchanged, worked on by models behind an API that replay its script."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.core.data import data_dir
from runner.testing import FakeServer

EXAMPLE = data_dir("tasks_example")
SCRIPT = EXAMPLE / "script.yaml"


def run(folder: Path, model: str, settings: str, environ: dict[str, str]) -> dict[str, Any]:
    """The report of a run over a copy of the example, with more settings."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".team"))
    with (folder / "team.yaml").open("a", encoding="utf-8") as stream:
        stream.write(settings)
    done = subprocess.run(
        [sys.executable, "-m", "runner", "run", folder, "--drain", "--model", model, "--json"],
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=18,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def outcome(folder: Path, report: dict[str, Any]) -> dict[str, Any]:
    """All that must not depend on what thinks: the board, the files, the report."""
    tasks = [json.loads(path.read_bytes()) for path in sorted((folder / ".tasks").iterdir())]
    keys = ("id", "status", "result", "error", "attempt", "blockedBy")
    files = [
        path
        for path in folder.rglob("*")
        if path.is_file() and not {".tasks", ".team", "__pycache__"} & set(path.parts)
    ]
    rows = ("id", "status", "agent", "attempts", "toolCalls", "error")
    return {
        "board": [
            {key: value for key, value in task.items() if key in keys and task["id"] != 7}
            for task in tasks
        ],
        "files": {str(path.relative_to(folder)): path.read_bytes() for path in files},
        "report": [{key: row[key] for key in rows} for row in report["tasks"]],
        "turns": report["totals"]["turns"],
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("anthropic/fake", ""),
        ("openai/fake", ""),
        ("openai/fake", "providers: {openai: {api: responses}}\n"),
        ("ollama/fake", ""),
    ],
)
def test_the_example_ends_the_same_whether_its_script_is_replayed_here_or_by_an_api(
    tmp_path: Path, model: str, settings: str
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    written = outcome(here, run(here, "script/script.yaml", settings, {}))
    with FakeServer(SCRIPT) as server:
        sent = outcome(there, run(there, model, settings, server.environ))

    assert server.refusals == []
    assert len(server.asked) == written["turns"]
    assert sent == written
