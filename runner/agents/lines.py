"""The line parser: what can still be read of front matter that is not YAML.

The commonest broken agent file has a plain sentence with a colon in it. `key: value` lines at
column zero still say what was meant. Lists keep their meaning, so that a malformed file never
loses its limits; what cannot be read becomes `Unreadable` and is judged by the field it stands in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from runner.agents.yaml12 import NotOneMapping, Unparsable, camel_case, load_mapping

LIMITS = ("tools", "disallowedTools", "spawns", "permissionMode")
# Keys whose value may go on below them, where that of those with one word must be seen too.
_LISTS = (*LIMITS, "isolation", "model")
_FORBIDS = "disallowedTools"
_KEY = re.compile(r"""(["']?)([A-Za-z0-9_][A-Za-z0-9_-]*)\1 *:(.*)\Z""")
# Keys as people see them: with characters around them that do not show, or with a wide colon.
_HIDDEN = r"[^\w\x21-\x7e\uff1a]"
_SEEN = rf"""(["']?)([A-Za-z][A-Za-z-]*){_HIDDEN}*+\1{_HIDDEN}*+[:\uff1a]"""
_SEEN_KEY = re.compile(rf"{_HIDDEN}*{_SEEN}")
_SEEN_AT_ZERO = re.compile(rf"(?! ){_SEEN_KEY.pattern}")
# `? key` on a line of its own, `&anchor key:`, `!!str key:`, and letters written as `\u006f`.
_DRESSED = re.compile(r"( *)(\? +)?((?:[&!](?:<[^>]*>|[^\s:]*) +)*)(.*)\Z", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U000([0-9a-fA-F]{5}))")
_COMMENT = re.compile(r"(^|\s)#.*\Z")
_COMMENT_BEHIND = re.compile(r"\s#.*\Z")  # one right behind the colon is none
_BLOCK_SCALAR = re.compile(r"[|>][-+0-9]*\s*(#.*)?\Z")
_SPECIAL = tuple("[]{}|>&!%@`\"'*")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A value that is there and cannot be understood."""

    text: str


@dataclass(slots=True)
class _Entry:
    """A key line and the lines below it, up to the next key line; `written` is all that follows
    the colon.
    """

    key: str
    written: str
    below: list[str] = field(default_factory=list)

    @property
    def value(self) -> str:
        return self.written.strip()

    @property
    def bare(self) -> str:
        """The value without a comment behind it."""
        return _COMMENT_BEHIND.sub("", self.written).strip()

    @property
    def indented(self) -> list[str]:
        """The lines that belong to the value whatever it is: the first indented ones."""
        lines: list[str] = []
        for line in self.below:
            if line.strip() and not line.startswith(" "):
                break
            lines.append(line)
        return lines if any(line.strip() for line in lines) else []

    @property
    def is_followed(self) -> bool:
        """Whether something stands below that belongs to no value as it is written."""
        left = self.below[len(self.indented) :]
        return any(_COMMENT.sub("", line).strip() for line in left)


def read_lines(text: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The fields of broken front matter, and the keys that occur more than once (last one wins).

    Values are text but for lists, and `Unreadable` where a list or a schema cannot be made out.
    """
    entries = _entries(text)
    fields: dict[str, Any] = {}
    repeated = []
    for entry in entries:
        if entry.key in fields:
            repeated.append(entry.key)
        fields[entry.key] = _value(entry)
    fields = _limits_in(text, _SEEN_KEY) | fields
    return fields, tuple(dict.fromkeys(repeated))


def limit_lines(text: str) -> dict[str, Any]:
    """The limits that have a line at column zero, each `Unreadable`.

    One that YAML did not find there was swallowed, for instance by a quote that is not closed.
    """
    return _limits_in(text, _SEEN_AT_ZERO)


def key_lines(text: str) -> dict[str, int]:
    """The line, from 0, of every key at column zero, and of limits wherever they stand.

    Of several lines with a key the last one counts, at column zero if there is one.
    """
    indented: dict[str, int] = {}
    found: dict[str, int] = {}
    for number, line in enumerate(text.split("\n")):
        if match := _KEY.match(line):
            found[camel_case(match[2])] = number
        elif (match := _SEEN_KEY.match(bare(line))) and camel_case(match[2]) in LIMITS:
            indented[camel_case(match[2])] = number
    return indented | found


def bare(line: str) -> str:
    """A line without what YAML lets stand before a key, and with its letters as they are meant."""
    text = _ESCAPE.sub(lambda match: chr(int(match[1] or match[2] or match[3], 16)), line)
    indent, question, _, key = _DRESSED.match(text).groups()  # type: ignore[union-attr]  # fits all
    return f"{indent}{key}:" if question else f"{indent}{key}"


def written_key(line: str) -> str | None:
    """The key of a `key: value` line at column zero, in camelCase; None if it is no such line."""
    match = _KEY.match(line)
    return camel_case(match[2]) if match else None


def dashed_keys(text: str) -> dict[str, str]:
    """How the keys at column zero that have a dash in them are written there."""
    matches = (_KEY.match(line) for line in text.split("\n"))
    written = (match[2] for match in matches if match and "-" in match[2])
    return {camel_case(key): key for key in written}


def _limits_in(text: str, pattern: re.Pattern[str]) -> dict[str, Any]:
    return {
        key: Unreadable(line.strip())
        for line in text.split("\n")
        if (match := pattern.match(bare(line))) and (key := camel_case(match[2])) in LIMITS
    }


def _entries(text: str) -> list[_Entry]:
    entries: list[_Entry] = []
    for line in text.split("\n"):
        match = _KEY.match(line)
        if match:
            entries.append(_Entry(camel_case(match[2]), match[3]))
        elif entries:
            entries[-1].below.append(line)
    return entries


def _value(entry: _Entry) -> Any:
    if entry.key in _LISTS:
        return _list(entry)
    if entry.key == "output":
        return _yaml(entry, entry.indented)
    if _BLOCK_SCALAR.match(entry.value) and entry.indented:
        return _yaml(entry, entry.indented)
    # in prose a # is part of the text
    prose = entry.key in ("name", "description")
    return _unquoted(entry.value if prose else entry.bare)


def _list(entry: _Entry) -> Any:
    """A name, a comma list (text), a list of items, or `Unreadable`.

    What stands below at column zero may be what was meant where the value itself says nothing, and
    more of it where it forbids.
    """
    value = entry.bare
    if value == "*":
        return Unreadable(entry.value) if entry.indented else value
    if value.startswith("#") or (value and entry.key == _FORBIDS and entry.is_followed):
        return Unreadable(entry.value)
    if not value:
        below = [line for line in entry.below if _COMMENT.sub("", line).strip()]
        return _block_list(entry, below) if below else ""
    if not value.startswith(_SPECIAL) and not entry.indented:
        return value
    read = _yaml(entry, entry.indented)
    if isinstance(read, Unreadable) and not entry.indented:
        return _flow_list(value) or read
    says_nothing = read is None or (isinstance(read, str) and not read.strip())
    return Unreadable(entry.value) if says_nothing and entry.is_followed else read


def _block_list(entry: _Entry, below: list[str]) -> Any:
    read = _yaml(entry, below)
    if not isinstance(read, Unreadable):
        return read
    items = [_COMMENT.sub("", line).strip() for line in below]
    if all(item.startswith("- ") for item in items):
        return [_unquoted(item[2:].strip()) for item in items]
    return read


def _flow_list(value: str) -> list[str] | None:
    """`[a, *]` on one line, split at the commas; None if quotes or brackets make that unsafe."""
    inner = value[1:-1]
    if value[0] + value[-1] != "[]" or re.search(r"""["'\[\]{}]""", inner):
        return None
    return [item.strip() for item in inner.split(",")]


def _yaml(entry: _Entry, below: list[str]) -> Any:
    """The value read as YAML on its own."""
    text = "\n".join([f"value: {entry.value}", *below])
    try:
        fields, repeated, _ = load_mapping(text)
    except (Unparsable, NotOneMapping):
        return Unreadable(entry.value)
    return Unreadable(entry.value) if repeated or len(fields) != 1 else fields["value"]


def _unquoted(value: str) -> str:
    """`value` without quotes around the whole of it; other quotes are part of the text."""
    if len(value) < 2 or value[0] != value[-1] or value[0] not in "\"'":
        return value
    try:
        fields, *_ = load_mapping(f"value: {value}")
    except (Unparsable, NotOneMapping):
        return value if value[0] in value[1:-1] else value[1:-1]
    return str(fields["value"])
