"""Patterns of commands: what stands in the parentheses of `Bash(git:*)`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_BETWEEN = "\0"  # between two words; no word of a command can hold it


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """The commands that an entry allows, judged word by word, not by their text.

    `forms` are the words with NUL between them; `*` in them stands for any text, over several
    words too. There are two where a last word `*` may also be missing.
    """

    forms: tuple[str, ...]

    def allows(self, words: Sequence[str]) -> bool:
        """Whether a command of these words, without NUL in them, is one of them."""
        return self._fits(_BETWEEN.join(words))

    def covers(self, other: CommandPattern) -> bool:
        """Whether every command that `other` allows is allowed here too.

        Its forms are taken as texts: only a `*` of ours fits a `*` of theirs, and so whatever
        theirs stands for. May say no where that can only be seen from several forms together.
        """
        return all(self._fits(form) for form in other.forms)

    def _fits(self, text: str) -> bool:
        return any(_fits(text, form.split("*")) for form in self.forms)


def read_pattern(written: str) -> CommandPattern | None:
    """The pattern of an entry; None if it cannot be told what it allows, or if that is everything.

    `ls` is that command alone; `ls:*` and `ls *` are `ls` with any arguments, not `lsof`; `ls*` is
    both; `git * main` has any text in the middle. Quotes group words as in a shell.
    """
    text = written.strip()
    if text.endswith(":*"):
        text = f"{text[:-2]} *"
    if "\\" in text or _BETWEEN in text:
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    form = _BETWEEN.join(words)
    if not form.strip(f"*{_BETWEEN}"):
        return None
    if len(words) > 1 and words[-1] == "*":
        return CommandPattern((_BETWEEN.join(words[:-1]), form))
    return CommandPattern((form,))


def allowed(words: Sequence[str], patterns: Iterable[str]) -> bool:
    """Whether one of the patterns allows a command of these words."""
    return any(pattern.allows(words) for pattern in _readable(patterns))


def all_covered(inner: Iterable[str], outer: Iterable[str]) -> bool:
    """Whether the commands that `inner` allows are among those that `outer` allows."""
    around = _readable(outer)
    return all(any(one.covers(pattern) for one in around) for pattern in _readable(inner))


def _readable(patterns: Iterable[str]) -> list[CommandPattern]:
    return [pattern for text in patterns if (pattern := read_pattern(text)) is not None]


def _fits(text: str, pieces: Sequence[str]) -> bool:
    """Whether `text` is the pieces in their order with anything between them, in linear time."""
    first, *others = pieces
    if not others:
        return text == first
    if not text.startswith(first):
        return False
    at, last = len(first), others.pop()
    for piece in others:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return text.endswith(last) and len(text) - len(last) >= at
