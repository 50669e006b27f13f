"""Files that decide what agents may do are written only by who may run commands anyway."""

from __future__ import annotations

from dataclasses import replace
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
