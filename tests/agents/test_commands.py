"""Workflow commands: what their files mean, and which of them count."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.agents.command_file import (
    ParsedCommand,
    WorkflowCommand,
    expand_command,
    parse_command,
)
from runner.agents.commands import (
    Commands,
    bundled_commands,
    discover_commands,
    get_command,
)
from runner.core.data import data_dir
from runner.errors import BundledAgentBroken, UnknownCommand


def parsed(text: str | bytes, file: str = "/c/fix.md") -> ParsedCommand:
    return parse_command(text.encode() if isinstance(text, str) else text, file, "project")


def command(text: str | bytes, file: str = "/c/fix.md") -> WorkflowCommand:
    definition = parsed(text, file).definition
    assert definition is not None
    return definition


def write(root: Path, place: str, name: str, text: str = "Do $@.") -> str:
    directory = root / place
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.md").write_text(text, encoding="utf-8")
    return str(directory / f"{name}.md")


def found(root: Path) -> Commands:
    (root / "project").mkdir(exist_ok=True)
    return discover_commands(root / "project", root / "home")


def own(commands: Commands) -> list[tuple[str, str]]:
    return [(one.name, one.file) for one in commands.commands if one.source != "bundled"]


def test_a_file_says_all_with_front_matter() -> None:
    text = "---\ndescription: Mends\nagent: coder\nargument-hint: '[file]'\n---\n\nMend $@.\n"
    assert command(text) == WorkflowCommand(
        name="fix",
        description="Mends",
        instructions="Mend $@.",
        source="project",
        file="/c/fix.md",
        agent="coder",
        argument_hint="[file]",
    )


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b"\n\n"])
def test_front_matter_is_optional_and_the_first_line_describes(mark: bytes) -> None:
    read = command(mark + b"# Mend it\r\n\r\nNow: $@\r\n")
    assert (read.description, read.instructions) == ("Mend it", "# Mend it\n\nNow: $@")
    assert (read.agent, read.argument_hint) == (None, None)


def test_a_long_first_line_is_cut_where_it_describes_only() -> None:
    read = command("word " * 100)
    assert len(read.description) == 120
    assert read.description.endswith("...")
    assert len(read.instructions) == 499


def test_other_keys_are_listed_and_never_fatal() -> None:
    read = parsed("---\ndescription: d\nname: other\ncolor: red\n---\nx\n")
    assert read.definition is not None
    assert read.definition.name == "fix"
    assert read.unknown_keys == ("name", "color")
    assert read.warnings == ()


def test_tools_and_models_of_other_families_are_said_to_be_the_agents() -> None:
    read = parsed("---\nallowed-tools: Bash(git:*)\nmodel: haiku\nTools: Read\n---\nx\n")
    assert read.definition is not None
    assert [warning.partition(" ")[0] for warning in read.warnings] == [
        "`allowed-tools`",
        "`model`",
        "`Tools`",
    ]
    assert all("name one with `agent`" in warning for warning in read.warnings)


@pytest.mark.parametrize("word", ["$ARGUMENTS", "$1", "{{args}}", "{{ args }}"])
def test_how_other_tools_write_the_input_is_named(word: str) -> None:
    read = parsed(f"Mend {word}.")
    assert read.warnings == (f"{word} stays as it is: the input goes where $@ stands",)
    assert read.definition is not None
    assert not read.definition.takes_input


def test_front_matter_that_is_not_yaml_is_read_line_by_line() -> None:
    read = parsed("---\ndescription: Use it so: well\nargument-hint: [a] [b]\nagent: x\n---\nx\n")
    assert read.fallback
    assert len(read.warnings) == 1
    assert read.definition is not None
    assert read.definition.description == "Use it so: well"
    assert (read.definition.argument_hint, read.definition.agent) == ("[a] [b]", "x")


def test_a_hint_in_brackets_is_text_as_its_file_says_it() -> None:
    assert command("---\nargument-hint: [file, line]\n---\nx").argument_hint == "[file, line]"
    assert command("---\nargument-hint: 3\n---\nx").argument_hint == "3"
    assert command("---\nargument-hint: ' '\n---\nx").argument_hint is None


def test_a_description_that_is_no_text_is_replaced_and_named() -> None:
    read = parsed("---\ndescription: [a]\n---\nFirst line\n")
    assert read.definition is not None
    assert read.definition.description == "First line"
    assert "`description` was ignored" in read.warnings[0]
    assert command("---\ndescription: 2026-01-02\n---\nx").description == "2026-01-02"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "there is no text in it"),
        (b"---\ndescription: d\n---\n \n", "there is no text in it"),
        (b"---\ndescription: d\n", "the front matter is not closed"),
        (b"---\n- a\n---\nx", ""),
        (b"\xff\xfea\x00", "saved as UTF-16"),
        (b"---\nagent: [a]\n---\nx", "line 2: `agent` is"),
        (b"---\nagent: 7\n---\nx", "line 2: `agent` is '7': expected the name of an agent"),
        (b'---\nagent: "a\\nb"\n---\nx', "`agent` is"),
        (b"---\nagent: a\nagent: b\n---\nx", "`agent` is there more than once"),
        (b"x" * 1_000_001, "larger than 1,000,000 bytes"),
    ],
)
def test_what_cannot_be_a_command_has_its_reason(text: bytes, reason: str) -> None:
    read = parsed(text)
    assert read.definition is None
    assert read.reason is not None
    assert reason in read.reason


@pytest.mark.parametrize("value", ["", "~", '""'])
def test_an_empty_agent_is_that_of_whoever_claims(value: str) -> None:
    assert command(f"---\nagent: {value}\n---\nx").agent is None


@pytest.mark.parametrize("file", ["/c/.md", "/c/a\nb.md", "/c/a\udcff.md"])
def test_a_name_that_nobody_can_type_is_no_command(file: str) -> None:
    read = parsed("Work.", file)
    assert read.definition is None
    assert "the name of the file" in (read.reason or "")


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: f"---\n{text}".encode()))
def test_whatever_lies_in_a_file_it_is_a_command_or_explained(data: bytes) -> None:
    read = parsed(data)
    assert read == parsed(data)
    assert (read.definition is None) == (read.reason is not None)
    if read.definition is not None:
        assert read.definition.instructions
        json.dumps(read.definition.to_json())


def test_every_mark_is_replaced_by_the_input_as_it_stands() -> None:
    read = command("$@ and $@; $1 $ @ stay")
    assert expand_command(read, r"a $@ \1 & {}") == r"a $@ \1 & {} and a $@ \1 & {}; $1 $ @ stay"
    assert expand_command(read, "") == " and ; $1 $ @ stay"


def test_the_families_come_in_their_order_and_the_first_of_a_name_wins(tmp_path: Path) -> None:
    files = [
        write(tmp_path, place, "fix")
        for place in (
            "project/.xcsh/commands",
            "home/.xcsh/agent/commands",
            "project/.claude/commands",
            "home/.claude/commands",
            "project/.codex/commands",
            "home/.codex/commands",
            "project/.gemini/commands",
            "home/.gemini/commands",
        )
    ]
    only_home = write(tmp_path, "home/.claude/commands", "only-home")
    commands = found(tmp_path)
    assert own(commands) == [("fix", files[0]), ("only-home", only_home)]
    shadowed = [one for one in commands.files if one.state == "shadowed"]
    assert [one.parsed.file for one in shadowed] == files[1:]
    assert {one.shadowed_by for one in shadowed} == {files[0]}
    assert [one.source for one in shadowed][:3] == ["user", "project", "user"]


def test_the_nearest_project_folder_of_a_family_counts(tmp_path: Path) -> None:
    write(tmp_path, ".claude/commands", "far")
    near = write(tmp_path, "project/.claude/commands", "near")
    other = write(tmp_path, ".gemini/commands", "other")
    assert own(found(tmp_path)) == [("near", near), ("other", other)]


def test_plugins_bring_commands_between_the_families_and_the_bundled(tmp_path: Path) -> None:
    fix = write(tmp_path, "project/.claude/commands", "fix")
    plugin = tmp_path / "plugin"
    hidden, extra = (write(tmp_path, "plugin/commands", name) for name in ("fix", "extra"))
    own_init = write(tmp_path, "plugin/commands", "init")
    registry = tmp_path / "home/.claude/plugins/installed_plugins.json"
    registry.parent.mkdir(parents=True)
    entry = {"p@m": [{"scope": "user", "installPath": str(plugin)}]}
    registry.write_text(json.dumps({"version": 2, "plugins": entry}))
    commands = found(tmp_path)
    assert own(commands) == [("fix", fix), ("extra", extra), ("init", own_init)]
    states = {one.parsed.file: (one.state, one.plugin) for one in commands.files}
    assert states[hidden] == ("shadowed", "p@m")
    assert states[str(data_dir("bundled_agents") / "commands" / "init.md")] == ("shadowed", None)


def test_a_broken_registry_is_a_warning_and_costs_only_itself(tmp_path: Path) -> None:
    fix = write(tmp_path, "project/.claude/commands", "fix")
    registry = tmp_path / "home/.claude/plugins/installed_plugins.json"
    registry.parent.mkdir(parents=True)
    registry.write_text("{")
    commands = found(tmp_path)
    assert own(commands) == [("fix", fix)]
    assert commands.warnings[0].startswith(f"{registry}: no plugin of it is used: ")


def test_one_bad_file_is_named_and_its_neighbours_count(tmp_path: Path) -> None:
    bad = write(tmp_path, "project/.claude/commands", "bad", "---\nagent: [x]\n---\nx")
    good = write(tmp_path, "project/.claude/commands", "good", "---\nmodel: m\n---\nx")
    dangling = tmp_path / "project/.claude/commands/link.md"
    dangling.symlink_to(tmp_path / "nowhere")
    (tmp_path / "project/.claude/commands/folder.md").mkdir()
    commands = found(tmp_path)
    assert own(commands) == [("good", good)]
    assert [warning.partition(": ")[0] for warning in commands.warnings] == [
        bad,
        good,
        str(dangling),
    ]
    assert f"{bad}: skipped: line 2: `agent` is" in commands.warnings[0]


def test_a_change_is_seen_at_the_next_call(tmp_path: Path) -> None:
    file = write(tmp_path, "project/.claude/commands", "fix", "one")
    os.utime(file, (1, 1))
    assert get_command(found(tmp_path), "fix").instructions == "one"
    write(tmp_path, "project/.claude/commands", "fix", "two")
    assert get_command(found(tmp_path), "fix").instructions == "two"


def test_lookup_is_by_exact_name_and_says_what_there_is(tmp_path: Path) -> None:
    write(tmp_path, "project/.claude/commands", "fix")
    commands = found(tmp_path)
    with pytest.raises(UnknownCommand) as caught:
        get_command(commands, "Fix")
    assert str(caught.value) == 'Unknown command "Fix". Available: fix, init'
    with pytest.raises(UnknownCommand, match="Available: none"):
        get_command([], "fix")


def test_a_bundled_file_that_is_no_command_is_fatal(tmp_path: Path) -> None:
    write(tmp_path, "commands", "init", "---\ndescription: a: b\n---\nx")
    with pytest.raises(BundledAgentBroken, match=r"init\.md: line 2: not YAML"):
        list(bundled_commands(tmp_path / "commands"))


def test_the_bundled_commands_are_these(tmp_path: Path) -> None:
    (init,) = found(tmp_path).commands
    assert (init.name, init.source, init.agent, init.takes_input) == (
        "init",
        "bundled",
        "task",
        True,
    )
    assert len(init.instructions.splitlines()) < 120


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("Look at !`git status` first", "!`git status` stays as it is: no command is run before"),
        ("Look at !{git status} first", "!{git status} stays as it is: no command is run before"),
        ("Read @src/main.py", "@src/main.py stays as it is: no file is put in its place"),
        ("Read @README.md.", "@README.md stays as it is: no file is put in its place"),
        ("Read @{notes}", "@{notes} stays as it is: no file is put in its place"),
    ],
)
def test_what_other_tools_put_into_a_text_is_told(text: str, warning: str) -> None:
    (told,) = parse_command(text.encode(), "c.md", "project").warnings
    assert told.startswith(warning)


@pytest.mark.parametrize(
    "text", ["Write to a@b.org", "$@", "costs $100", "`@x.y`", "for @ann", "!x"]
)
def test_text_that_means_itself_is_no_remark(text: str) -> None:
    assert parse_command(text.encode(), "c.md", "project").warnings == ()
