"""Lines that look like a limit and became no field, so that what their author meant is lost.

They were swallowed by a text around them, stand in a list, behind a sign or below the fence, or
have another sign than a colon. No task can use the agent until they are mended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.agents.limit_keys import is_limit, meant_limit, plain
from runner.agents.lines import LIMITS, bare, written_key
from runner.core.tool_names import is_known

_OURS = frozenset(map(plain, LIMITS)) | {"allowedtools", "tool"}
_SIGNS = "-*<>{[(\"'`,.\u2022 \u00a0"
_SEPARATOR = re.compile(r"[:=\u02d0\uff1a]")
_KEY = re.compile(r"[\w-]+")
_ITEM = re.compile(r"\w+")
_ON = ("true", "yes", "on", "plan", "readonly")


def stray_limits(
    text: str, fields: Mapping[str, Any], *, fallback: bool
) -> Iterator[tuple[int, str]]:
    """(number from 0, line) of those in front matter; `fallback` tells that it is not YAML.

    `fields` are what was found in it.
    """
    known = frozenset(map(plain, fields))
    lines = text.split("\n")
    owner = ""
    for number, line in enumerate(lines):
        key = written_key(line)
        owner = key or owner
        if fallback and any(_is_meant(*_parts([part], 0)) for part in line.splitlines()[1:]):
            yield number, line  # behind a break that ends a line for people and not for us
            continue
        if line.lstrip().startswith("#") or (fallback and key is not None):
            continue  # a comment; or a field, and judged as one
        word, value = _parts(lines, number)
        is_indented = line.startswith(" ")
        if not word or (plain(word) in known and (is_indented or not fallback)):
            continue
        if fallback or not line.startswith((" ", "-")):
            found = _is_meant(word, value, is_indented=is_indented)
        else:
            # YAML has told what such a line is, but for the lines of a text
            found = isinstance(fields.get(owner), str) and _is_ours(word) and _names_tool(value)
        if found:
            yield number, line


def leading_limits(body: str) -> Iterator[tuple[int, str]]:
    """(number from 0, line) of those at the start of a body: the fence came too early."""
    for number, line in enumerate(body.split("\n")):
        key = written_key(line)
        if key in LIMITS:
            yield number, line
        elif key is None and not line.startswith((" ", "-")):
            return


def hidden_limits(comment: str) -> Iterator[tuple[int, str]]:
    """(number from 0, line) of those in a comment that reaches over a fence: none meant that."""
    if "\n---" in comment:
        for number, line in enumerate(comment.split("\n")):
            if written_key(line) in LIMITS:
                yield number, line


def _parts(lines: Sequence[str], number: int) -> tuple[str, str]:
    """What may be a key in a line, and what its value; two empty texts if nothing may."""
    text = bare(lines[number]).strip().lstrip(_SIGNS)
    first = _KEY.match(text)
    if first is not None and _is_ours(first[0]):
        rest = text[first.end() :]
        item = _ITEM.search(rest)
        if _names_tool(rest) or (item is None and _starts_list(lines, number + 1)):
            return first[0], rest
    separator = _SEPARATOR.search(text)
    return ("", "") if separator is None else (text[: separator.start()], text[separator.end() :])


def _is_meant(word: str, value: str, *, is_indented: bool = False) -> bool:
    if is_limit(plain(word)):
        return True
    if meant_limit(word, value.strip()) is None:
        return False
    return _names_tool(value) or plain(value) in _ON or (not is_indented and len(word.split()) == 1)


def _is_ours(word: str) -> bool:
    return plain(word) in _OURS


def _names_tool(value: str) -> bool:
    first = _ITEM.search(value)
    return first is not None and is_known(first[0])


def _starts_list(lines: Sequence[str], number: int) -> bool:
    """Whether the first line with a text from there on does."""
    below = (lines[at].strip() for at in range(number, len(lines)))
    following = next((line for line in below if line), "")
    return following.startswith(("-", "["))
