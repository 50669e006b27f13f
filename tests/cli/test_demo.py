from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.cli.demo import copy_example, scratch_folder
from runner.cli.main import main


def test_the_example_is_copied_without_its_traces_and_writable(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / ".tasks").mkdir(parents=True)
    (source / ".team").mkdir()
    (source / ".team" / "id").touch()
    (source / ".tasks" / "task_1.json").write_text("{}")
    (source / ".tasks" / "task_1.json").chmod(0o444)
    copy_example(source, target)
    copied = target / ".tasks" / "task_1.json"
    assert [path.name for path in target.rglob("*") if path.is_file()] == ["task_1.json"]
    assert copied.stat().st_mode & 0o200


def test_the_demo_fills_only_an_empty_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").touch()
    assert main(["demo", str(tmp_path), "--json"]) == 2
    assert "empty or a new folder" in json.loads(capsys.readouterr().out)["error"]
    assert main(["demo", str(tmp_path / "mine.txt")]) == 2


def test_the_demo_ends_with_every_task_completed_and_says_where_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-C", str(tmp_path), "demo", "here", "--json"]) == 0
    told = capsys.readouterr()
    assert {task["status"] for task in json.loads(told.out)["tasks"]} == {"completed"}
    assert str(tmp_path / "here") in told.err


def test_without_a_folder_the_demo_makes_a_scratch_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    target = scratch_folder(tmp_path, None)
    assert target.parent == tmp_path
    assert list(target.iterdir()) == []
