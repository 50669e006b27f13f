"""One YAML mapping, read as version 1.2 reads it, over PyYAML's parser events.

PyYAML itself resolves YAML 1.1, where `on` is true, `12:30` is 750 and `1_000` a number. Building
the values from events keeps its C parser and replaces what is wrong: the words that are numbers
or booleans, the tags (unknown ones are ignored and run nothing) and the growth by aliases.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

MAX_SIZE = 1_000_000  # characters and nodes after all aliases are written out
MAX_DEPTH = 100

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_SEVERAL = "the front matter holds more than one YAML document"
_KEBAB = re.compile(r"-([a-z])")


class _AtLine(Exception):
    """What is wrong, and the line of the text, from 0, where it was found."""

    def __init__(self, what: str, line: int | None = None) -> None:
        self.line = line
        super().__init__(what)


class Unparsable(_AtLine):
    """The text is not YAML."""


class NotOneMapping(_AtLine):
    """The text is YAML, and not one mapping of a sane size; the message says what it is."""


class Loaded(NamedTuple):
    """One mapping.

    `repeated` are the top-level keys that occur more than once, `lines` the lines, from 0, of all
    that are written there; of equal keys the last one.
    """

    values: dict[str, Any]
    repeated: tuple[str, ...]
    lines: dict[str, int]


def camel_case(key: str) -> str:
    """`thinking-level` as `thinkingLevel`; only a letter after a dash is rewritten."""
    return _KEBAB.sub(lambda match: match[1].upper(), key)


def load_mapping(text: str) -> Loaded:
    """The mapping in `text`.

    Keys are text as it was typed, in camelCase at every depth; of equal keys the last one wins.
    Values are what JSON can hold. An empty text is an empty mapping.
    Raises: Unparsable, NotOneMapping.
    """
    reader = _Reader(text)
    try:
        value = reader.document()
    except yaml.YAMLError as error:
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise Unparsable(what, _line(text, getattr(error, "problem_mark", None))) from error
    if value is None:
        return Loaded({}, (), {})
    if not isinstance(value, dict):
        kind = "a list" if isinstance(value, list) else "plain text"
        raise NotOneMapping(f"the front matter is {kind}, not `key: value` lines", 0)
    return Loaded(value, tuple(dict.fromkeys(reader.repeated)), reader.lines)


class _Reader:
    """One document. `repeated` collects the top-level keys that were there before."""

    def __init__(self, text: str) -> None:
        self.repeated: list[str] = []
        self.lines: dict[str, int] = {}
        self._text = text
        self._counted = (0, 0)  # a place in the text, and the line there
        # The parser drops the newline of a block scalar that ends without one.
        self._events: Iterator[yaml.Event] = yaml.parse(text + "\n", Loader=_LOADER)
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._size = 0

    def document(self) -> Any:
        next(self._events)  # the start of the stream
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        value = self._node(next(self._events), 0)
        next(self._events)  # the end of the document
        self._refuse_another()
        return value

    def _refuse_another(self) -> None:
        try:
            event = next(self._events)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            raise NotOneMapping(_SEVERAL, _line(self._text, mark)) from error
        if not isinstance(event, yaml.StreamEndEvent):
            raise NotOneMapping(_SEVERAL, _line(self._text, event.start_mark))

    def _node(self, event: yaml.Event, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise NotOneMapping(
                f"the front matter is nested more than {MAX_DEPTH} levels deep",
                _line(self._text, event.start_mark),
            )
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before = self._size
        self._grow(1)
        value: Any
        if isinstance(event, yaml.ScalarEvent):
            self._grow(len(event.value))
            value = _scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = [self._node(item, depth + 1) for item in self._until(yaml.SequenceEndEvent)]
        else:
            value = self._mapping(depth)
        anchor = getattr(event, "anchor", None)
        if anchor:
            self._anchors[anchor] = (value, self._size - before)
        return value

    def _alias(self, event: yaml.AliasEvent) -> Any:
        if event.anchor not in self._anchors:  # also one that points into itself
            raise yaml.YAMLError(f"undefined alias *{event.anchor}")
        value, size = self._anchors[event.anchor]
        self._grow(size)
        return value

    def _mapping(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: list[Any] = []
        for event in self._until(yaml.MappingEndEvent):
            key, plain = self._key(event, depth)
            value = self._node(next(self._events), depth + 1)
            if plain and key == "<<" and _is_mergeable(value):
                merged += value if isinstance(value, list) else [value]
                continue
            if depth == 0:
                self.lines[key] = self._line_of_key(event.start_mark)
                if key in found:
                    self.repeated.append(key)
            found[key] = value
        for mapping in merged:
            for key, value in mapping.items():
                found.setdefault(key, value)
        return found

    def _line_of_key(self, mark: Any) -> int:
        """Keys come one below the other, so the lines above the last one are not counted again."""
        before, line = self._counted
        self._counted = mark.index, line + self._text.count("\n", before, mark.index)
        return self._counted[1]

    def _key(self, event: yaml.Event, depth: int) -> tuple[str, bool]:
        value = self._node(event, depth + 1)
        if isinstance(event, yaml.ScalarEvent):
            return camel_case(event.value), not event.style
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return camel_case(text), False

    def _until(self, end: type[yaml.Event]) -> Iterator[yaml.Event]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield event

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > MAX_SIZE:
            raise NotOneMapping("the front matter grows without bound through its aliases")


def _line(text: str, mark: Any) -> int | None:
    """The line of a place in `text`. The parser's own number counts breaks that are none to us."""
    return None if mark is None else text.count("\n", 0, mark.index)


def _is_mergeable(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, dict) for item in value)
    return isinstance(value, dict)


def _scalar(event: yaml.ScalarEvent) -> Any:
    tag = event.tag or ""
    if tag in ("!", _TAG + "str") or (event.style and not tag.startswith(_TAG)):
        return event.value
    return _resolve(event.value)


def _resolve(text: str) -> Any:
    """The value of a plain scalar; a number that JSON cannot hold stays text."""
    if text in _WORDS:
        return _WORDS[text]
    try:
        if _INTEGER.match(text):
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        if _FLOAT.match(text):
            number = float(text)
            return number if math.isfinite(number) else text
    except ValueError:  # more digits than Python converts
        return text
    return text
