"""A provider key is in no file that a run writes, whichever way a model or a command tries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.core.settings import MemberSpec, Settings
from runner.errors import ModelRejected
from runner.testing import ScriptedModel, call, calls, give_up, make_board, say, submit
from runner.testing.model import Step
from runner.work.redact import REDACTED
from runner.work.run import run_team

KEY = "sk-test-0123456789"
ENVIRON = {"ANTHROPIC_API_KEY": KEY}
PRINTS = "cat key.txt"
TEAM = Settings(members=(MemberSpec(name="ann"), MemberSpec(name="bob", role="reader")))


async def run(root: Path, model: ScriptedModel, *tasks: dict[str, Any]) -> None:
    make_board(root, tasks)
    (root / "key.txt").write_text(f"KEY={KEY}\n", encoding="utf-8")
    await run_team(root, settings=TEAM, model=model, home=root, environ=ENVIRON)


def task_file(root: Path, number: int) -> Any:
    return json.loads((root / f".tasks/task_{number}.json").read_bytes())


def files_with_key(root: Path) -> list[Path]:
    written = [path for folder in (".tasks", ".team") for path in (root / folder).rglob("*")]
    return [path for path in written if path.is_file() and KEY.encode() in path.read_bytes()]


async def test_no_file_of_the_board_holds_the_key_after_every_door_was_tried(
    tmp_path: Path,
) -> None:
    doors = calls(
        call("bash", command=PRINTS),
        call("bash", command=f"echo {KEY}"),
        call("send_message", to="lead", text=f"it is {KEY}"),
        call("create_task", subject=f"use {KEY}", description=KEY, owner="nobody"),
        call("write", path=f"{KEY}.txt", content=KEY),
        call(KEY, argument=KEY),
        call("submit_result", data={KEY: [KEY]}, error=KEY),
    )
    model = ScriptedModel(
        tasks={
            "1": [say(KEY), doors, submit({KEY: [KEY]})],
            "2": [submit(KEY), submit(KEY), give_up(f"no: {KEY}")],
            "5": [RuntimeError(f"bad header: {KEY}")],
            "6": [ModelRejected(f"401: {KEY}", status=400)],
        },
    )

    await run(
        tmp_path,
        model,
        {"id": 1},
        {"id": 2, "verify": [f"{PRINTS}; false"]},
        {"id": 3, "run": PRINTS},
        {"id": 4, "run": f"{PRINTS}; false"},
        {"id": 5, "maxAttempts": 1},
        {"id": 6},
    )

    assert files_with_key(tmp_path) == []
    assert task_file(tmp_path, 1)["result"] == {REDACTED: [REDACTED]}
    assert task_file(tmp_path, 2)["error"] == f"no: {REDACTED}"
    assert task_file(tmp_path, 3)["result"]["output"] == f"KEY={REDACTED}\n"
    assert task_file(tmp_path, 4)["error"] == f"exit 1: KEY={REDACTED}"
    assert REDACTED in task_file(tmp_path, 5)["error"]
    assert task_file(tmp_path, 6)["error"] == f"401: {REDACTED}"
    assert task_file(tmp_path, 7)["subject"] == f"use {REDACTED}"
    assert f"it is {REDACTED}" in (tmp_path / ".team/inbox/lead.jsonl").read_text("utf-8")


@pytest.mark.parametrize("step", [RuntimeError(f"bad: {KEY}"), call("bash", command=PRINTS)])
async def test_no_log_holds_the_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], step: Step
) -> None:
    model = ScriptedModel([step, submit(1)])

    await run(tmp_path, model, {"id": 1, "maxAttempts": 1})

    logged = capsys.readouterr()
    assert KEY not in logged.err + logged.out
