"""Keys of a task file that look like one of ours, and would be ignored in silence."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache

from runner.board import fields

_CLOSE = 0.85
_SEPARATORS = re.compile(r"[^a-z0-9]")
_DECIDING = (
    "owner",
    "blockedBy",
    "agent",
    "required_role",
    "priority",
    "schema",
    "run",
    "verify",
    "plan",
    "isolated",
    "timeout",
    "maxAttempts",
)
"""A task is done differently, or unchecked, when one of these is not seen."""


def _letters(key: str) -> str:
    return _SEPARATORS.sub("", key.lower())


_MEANT = {_letters(key): key for field in _DECIDING for key in reversed(fields.spellings(field))}


@lru_cache(maxsize=1 << 12)
def meant_by(key: str) -> str | None:
    """The field that an unknown key most likely should be; None for somebody else's key.

    Other tools have fields of their own: a word that contains one of ours or is contained in it
    (`agents`, `blocked`, `attempts`) is not taken for a slip.
    """
    letters = _letters(key)
    if letters in _MEANT:
        return _MEANT[letters]
    for word, field in _MEANT.items():
        if word not in letters and letters not in word and _is_close(letters, word):
            return field
    return None


def _is_close(letters: str, word: str) -> bool:
    """One or two letters missing, doubled or wrong; or all of them, in another order."""
    if sorted(letters) == sorted(word):
        return True
    return difflib.SequenceMatcher(None, letters, word).ratio() >= _CLOSE
