from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from runner.cli.init import TEAM_YAML
from runner.cli.main import main
from runner.core.layout import Layout
from runner.core.settings import Settings, load_settings


def test_init_makes_a_board_that_the_other_commands_find(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-C", str(tmp_path), "init", "new/project", "--json"]) == 0
    root = tmp_path / "new" / "project"
    created = json.loads(capsys.readouterr().out)["created"]
    assert str(root / ".tasks") in created
    assert (root / ".team" / ".gitignore").read_text() == "*\n"
    assert main(["-C", str(root), "tasks", "list", "--json"]) == 0


def test_init_never_touches_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "team.yaml").write_text("team: ours\n")
    assert main(["-C", str(tmp_path), "init"]) == 0
    assert "made" in (out := capsys.readouterr().out)
    assert f"made {tmp_path / 'team.yaml'}" not in out
    assert (tmp_path / "team.yaml").read_text() == "team: ours\n"
    assert main(["-C", str(tmp_path), "init"]) == 0
    assert "nothing was changed" in capsys.readouterr().out


def test_the_commented_settings_are_the_defaults_and_all_of_them_are_valid(tmp_path: Path) -> None:
    layout = Layout(root=tmp_path, workspace=tmp_path)
    layout.team_yaml.write_text(TEAM_YAML)
    settings = load_settings(layout, {}, {})
    assert settings == Settings(source=str(layout.team_yaml))
    lines = [line.removeprefix("# ") for line in TEAM_YAML.splitlines()[3:] if line]
    text = "\n".join(line for line in lines if not line.startswith("members: 3"))
    assert set(yaml.safe_load(text)) >= {"team", "model", "members", "limits", "budget"}
    layout.team_yaml.write_text(text)
    assert load_settings(layout, {}, {}).limits == Settings().limits
