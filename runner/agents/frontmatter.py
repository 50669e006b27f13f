"""From the bytes of a markdown file to its fields and its body."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.agents.lines import limit_lines, read_lines
from runner.agents.yaml12 import NotOneMapping, Unparsable, load_mapping
from runner.errors import AgentFileInvalid

MAX_BYTES = 1_000_000
BLANK = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)*")


class NoFrontMatter(Exception):
    """The file does not start with `---`: it is no agent and does not pretend to be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """What a file says. `fields` has camelCase keys at every depth.

    `repeated` are the keys that are there twice, `fallback` tells that the line parser was used,
    `body` is trimmed.
    """

    fields: Mapping[str, Any]
    repeated: tuple[str, ...]
    body: str
    fallback: bool
    warnings: tuple[str, ...]


def read_front_matter(data: bytes, file: str, *, strict: bool = False) -> FrontMatter:
    """Read an agent or command file.

    `strict` refuses what is not YAML instead of falling back to the line parser.
    Raises: NoFrontMatter, AgentFileInvalid.
    """
    text, warnings = _decode(data, file)
    head, body = _split(text, file)
    fallback = False
    try:
        fields, repeated = load_mapping(head)
        fields = limit_lines(head) | fields
    except NotOneMapping as error:
        raise AgentFileInvalid(file, str(error)) from error
    except Unparsable as error:
        if strict:
            raise AgentFileInvalid(file, f"not YAML ({error})") from error
        fallback = True
        fields, repeated = read_lines(head)
        warnings += (f"not YAML ({error}); read line by line instead",)
    return FrontMatter(
        fields=fields, repeated=repeated, body=body, fallback=fallback, warnings=warnings
    )


def _decode(data: bytes, file: str) -> tuple[str, tuple[str, ...]]:
    if len(data) > MAX_BYTES:
        raise AgentFileInvalid(file, f"larger than {MAX_BYTES:,} bytes")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise AgentFileInvalid(file, "saved as UTF-16; save it as UTF-8")
    text = data.decode("utf-8-sig", "replace")
    warnings: tuple[str, ...] = ()
    if "\ufffd" in text and text.encode().count(b"\xef\xbf\xbd") != data.count(b"\xef\xbf\xbd"):
        warnings = ("some bytes are not UTF-8 and were replaced; save it as UTF-8",)
    return text.replace("\r\n", "\n").replace("\r", "\n"), warnings


def _split(text: str, file: str) -> tuple[str, str]:
    """(front matter with tabs as two spaces, trimmed body)."""
    text = _without_comments(text)
    text = _BLANK_LINES.sub("", text, count=1)
    if not text.startswith("---"):
        raise NoFrontMatter
    end = text.find("\n---", 3)
    if end < 0:
        raise AgentFileInvalid(
            file, "the front matter is not closed: no later line starts with ---"
        )
    return text[4:end].replace("\t", "  "), text[end + 4 :].strip(BLANK)


def _without_comments(text: str) -> str:
    """`text` without `<!-- ... -->`; one that is never closed stays."""
    parts = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts.append(text[at:start])
        at = end + 3
    return "".join([*parts, text[at:]])
