"""Files that decide what agents may do are written only by who may run commands anyway."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.team.outcome import Done
from runner.testing import call, calls, submit
from tests.work.conftest import told

if TYPE_CHECKING:
    from tests.work.conftest import Stage

REFUSED = "only an agent that has bash without limits may write it"


@pytest.fixture
def limited(stage: Stage) -> Stage:
    """The agent has no bash; two of its folders lie elsewhere, behind links."""
    stage.agent("coder", tools="read, write, edit")
    (stage.root / "team.yaml").write_text("members: 1\n", encoding="utf-8")
    (stage.root / "shared").mkdir()
    (stage.root / "shared" / "agent.md").write_text("x", encoding="utf-8")
    (stage.root / "gem").mkdir()
    (stage.root / ".gemini").symlink_to("gem")
    (stage.root / ".xcsh/agents/linked.md").symlink_to("../../shared/agent.md")
    stage.settings = replace(
        stage.settings, model="script/play.yaml", models={"smol": ("script/small.yaml",)}
    )
    return stage


@pytest.mark.parametrize(
    "path",
    [
        ".xcsh/agents/coder.md",
        ".claude/agents/new.md",
        ".Codex/config.toml",
        ".codex/agents/new.toml",
        ".claude/commands/new.md",
        ".xcsh/plugins/installed_plugins.json",
        "deep/.gemini/agents/new.md",
        "gem/agents/new.md",
        "shared/agent.md",
        "team.yaml",
        "deep/Team.yaml",
        "play.yaml",
        "small.yaml",
    ],
)
async def test_an_agent_without_bash_gives_itself_no_more_rights(limited: Stage, path: str) -> None:
    there = (limited.root / path).exists()

    await limited.do(call("write", path=path, content="tools: '*'"), submit(1))

    assert REFUSED in told(limited.scripted, 1)
    assert (limited.root / path).exists() is there


def install(stage: Stage, root: Path, *, enabled: bool = True) -> None:
    """Name a plugin in the registry of the home directory, which is itself behind a link."""
    (stage.root / "settings").mkdir()
    (stage.root / "home/.claude").mkdir()
    (stage.root / "home/.claude/plugins").symlink_to("../../settings")
    entry = {"scope": "user", "installPath": str(root), "enabled": enabled}
    registry = {"version": 2, "plugins": {"kit@market": [entry]}}
    (stage.root / "settings/installed_plugins.json").write_text(json.dumps(registry))


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize(
    "path",
    ["kit/agents/new.md", "kit/commands/go.md", "more/agent.md", "settings/installed_plugins.json"],
)
async def test_what_plugins_bring_is_not_written_without_bash(
    limited: Stage, path: str, enabled: bool
) -> None:
    (limited.root / "kit/agents").mkdir(parents=True)
    (limited.root / "kit/agents/linked.md").symlink_to("../../more/agent.md")
    (limited.root / "kit/readme.md").write_text("x")
    install(limited, limited.root / "kit", enabled=enabled)

    await limited.do(
        call("write", path=path, content="x"),
        call("write", path="kit/readme.md", content="y"),
        submit(1),
    )

    assert REFUSED in told(limited.scripted, 1)
    assert (limited.root / "kit/readme.md").read_text() == "y"


@pytest.mark.parametrize("path", ["later/new.md", "orders/go.md", "user/a.md", "one.toml"])
async def test_links_to_what_is_not_there_yet_count(limited: Stage, path: str) -> None:
    (limited.root / ".claude").mkdir()
    (limited.root / ".claude/agents").symlink_to("../later")
    (limited.root / ".claude/commands").symlink_to("../orders")
    (limited.root / "orders").mkdir()
    (limited.root / "user").mkdir()
    (limited.root / "home/.gemini").mkdir()
    (limited.root / "home/.gemini/agents").symlink_to("../../user")
    (limited.root / ".codex/agents").mkdir(parents=True)
    (limited.root / ".codex/agents/a.toml").symlink_to("../../one.toml")

    await limited.do(call("write", path=path, content="x"), submit(1))

    assert REFUSED in told(limited.scripted, 1)


async def test_an_agent_whose_bash_has_limits_may_not_write_them(limited: Stage) -> None:
    limited.agent("coder", tools="write, Bash(git:*)")

    await limited.do(call("write", path="team.yaml", content="x"), submit(1))

    assert REFUSED in told(limited.scripted, 1)


async def test_an_edit_is_refused_like_a_write_and_reading_is_allowed(limited: Stage) -> None:
    edit = call("edit", path="team.yaml", old_string="1", new_string="9")

    await limited.do(calls(edit, call("read", path="team.yaml")), submit(1))

    assert REFUSED in told(limited.scripted, 1)
    assert "members: 1" in told(limited.scripted, 1)
    assert (limited.root / "team.yaml").read_text(encoding="utf-8") == "members: 1\n"


async def test_other_files_beside_them_are_written(limited: Stage) -> None:
    paths = ["src/team.yaml.md", "claude/agents/a.md", "shared/other.md"]

    outcome = await limited.do(
        *(call("write", path=path, content="x") for path in paths), submit(1)
    )

    assert isinstance(outcome, Done)
    assert list(outcome.usage.changed_files) == sorted(paths)


async def test_an_agent_with_bash_may_write_them(limited: Stage) -> None:
    limited.agent("coder")

    outcome = await limited.do(call("write", path=".claude/agents/new.md", content="x"), submit(1))

    assert isinstance(outcome, Done)
    assert outcome.usage.changed_files == (".claude/agents/new.md",)


async def test_limits_of_commands_are_told_and_hold_in_an_attempt(limited: Stage) -> None:
    limited.agent("coder", tools="Bash(echo:*)")

    outcome = await limited.do(
        call("bash", command="echo a; touch canary"),
        call("bash", command="touch canary"),
        call("bash", command="echo 'a; b'"),
        submit(1),
    )

    assert isinstance(outcome, Done)
    (bash,) = [spec for spec in limited.scripted.requests[0].tools if spec.name == "bash"]
    assert "allowed (* is any text): echo:*." in bash.description
    assert "';' (a second command or a background one) cannot be used" in told(limited.scripted, 1)
    assert "you may not run touch canary; allowed" in told(limited.scripted, 2)
    assert told(limited.scripted, 3).strip() == "a; b"
    assert not (limited.root / "canary").exists()
