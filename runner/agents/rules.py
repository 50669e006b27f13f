"""The entries of a tool list: a tool, or a part of one in parentheses."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from runner.core.tool_names import LOOP_TOOLS, SYNONYMS, TOOLS, canonical

_WHOLE = (("*",), (":*",))
_OF_MCP = "mcp_"
_NAME = r"[\w*][\w.*-]*"
_CLEAN = re.compile(rf"{_NAME}\s*(\([^()]*\))?")
_PIECE = re.compile(rf"{_NAME}(?:\([^()]*\)|\([^\s,]*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRule:
    """One entry: `Read`, `Bash(git:*)`, `Agent(scout, critic)`.

    `name` is our name, or the lower-cased one of a tool that we do not know. `parts` are the
    items in parentheses in their own case, None for the whole tool, which `Bash(*)` is too; there
    are none where the parentheses are empty or not closed. `written` is the entry.
    """

    name: str
    parts: tuple[str, ...] | None
    written: str


def read_rules(items: Iterable[str]) -> tuple[ToolRule, ...]:
    """The rules in their order; commas inside parentheses may have cut one into several items."""
    return tuple(_rule(entry) for entry in _joined(items))


def means_all(rules: Iterable[ToolRule]) -> bool:
    """Whether they are `*` and beside it only tools of MCP servers, which Gemini lists apart."""
    names = {rule.name for rule in rules if rule.name not in LOOP_TOOLS}
    return "*" in names and all(name == "*" or name.startswith(_OF_MCP) for name in names)


def rules_of_limit(items: Iterable[str]) -> tuple[ToolRule, ...]:
    """The rules of a list that forbids, read so that no slip of the pen hides one of them.

    In an entry that is not one name with its parentheses, every name counts alone: those between
    quotes, blanks or other signs, and those behind parentheses that do not match.
    """
    return tuple(rule for found in read_rules(items) for rule in _separated(found))


def tools_that_fit(pattern: str) -> set[str]:
    """Our tools that have a name, in any family, that fits a lower-cased pattern with `*`."""
    return {canonical(name) for name in (*TOOLS, *SYNONYMS) if fnmatchcase(name, pattern)}


def meant_tool(name: str) -> str | None:
    """The tool of ours that is probably meant by a name that means nothing here."""
    words = (canonical(word) for word in re.split(r"[\W_]+", name))
    if part := next((word for word in words if word in TOOLS), None):
        return part
    near = difflib.get_close_matches(name, (*TOOLS, *SYNONYMS), n=1, cutoff=0.75)
    return canonical(near[0]) if near else None


def _separated(rule: ToolRule) -> tuple[ToolRule, ...]:
    if _CLEAN.fullmatch(rule.written):
        return (rule,)
    return tuple(_rule(piece) for piece in _PIECE.findall(rule.written))


def _joined(items: Iterable[str]) -> Iterator[str]:
    """Whole entries; one whose parenthesis is never closed ends with the list."""
    pieces: list[str] = []
    for item in items:
        pieces.append(item.strip())
        if "(" in pieces[0] and not pieces[-1].endswith(")"):
            continue
        yield ", ".join(pieces)
        pieces = []
    if pieces:
        yield ", ".join(pieces)


def _rule(written: str) -> ToolRule:
    name, parenthesis, inside = written.partition("(")
    if not parenthesis:
        return ToolRule(name=canonical(name), parts=None, written=written)
    is_closed = inside.endswith(")") and written.count("(") == written.count(")")
    items = inside[:-1].split(",") if is_closed else []
    parts = tuple(text for item in items if (text := item.strip()))
    return ToolRule(name=canonical(name), parts=None if parts in _WHOLE else parts, written=written)
