"""Allow-lists of commands: nothing runs that a list does not allow, whatever a model writes."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runner.errors import ToolError
from runner.work.tools.command_rules import permitted, split

if TYPE_CHECKING:
    from tests.work.tools.conftest import Bench


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("git status", ["git", "status"]),
        ("  git\t status \n", ["git", "status"]),
        ("git commit -m 'a; b | $c'", ["git", "commit", "-m", "a; b | $c"]),
        ('git commit -m "it\'s"', ["git", "commit", "-m", "it's"]),
        ('echo "a\\"b\\\\c\\$d\\e"', ["echo", 'a"b\\c$d\\e']),
        ("echo a\\ b\\;", ["echo", "a b;"]),
        ("echo ''", ["echo", ""]),
        ("echo a'b'\"c\"d", ["echo", "abcd"]),
        ("git commit -m 'one\n\ntwo'", ["git", "commit", "-m", "one\n\ntwo"]),
        ("npm run \\\n  test", ["npm", "run", "test"]),
        ('echo "a\\\nb" c\\\nd', ["echo", "ab", "cd"]),
        ("git show HEAD~1 stash@{0} a#b x]", ["git", "show", "HEAD~1", "stash@{0}", "a#b", "x]"]),
    ],
)
def test_a_plain_command_is_taken_apart_as_a_shell_does(command: str, words: list[str]) -> None:
    assert split(command) == words


@pytest.mark.parametrize(
    "command",
    [
        *("git status; rm x", "git status & rm x", "git status && rm x", "git status || rm x"),
        *("git status | sh", "git status\nrm x", "(git status)", "git status > x", "git < x"),
        *("git $(rm x)", "git `rm x`", "git $HOME", 'git "$(rm x)"', 'git "`rm x`"', 'git "$A"'),
        *("git add *.py", "git add ?", "git add [ab]", "git ~", "git # x", "#git"),
        *("git 'a", 'git "a', "git a\\", "git <(rm x)", "git\0status", "git 'a\0b'"),
    ],
)
def test_what_a_shell_would_act_on_is_refused(command: str) -> None:
    with pytest.raises(ToolError, match=r"without a shell, so .* cannot be used; put it in single"):
        split(command)


def test_a_variable_before_the_command_is_refused() -> None:
    with pytest.raises(ToolError, match="no variable can be set"):
        split("GIT_PAGER=sh git log")
    assert split("env A=1 git") == ["env", "A=1", "git"]


@pytest.mark.parametrize("command", ["", "  \n", "\\\n"])
def test_an_empty_command_is_refused(command: str) -> None:
    with pytest.raises(ToolError, match=r"the command is empty|nothing behind it"):
        split(command)


def test_every_list_must_allow_a_command() -> None:
    limits = (("git:*", "ls"), ("git status:*", "npm:*"))

    assert permitted("git status -s", limits) == ["git", "status", "-s"]
    with pytest.raises(ToolError, match=r"you may not run npm test; allowed .*: git:\*; ls$"):
        permitted("npm test", limits)
    with pytest.raises(ToolError, match=r"git log; allowed .*: git status:\*; npm:\*$"):
        permitted("git log", limits)


def test_a_long_command_is_not_repeated_whole() -> None:
    with pytest.raises(ToolError) as refused:
        permitted("rm " + "x" * 10_000, (("git:*",),))

    assert len(str(refused.value)) < 300


texts = st.lists(
    st.sampled_from(
        [
            "a",
            "git",
            " ",
            "'",
            '"',
            "\\",
            "\n",
            "$x",
            "`",
            ";",
            "&",
            "|",
            "*",
            "~",
            "#",
            "é",
            "=",
            "{a,b}",
        ]
    ),
    max_size=10,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(texts)
@example('a"\\\n"b')
@example("a\\'b' c'")
@example("'' \"\"")
def test_the_words_are_those_that_a_shell_would_hand_over(text: str) -> None:
    try:
        words = split(text)
    except ToolError:
        return
    script = "printf '%s\\0' " + text.strip(" \t\n")
    shell = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True)

    assert shell.stdout.decode().split("\0")[:-1] == words


prefixes = st.lists(st.sampled_from(["git", "git status", "npm run test", "ls"]), min_size=1)


@given(st.lists(prefixes, min_size=1, max_size=3), texts | st.sampled_from(["git status 'a; b'"]))
def test_what_is_permitted_begins_as_some_entry_of_each_list(
    lists: list[list[str]], text: str
) -> None:
    try:
        words = permitted(text, [tuple(f"{entry}:*" for entry in one) for one in lists])
    except ToolError:
        return
    for one in lists:
        assert any(words[: len(entry.split())] == entry.split() for entry in one)


# Through the tool itself


def limit(bench: Bench, *patterns: str) -> None:
    bench.change(agent=replace(bench.context.agent, commands=(patterns,)))


async def test_an_allowed_command_runs_with_its_words(bench: Bench) -> None:
    limit(bench, "printf:*", "pwd")

    assert await bench("bash", command="printf '%s|' 'a b' \"c;d\" x\\ y") == "a b|c;d|x y|"
    assert await bench("bash", command="pwd") == f"{bench.root}\n"


async def test_a_failure_is_shown_as_ever(bench: Bench) -> None:
    limit(bench, "ls:*", "nosuchprogram")

    assert "[exit status 2]" in await bench("bash", command="ls nosuchfile")
    assert "[exit status 127]" in await bench("bash", command="nosuchprogram")


@pytest.mark.parametrize(
    "command",
    [
        *("touch canary", "echo a; touch canary", "echo a && touch canary", "echo $(touch canary)"),
        *("echo `touch canary`", 'echo "$(touch canary)"', "echo a | xargs touch canary"),
        *(
            "echo a\ntouch canary",
            "echo a & touch canary",
            "echo a > canary",
            "echo <(touch canary)",
        ),
        *("'echo' a;touch canary", "echo\\\n; touch canary", "echo 'a' \"`touch canary`\""),
        *("echo ${x:=$(touch canary)}", "x=1 touch canary", "! touch canary", "{ touch canary; }"),
        *("if true; then touch canary; fi", "echo(){ touch canary;}", "'echo a;touch' canary"),
        *("echo a\r\ntouch canary", "echoes; touch canary", "echo'' ; touch canary"),
    ],
)
async def test_nothing_gets_through_beside_an_allowed_command(bench: Bench, command: str) -> None:
    limit(bench, "echo:*")

    with pytest.raises(ToolError):
        await bench("bash", command=command)

    assert not (bench.root / "canary").exists()


async def test_what_is_text_in_quotes_stays_text(bench: Bench) -> None:
    limit(bench, "echo:*")
    odd = "a; touch canary $(touch canary) `touch canary` > canary"

    assert await bench("bash", command=f"echo {shlex.quote(odd)}") == f"{odd}\n"
    assert not (bench.root / "canary").exists()
