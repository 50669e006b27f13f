"""Which model is taken, and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runner.core.settings import Settings
from runner.errors import ModelUnavailable
from runner.testing import FakeClock, ScriptedModel
from runner.work.models import Models


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text("default: []", encoding="utf-8")
    return tmp_path


def models_of(base: Path, environ: Mapping[str, str] | None = None, **settings: Any) -> Models:
    return Models(Settings(**settings), base_dir=base, environ=environ or {})


ALIASES = {"smol": ("script/a.yaml",), "slow": ("anthropic/x", "smol"), "loop": ("loop",)}


@pytest.mark.parametrize(
    ("patterns", "default", "name"),
    [
        (None, "script/a.yaml", "script/a.yaml"),
        (["script/b.yaml"], "script/a.yaml", "script/b.yaml"),
        (["anthropic/x", "script/b.yaml"], None, "script/b.yaml"),
        (["pi/smol"], None, "script/a.yaml"),
        (["smol"], "script/b.yaml", "script/a.yaml"),
        (["slow"], None, "script/a.yaml"),
        (["inherit"], "script/b.yaml", "script/b.yaml"),
        (["opus", "loop"], "script/b.yaml", "script/b.yaml"),
        (["script/gone.yaml"], "script/b.yaml", "script/b.yaml"),
        (["nobody/x"], "smol", "script/a.yaml"),
    ],
)
def test_the_first_usable_pattern_wins_then_the_default(
    base: Path, patterns: list[str] | None, default: str | None, name: str
) -> None:
    models = models_of(base, model=default, models=ALIASES)

    assert models.choose(patterns).model.name == name


def test_the_reason_of_a_choice_says_what_was_passed_over(base: Path) -> None:
    models = models_of(base, model="script/b.yaml", models=ALIASES)

    reason = models.choose(["slow"]).reason

    assert reason.startswith("slow -> script/a.yaml (the agent's list)")
    assert "slow -> anthropic/x: no key: set ANTHROPIC_API_KEY" in reason


@pytest.mark.parametrize(
    ("patterns", "default", "name", "source"),
    [
        (["inherit"], "script/b.yaml", "script/p.yaml", "the agent's list"),
        (["nobody/x", "pi/inherit"], "script/b.yaml", "script/p.yaml", "the agent's list"),
        (["mine"], "script/b.yaml", "script/p.yaml", "the agent's list"),
        (["script/a.yaml"], None, "script/a.yaml", "the agent's list"),
        (None, "script/b.yaml", "script/b.yaml", "the team's default"),
        (["opus"], "script/b.yaml", "script/b.yaml", "the team's default"),
        (None, None, "script/p.yaml", "the parent's model"),
        (["opus"], "script/gone.yaml", "script/p.yaml", "the parent's model"),
    ],
)
def test_a_child_may_inherit_its_parents_model_which_is_also_the_last_resort(
    base: Path, patterns: list[str] | None, default: str | None, name: str, source: str
) -> None:
    parent = ScriptedModel(name="script/p.yaml")
    aliases = {**ALIASES, "mine": ("inherit",)}
    choice = Models(Settings(model=default, models=aliases), base_dir=base).choose(patterns, parent)

    assert choice.model.name == name
    assert (choice.model is parent) == (name == "script/p.yaml")
    assert f"({source})" in choice.reason


def test_an_alias_called_inherit_goes_before_the_parent(base: Path) -> None:
    models = Models(Settings(models={"inherit": ("script/a.yaml",)}), base_dir=base)
    parent = ScriptedModel(name="script/p.yaml")

    assert models.choose(["pi/inherit"], parent).model.name == "script/a.yaml"


@pytest.mark.parametrize(
    ("patterns", "default", "why"),
    [
        (None, None, "no default model is set"),
        (["inherit"], None, "inherit: no such alias"),
        (["opus"], None, "opus: no such alias under `models:`"),
        (["smoll"], None, r"smoll: no such alias .*\(did you mean smol\?\)"),
        (["pi/smoll"], None, r"did you mean smol\?"),
        (["gpt-5"], None, r"gpt-5: no such alias .*\(did you mean openai/gpt-5\?\)"),
        (["claude-sonet-5"], None, r"did you mean anthropic/claude-sonnet-5\?"),
        (["loop"], None, "lead in a circle"),
        (None, "openai/x", "no key: set OPENAI_API_KEY"),
        (None, "acp/x", "provider acp is not part of this version"),
        (None, "nobody/x", "no provider 'nobody'; there are script/PATH, anthropic/NAME"),
        (
            None,
            "opneai/x",
            r"'opneai' \(did you mean openai/x\?\); there are script/PATH, "
            "anthropic/NAME, openai/NAME, ollama/NAME",
        ),
        (None, "script/gone.yaml", "script file .*gone.yaml is missing"),
        (None, "script/bad.yaml", "bad.yaml: tasks: found 3"),
    ],
)
def test_nothing_usable_says_why_for_every_pattern(
    base: Path, patterns: list[str] | None, default: str | None, why: str
) -> None:
    (base / "bad.yaml").write_text("tasks: 3", encoding="utf-8")

    with pytest.raises(ModelUnavailable, match=why):
        models_of(base, model=default, models=ALIASES).choose(patterns)


def test_a_script_is_opened_once_and_again_only_when_its_file_changed(base: Path) -> None:
    models = Models(Settings(model="script/a.yaml"), base_dir=base)
    first = models.choose(None).model
    assert models.choose(None).model is first

    (base / "a.yaml").write_text("default: [{text: longer now}]", encoding="utf-8")

    assert models.choose(None).model is not first


@pytest.mark.parametrize(
    ("patterns", "substitute"), [(["opus"], True), (["opus", "smol"], False), (None, False)]
)
def test_a_choice_tells_whether_it_stands_in_for_what_the_agent_wants(
    base: Path, patterns: list[str] | None, substitute: bool
) -> None:
    models = models_of(base, model="script/b.yaml", models=ALIASES)

    assert models.choose(patterns).substitute is substitute


def test_a_model_that_was_handed_in_serves_every_pattern(base: Path) -> None:
    given = ScriptedModel()
    models = Models(Settings(model="script/a.yaml"), base_dir=base, given=given)

    assert models.choose(["anthropic/x"]).model is given


def test_a_provider_that_can_be_used_is_taken_and_opened_once(base: Path) -> None:
    environ = {"OPENAI_API_KEY": "k"}
    models = models_of(
        base, environ, model="script/b.yaml", models={"slow": ("anthropic/x", "openai/y")}
    )
    choice = models.choose(["slow"])

    assert (choice.model.name, choice.substitute) == ("openai/y", False)
    assert "slow -> openai/y (the agent's list)" in choice.reason
    assert models.choose(["openai/y"]).model is choice.model


async def test_models_that_were_never_asked_are_closed_without_ado(base: Path) -> None:
    models = models_of(base, {"OPENAI_API_KEY": "k"})
    await models.aclose()
    models.choose(["openai/y"])
    await models.aclose()


def test_the_models_of_one_provider_share_one_gate(base: Path) -> None:
    models, clock = Models(Settings(), base_dir=base), FakeClock()
    one, two, other = (ScriptedModel(name=name) for name in ("p/1", "p/2", "q/1"))

    assert models.gate(one, clock) is models.gate(two, clock)
    assert models.gate(one, clock) is not models.gate(other, clock)


def test_many_aliases_in_circles_are_looked_at_once_each(base: Path) -> None:
    names = tuple(f"m{number}" for number in range(30))
    models = Models(Settings(models=dict.fromkeys(names, names)), base_dir=base)

    with pytest.raises(ModelUnavailable, match="m0: aliases under `models:` lead in a circle"):
        models.choose(["m0"])
