"""Patterns of commands are judged word by word, as `Bash(...)` means them elsewhere."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.agents.bash_patterns import all_covered, allowed, read_pattern


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("ls", "ls"),
        ("npm run build", "npm  run build"),
        ("ls:*", "ls"),
        ("ls:*", "ls -la /tmp"),
        ("ls *", "ls -la"),
        ("ls *", "ls"),
        ("ls*", "lsof"),
        ("git *", "git push origin main"),
        ("npm run test:*", "npm run test unit"),
        ("npm run test*", "npm run test:unit --watch"),
        ("git * main", "git push origin main"),
        ("* --version", "node --version"),
        ("git -C * log *", "git -C a b log -1"),
        ("git commit -m 'a b':*", "git commit -m"),
    ],
)
def test_what_a_pattern_allows(pattern: str, command: str) -> None:
    words = command.split()
    if "'" in pattern:
        words.append("a b")
    assert allowed(words, [pattern])


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("ls", "ls -la"),
        ("ls:*", "lsof"),
        ("ls *", "lsof"),
        ("git:*", "Git status"),
        ("git:* push", "git push"),
        ("npm run test:*", "npm run testing"),
        ("npm run test:*", "npm run"),
        ("git * main", "git main"),
        ("git * main", "git push mainline"),
        ("a*ba", "aba extra"),
        ("ab*ba", "aba"),
        ("git:*", ""),
    ],
)
def test_what_it_does_not_allow(pattern: str, command: str) -> None:
    assert not allowed(command.split(), [pattern])


def test_a_blank_of_a_pattern_is_between_words_not_inside_of_one() -> None:
    assert not allowed(["git status", "-s"], ["git status:*"])
    assert not allowed(["ls -la"], ["ls *"])
    assert allowed(["echo", "a b"], ["echo *"])


@pytest.mark.parametrize("written", ["", " ", "*", "* *", "**", ":*", "git\\ x", "'git", "a\0b"])
def test_what_cannot_be_told_or_would_be_everything_is_no_pattern(written: str) -> None:
    assert read_pattern(written) is None
    assert not allowed(["git"], [written])


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("git status:*", "git:*"),
        ("git status", "git *"),
        ("git push * main", "git * main"),
        ("ls -la", "ls*"),
        ("git:*", "git *"),
    ],
)
def test_a_narrower_pattern_is_covered(inner: str, outer: str) -> None:
    assert all_covered([inner], ["cargo:*", outer])


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("git:*", "git status:*"),
        ("git:*", "git"),
        ("git*", "git:*"),
        ("git *", "git * main"),
        ("npm:*", "git:*"),
    ],
)
def test_a_wider_one_is_not(inner: str, outer: str) -> None:
    assert not all_covered([inner], [outer])


pieces = st.lists(st.sampled_from(["a", "b", "*", " ", ":*"]), min_size=1, max_size=6)
patterns = pieces.map("".join)
commands = st.lists(st.text("ab*", min_size=1, max_size=3), min_size=1, max_size=4)


@given(patterns, commands)
def test_patterns_agree_with_an_expression_for_the_same(written: str, words: list[str]) -> None:
    text = written.strip()
    text = f"{text[:-2]} *" if text.endswith(":*") else text
    parts = text.split()
    if set("".join(parts)) <= {"*"}:
        assert read_pattern(written) is None
        return
    optional = len(parts) > 1 and parts[-1] == "*"
    expression = "\n".join(
        ".*".join(map(re.escape, part.split("*"))) for part in parts[: len(parts) - optional]
    ) + ("(\n.*)?" if optional else "")

    expected = re.fullmatch(expression, "\n".join(words), re.DOTALL) is not None
    assert allowed(words, [written]) is expected


@given(patterns, patterns, commands)
def test_what_a_covered_pattern_allows_the_other_allows_too(
    inner: str, outer: str, words: list[str]
) -> None:
    if read_pattern(inner) and all_covered([inner], [outer]) and allowed(words, [inner]):
        assert allowed(words, [outer])
