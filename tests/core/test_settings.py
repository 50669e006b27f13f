from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.core.layout import Layout
from runner.core.settings import VARIABLES, Budget, Limits, MemberSpec, Settings, load_settings
from runner.errors import ConfigError


def load(
    root: Path,
    yaml: str | bytes = "",
    environ: dict[str, str] | None = None,
    **overrides: Any,
) -> Settings:
    if yaml:
        data = yaml if isinstance(yaml, bytes) else yaml.encode()
        (root / "team.yaml").write_bytes(data)
    return load_settings(Layout(root=root, workspace=root), environ or {}, overrides)


def refusal(root: Path, yaml: str | bytes, environ: dict[str, str] | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(root, yaml, environ)
    return caught.value


def names(settings: Settings) -> list[str]:
    return [member.name for member in settings.members]


def test_nothing_set_gives_three_workers(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert settings == Settings()
    assert names(settings) == ["alice", "bob", "carol"]


def test_every_key_of_team_yaml_arrives(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
team: docs crew
model: anthropic/one
models: {smol: ollama/tiny, slow: [anthropic/one, openai/two]}
members:
  - {name: ann, role: coder, agent: task}
  - {name: ben}
  - cleo
schema: {type: object}
history: fresh
disabled_agents: [plan]
isolation: none
limits: {poll_interval: 1, idle_timeout: 2.5, grace: 0, max_turns: 7, timeout: 8,
  max_recursion_depth: -1, max_subagents: 0, max_parallel_subagents: 2,
  verify_timeout: 9, approval_timeout: 0}
budget: {usd: 1.5, tokens: 1000, time: 60}
""",
    )
    assert settings == Settings(
        team="docs crew",
        model="anthropic/one",
        models={"smol": ("ollama/tiny",), "slow": ("anthropic/one", "openai/two")},
        members=(
            MemberSpec(name="ann", role="coder", agent="task"),
            MemberSpec(name="ben"),
            MemberSpec(name="cleo"),
        ),
        schema={"type": "object"},
        history="fresh",
        disabled_agents=frozenset({"plan"}),
        limits=Limits(
            poll_interval_s=1,
            idle_timeout_s=2.5,
            grace_s=0,
            max_turns=7,
            timeout_s=8,
            max_recursion_depth=-1,
            max_subagents=0,
            max_parallel_subagents=2,
            verify_timeout_s=9,
        ),
        budget=Budget(usd=1.5, tokens=1000, time_s=60),
        source=str(tmp_path / "team.yaml"),
    )


def test_later_wins_file_then_environment_then_flags(tmp_path: Path) -> None:
    yaml = "model: from/file\nhistory: fresh\nteam: filed\n"
    environ = {"RUNNER_MODEL": "from/environment", "RUNNER_HISTORY": "carry"}
    settings = load(tmp_path, yaml, environ, model="from/flag")
    assert (settings.model, settings.history, settings.team) == ("from/flag", "carry", "filed")


def test_every_variable_sets_its_key(tmp_path: Path) -> None:
    environ = dict.fromkeys(VARIABLES, "3") | {
        "RUNNER_HISTORY": "fresh",
        "RUNNER_ISOLATION": "none",
        "RUNNER_SCHEMA": '{"type": "object"}',
        "RUNNER_DISABLED_AGENTS": "plan, リレー",
    }
    settings = load(tmp_path, environ=environ)
    assert settings.limits == Limits(
        poll_interval_s=3,
        idle_timeout_s=3,
        grace_s=3,
        max_turns=3,
        timeout_s=3,
        max_recursion_depth=3,
        max_subagents=3,
        max_parallel_subagents=3,
        verify_timeout_s=3,
        approval_timeout_s=3,
    )
    assert settings.budget == Budget(usd=3, tokens=3, time_s=3)
    assert (settings.team, settings.model, settings.history) == ("3", "3", "fresh")
    assert len(settings.members) == 3
    assert settings.schema == {"type": "object"}
    assert settings.disabled_agents == {"plan", "リレー"}


def test_the_reference_names_every_variable_beside_its_key() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference.md"
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if "`RUNNER_" in line]
    for variable, key in VARIABLES.items():
        assert any(row.startswith(f"| `{key}` |") and f"`{variable}`" in row for row in rows), key


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("RUNNER_ISOLATION", "worktree", "not part of this version"),
        ("RUNNER_SCHEMA", '{"type": ', "an object as JSON"),
        ("RUNNER_SCHEMA", '{"maximum": NaN}', "an object as JSON"),
        ("RUNNER_SCHEMA", "[" * 100_000, "an object as JSON"),
        ("RUNNER_MEMBERS", "501", "from 1 to 500"),
    ],
)
def test_a_variable_is_refused_like_the_key_that_it_sets(
    tmp_path: Path, variable: str, value: str, expected: str
) -> None:
    error = refusal(tmp_path, "", {variable: value})
    assert (error.where, error.key) == ("environment", variable)
    assert expected in error.expected


def test_a_team_has_at_most_500_members(tmp_path: Path) -> None:
    assert len(load(tmp_path, members=500).members) == 500
    listed = "\n".join(f"  - m{number}" for number in range(501))
    for yaml in ("members: 500000\n", f"members:\n{listed}\n"):
        error = refusal(tmp_path, yaml)
        assert (error.key, "from 1 to 500" in error.expected) == ("members", True)
    (tmp_path / "team.yaml").unlink()
    with pytest.raises(ConfigError, match="command line: --members: found 501"):
        load(tmp_path, members=501)


def test_roles_and_agents_are_free_text_of_one_line(tmp_path: Path) -> None:
    settings = load(tmp_path, 'members: [{name: ann, role: "12:30", agent: リレー}]\n')
    assert settings.members == (MemberSpec(name="ann", role="12:30", agent="リレー"),)


def test_variables_of_a_build_system_are_ignored(tmp_path: Path) -> None:
    environ = {
        "RUNNER_OS": "Linux",
        "RUNNER_TEMP": "/tmp/x",
        "RUNNER_DEBUG": "1",
        "RUNNER_TEAM": "",
    }
    assert load(tmp_path, environ=environ) == Settings()


def test_a_number_of_members_keeps_the_first_of_a_listed_team(tmp_path: Path) -> None:
    yaml = "members: [{name: ann, role: coder}, {name: bob, role: reviewer}]\n"
    fewer = load(tmp_path, yaml, members=1)
    more = load(tmp_path, yaml, members=4)
    assert fewer.members == (MemberSpec(name="ann", role="coder"),)
    assert names(more) == ["ann", "bob", "alice", "carol"]
    assert more.members[2].role == "worker"


def test_any_number_of_members_gets_different_names(tmp_path: Path) -> None:
    assert len(set(names(load(tmp_path, members=40)))) == 40


def test_a_null_value_or_an_empty_file_sets_nothing(tmp_path: Path) -> None:
    assert load(tmp_path, "model:\nlimits:\nmembers:\n").model is None
    assert load(tmp_path, "# all commented out\n").limits == Limits()


@pytest.mark.parametrize(
    ("yaml", "key", "expected"),
    [
        ("modle: x\n", "modle", "one of team, model"),
        ("limits: {pol: 1}\n", "limits.pol", "one of poll_interval"),
        ("limits: 5\n", "limits", "a mapping"),
        ("limits: {max_turns: true}\n", "limits.max_turns", "a whole number from 1 up"),
        ("limits: {max_turns: 0}\n", "limits.max_turns", "a whole number from 1 up"),
        ("limits: {max_recursion_depth: deep}\n", "limits.max_recursion_depth", "a whole number"),
        ("limits: {poll_interval: 0}\n", "limits.poll_interval", "a number above 0"),
        ("limits: {grace: -1}\n", "limits.grace", "a number from 0 up"),
        ("limits: {idle_timeout: .inf}\n", "limits.idle_timeout", "a number above 0"),
        (f"limits: {{grace: {10**400}}}\n", "limits.grace", "a number from 0 up"),
        ("budget: {usd: lots}\n", "budget.usd", "a number from 0 up"),
        ("model: 5\n", "model", "a text"),
        ("history: keep\n", "history", "one of carry, fresh"),
        ("schema: [1]\n", "schema", "a mapping"),
        ("disabled_agents: {a: b}\n", "disabled_agents", "a list of names"),
        ("models: [a]\n", "models", "a mapping"),
        ("models: {smol: 3}\n", "models.smol", "a model name or a list"),
        ("models: {smol: [3]}\n", "models.smol", "a list of model names"),
        ("members: 0\n", "members", "a number of teammates"),
        ("members: [3]\n", "members[0]", "{name, role, agent}"),
        ("members: [{name: no}]\n", "members[0].name", "quote names such as no"),
        ("members: [{name: ../up}]\n", "members[0].name", "a name: 1 to 64"),
        ("members: [{name: a, rol: b}]\n", "members[0].rol", "one of name, role, agent"),
        ("members: [{name: a, role: 3}]\n", "members[0].role", "quote words such as no"),
        ('members: [{name: a, role: "b\\nc"}]\n', "members[0].role", "one line of printable"),
        ('members: [{name: a, agent: "\\e[2J"}]\n', "members[0].agent", "one line of printable"),
        ('members: [{name: a, agent: ""}]\n', "members[0].agent", "one line of printable"),
        ("members: [{name: a}, {name: a}]\n", "members[1].name", "no other member"),
        ("members: [{name: lead}]\n", "members[0].name", "lead is reserved"),
        ("isolation: worktree\n", "isolation", "not part of this version"),
        ("isolation: docker\n", "isolation", "none"),
        ("team: a\nteam: b\n", "line 1", "valid YAML"),
        ("team: [a\n", "line 2", "valid YAML"),
    ],
)
def test_a_wrong_value_is_named_with_file_key_and_what_was_expected(
    tmp_path: Path, yaml: str, key: str, expected: str
) -> None:
    error = refusal(tmp_path, yaml)
    assert (error.where, error.key) == (str(tmp_path / "team.yaml"), key)
    assert expected in error.expected
    assert str(tmp_path / "team.yaml") in str(error)


def test_null_fields_of_a_member_are_not_set(tmp_path: Path) -> None:
    settings = load(tmp_path, "members: [{name: ann, role:, agent: plan}]\n")
    assert settings.members == (MemberSpec(name="ann", role="worker", agent="plan"),)


def test_a_file_that_is_no_mapping_or_no_text_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, "- a\n").expected == "a mapping of settings"
    assert refusal(tmp_path, b"team: \xff\xfe\n").expected == "YAML in UTF-8"
    (tmp_path / "team.yaml").unlink()
    (tmp_path / "team.yaml").mkdir()
    assert refusal(tmp_path, "").expected == "a readable file"


def test_a_tag_in_team_yaml_runs_nothing(tmp_path: Path) -> None:
    error = refusal(tmp_path, "team: !!python/object/apply:os.system [exit]\n")
    assert error.expected == "valid YAML"


def test_a_wrong_variable_or_flag_is_named_as_it_was_written(tmp_path: Path) -> None:
    error = refusal(tmp_path, "", {"RUNNER_MAX_TURNS": "many"})
    assert (error.where, error.key, error.found) == ("environment", "RUNNER_MAX_TURNS", "many")
    with pytest.raises(ConfigError, match="command line: --max-usd: found -1"):
        load_settings(Layout(root=tmp_path, workspace=tmp_path), {}, {"budget.usd": -1})
