"""Commands that are limited by allow-lists: taken apart as a shell would, and run without one.

What a shell would act on is refused instead of carried out, so a list judges exactly the words
that are run. It is a limit, not a sandbox: an allowed program may start others by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from runner.agents.bash_patterns import allowed
from runner.agents.effective import Patterns
from runner.errors import ToolError

_PIECE = re.compile(
    r"""(?P<blank>[ \t]+)
    | (?P<joined>\\\n)
    | '(?P<single>[^']*)'
    | "(?P<double>(?:[^"\\$`]|\\[\s\S])*)"
    | \\(?P<escaped>[^\n])
    | (?P<plain>[^ \t\n'"\\$`;&|<>()*?[]+)""",
    re.VERBOSE,
)
_ESCAPED_IN_QUOTES = re.compile(r"\\(?:([\\\"$`])|\n)")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_ACTS = {
    **dict.fromkeys(";&|\n", "a second command or a background one"),
    **dict.fromkeys("()", "a subshell"),
    **dict.fromkeys("<>", "a redirection"),
    **dict.fromkeys("$`", "a variable or a substitution"),
    **dict.fromkeys("*?[", "a pattern of file names"),
    '"': "a quote that is not closed, or one with $ or ` inside",
    "'": "a quote that is not closed",
    "\\": "a backslash with nothing behind it",
    "~": "the home directory",
    "#": "a comment",
    "\0": "a NUL character",
}
_AROUND = " \t\r\n"
_SHOWN = 200  # characters of a command that is refused


def permitted(command: str, limits: Iterable[Patterns]) -> list[str]:
    """The words of a command that every one of the lists allows.

    Raises: ToolError, if a shell would do more with it than start one program, or if a list does
    not allow it.
    """
    words = split(command)
    for patterns in limits:
        if not allowed(words, patterns):
            raise ToolError(
                f"you may not run {command.strip(_AROUND)[:_SHOWN]}; {described(patterns)}"
            )
    return words


def described(patterns: Patterns) -> str:
    """A list in words for the model."""
    return f"allowed (* is any text): {'; '.join(patterns)}"


def split(command: str) -> list[str]:
    """The words that a POSIX shell would make of a plain command. Raises: ToolError."""
    text = command.strip(_AROUND)
    if "\0" in text:
        raise _refused("\0")
    words: list[str] = []
    word: str | None = None
    at = 0
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None or (word is None and text[at] in "#~"):
            raise _refused(text[at])
        at = piece.end()
        if piece["blank"] is None:
            word = _joined(word, piece)
        elif word is not None:
            words.append(word)
            word = None
    if word is not None:
        words.append(word)
    if not words:
        raise ToolError("the command is empty")
    if _ASSIGNMENT.match(text):
        raise ToolError(
            "your commands run without a shell: no variable can be set before one; "
            "leave the assignment out"
        )
    return words


def _joined(word: str | None, piece: re.Match[str]) -> str | None:
    """The word so far with one more piece of it."""
    if piece["joined"] is not None:
        return word
    if piece["double"] is not None:
        return (word or "") + _ESCAPED_IN_QUOTES.sub(lambda found: found[1] or "", piece["double"])
    return (word or "") + (piece["single"] or piece["escaped"] or piece["plain"] or "")


def _refused(char: str) -> ToolError:
    return ToolError(
        f"your commands run one at a time and without a shell, so {char!r} ({_ACTS[char]}) cannot "
        "be used; put it in single quotes if it is meant as text"
    )
