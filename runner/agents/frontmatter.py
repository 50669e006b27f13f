"""From the bytes of a markdown file to its fields and its body."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from runner.agents.lines import dashed_keys, key_lines, limit_lines, read_lines
from runner.agents.stray_limits import hidden_limits, leading_limits, stray_limits
from runner.agents.yaml12 import NotOneMapping, Unparsable, load_mapping
from runner.errors import AgentFileInvalid

MAX_BYTES = 1_000_000
BLANK = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_STRAY = (
    "looks like a limit and is not read: write it as `key: value` at the start of a line of the "
    "front matter, or in other words if it is none"
)
_COLON = "mapping values are not allowed"  # so says libyaml of a plain value with a colon in it
_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)*")

# As YAML has it, and as TOML.
_NAME_LINE = re.compile(r"""^name[ \t]*[:=][ \t]*(["']?)([^\n\r"']+?)\1[ \t]*\r?$""", re.MULTILINE)


class NoFrontMatter(Exception):
    """The file does not start with `---`: it is no agent and does not pretend to be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """What a file says. `fields` has camelCase keys at every depth.

    `lines` are the lines of the file, from 1, that its top-level keys stand in, `written` those
    keys that were spelled with a dash. `repeated` are the keys that are there twice, `fallback`
    tells that the line parser was used, `body` is trimmed. `lost_limits` says what looks like a
    limit and is no field.
    """

    fields: Mapping[str, Any]
    lines: Mapping[str, int]
    repeated: tuple[str, ...]
    body: str
    fallback: bool
    warnings: tuple[str, ...]
    written: Mapping[str, str] = field(default_factory=dict)
    lost_limits: tuple[str, ...] = ()


def read_front_matter(data: bytes, file: str, *, strict: bool = False) -> FrontMatter:
    """Read an agent or command file.

    `strict` refuses what is not YAML instead of falling back to the line parser.
    Raises: NoFrontMatter, AgentFileInvalid.
    """
    text, warnings = decode(data, file)
    head, body, numbers, below, hidden = _split(text, file)
    lines = key_lines(head)
    fallback = False
    try:
        fields, repeated, found = load_mapping(head)
        fields, lines = limit_lines(head) | fields, lines | found
        warnings += tuple(_cut_short(head, fields, found, numbers))
    except NotOneMapping as error:
        line = None if error.line is None else numbers[error.line]
        raise AgentFileInvalid(file, str(error), line=line) from error
    except Unparsable as error:
        line = None if error.line is None else numbers[error.line]
        if strict:
            raise AgentFileInvalid(file, f"not YAML: {error}", line=line) from error
        fallback = True
        fields, repeated = read_lines(head)
        where = "" if line is None else f"line {line}: "
        hint = "; put a value that has a colon in it in quotes" if _COLON in str(error) else ""
        warnings += (f"{where}not YAML: {error}; read line by line instead{hint}",)
    strays = [
        *((numbers[at], line) for at, line in stray_limits(head, fields, fallback=fallback)),
        *((below[at], line) for at, line in leading_limits(body)),
        *hidden,
    ]
    return FrontMatter(
        fields=fields,
        lines={key: numbers[at] for key, at in lines.items()},
        repeated=repeated,
        body=body,
        fallback=fallback,
        warnings=warnings,
        written=dashed_keys(head),
        lost_limits=tuple(
            f"line {number}: `{line.strip()[:60]}` {_STRAY}" for number, line in strays
        ),
    )


def refuse_repeated(front: FrontMatter, known: Container[str], file: str) -> None:
    """Raises: AgentFileInvalid, if one of the `known` keys is there more than once."""
    doubled = [key for key in front.repeated if key in known]
    if doubled:
        what = ", ".join(f"`{key}`" for key in doubled)
        raise AgentFileInvalid(
            file,
            f"{what} is there more than once: it cannot be told which is meant",
            line=front.lines.get(doubled[0]),
        )


def _cut_short(
    head: str, fields: Mapping[str, Any], lines: Mapping[str, int], numbers: Sequence[int]
) -> Iterator[str]:
    """Warnings about prose that YAML takes for a comment, as in `name: lint #fast`."""
    written = head.split("\n")
    for key in ("name", "description"):
        if key in lines:
            text, sign, _ = written[lines[key]].partition(":")[2].partition(" #")
            if sign and text.strip() == fields[key]:
                yield (
                    f"line {numbers[lines[key]]}: `{key}` ends before the #, which starts a "
                    "comment; put it in quotes if it is part of the text"
                )


def decode(data: bytes, file: str) -> tuple[str, tuple[str, ...]]:
    """The text with LF line ends, and warnings. Raises: AgentFileInvalid."""
    if len(data) > MAX_BYTES:
        raise AgentFileInvalid(file, f"larger than {MAX_BYTES:,} bytes")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise AgentFileInvalid(file, "saved as UTF-16; save it as UTF-8")
    text = data.decode("utf-8-sig", "replace")
    warnings: tuple[str, ...] = ()
    if "\ufffd" in text and text.encode().count(b"\xef\xbf\xbd") != data.count(b"\xef\xbf\xbd"):
        warnings = ("some bytes are not UTF-8 and were replaced; save it as UTF-8",)
    return text.replace("\r\n", "\n").replace("\r", "\n"), warnings


def names_in(data: bytes) -> tuple[str, ...]:
    """What a file that cannot be read says first about its name, if it does."""
    match = _NAME_LINE.search(data[:MAX_BYTES].decode("utf-8", "replace"))
    return (match[2],) if match else ()


class _Split(NamedTuple):
    """A file in two: `numbers` and `below` are the lines of the file that each of the lines was.

    `head` is the front matter with tabs as two spaces, `body` is trimmed. `hidden` are limits in
    comments that swallowed a fence.
    """

    head: str
    body: str
    numbers: Sequence[int]
    below: Sequence[int]
    hidden: Sequence[tuple[int, str]]


def _split(text: str, file: str) -> _Split:
    """Raises: NoFrontMatter, AgentFileInvalid."""
    text, numbers, comments = _without_comments(text)
    start = _BLANK_LINES.match(text).end()  # type: ignore[union-attr]  # it matches nothing too
    if not text.startswith("---", start):
        raise NoFrontMatter
    end = text.find("\n---", start + 3)
    if end < 0:
        raise AgentFileInvalid(
            file,
            "the front matter is not closed: no later line starts with ---",
            line=numbers[text.count("\n", 0, start)],
        )
    rest = text[end + 4 :]
    body = len(text) - len(rest.lstrip(BLANK))
    return _Split(
        head=text[start + 4 : end].replace("\t", "  "),
        body=rest.strip(BLANK),
        numbers=numbers[text.count("\n", 0, start + 4) :],
        below=numbers[text.count("\n", 0, body) :],
        hidden=[
            (first + at, line)
            for place, first, comment in comments
            if place <= end
            for at, line in hidden_limits(comment)
        ],
    )


def _without_comments(text: str) -> tuple[str, Sequence[int], list[tuple[int, int, str]]]:
    """`text` without `<!-- ... -->`, the line in it that each line left had, and the comments.

    Those as (where it stood in what is left, its line, text). One that is never closed stays.
    """
    comments: list[tuple[int, int, str]] = []
    if "<!--" not in text:
        return text, range(1, text.count("\n") + 2), comments
    parts: list[str] = []
    numbers = [1]
    length = 0
    at, line = 0, 1
    while True:
        start = text.find("<!--", at)
        end = text.find("-->", start + 4) if start >= 0 else -1
        part = text[at:start] if end >= 0 else text[at:]
        parts.append(part)
        below = line + part.count("\n")
        numbers += range(line + 1, below + 1)
        if end < 0:
            return "".join(parts), numbers, comments
        length += len(part)
        comments.append((length, below, text[start:end]))
        line = below + text.count("\n", start, end)
        at = end + 3
