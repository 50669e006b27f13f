"""What the file of a workflow command holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from runner.agents.definition import Source
from runner.agents.frontmatter import (
    FrontMatter,
    NoFrontMatter,
    read_front_matter,
    refuse_repeated,
)
from runner.agents.limit_keys import meant_limit
from runner.agents.parsed import Parsed
from runner.agents.places import MARKDOWN
from runner.core.ids import ONE_LINE, is_one_line
from runner.errors import AgentFileInvalid

INPUT = "$@"
"""What stands for the input in the text of a command."""

KNOWN_KEYS = ("description", "agent", "argumentHint")
# What other tools let a command say beside its limits; here that is said by an agent.
_OF_AGENTS = ("tools", "disallowedTools", "model")
# What other tools put in place of a word of the text, and what is to be said of it here.
_OF_OTHERS = {
    re.compile(r"\$(?:ARGUMENTS|[1-9])\b|\{\{ *args *\}\}"): f"the input goes where {INPUT} stands",
    re.compile(r"!`[^`\n]+`|!\{[^}\n]+\}"): "no command is run before the agent reads the text",
    re.compile(r"(?<![\w$`@/])@(?:\{[^}\n]+\}|[\w~./-]*[./][\w-]+)"): "no file is put in its place",
}
_MARK = "\ufeff".encode()
_NO_FIELDS = b"---\n---\n"
_DESCRIPTION_LENGTH = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowCommand:
    """A text that becomes a task, with `$@` where the input goes.

    `agent` is the agent that does it, None for that of whoever claims the task. `argument_hint`
    tells people what to hand in. `file` is where it was read.
    """

    name: str
    description: str
    instructions: str
    source: Source
    file: str
    agent: str | None = None
    argument_hint: str | None = None

    @property
    def takes_input(self) -> bool:
        return INPUT in self.instructions

    def to_json(self) -> dict[str, Any]:
        """The object of `commands list --json`, without `shadows`; an absent field is null."""
        return {
            "name": self.name,
            "description": self.description,
            "source": self.source,
            "file": self.file,
            "agent": self.agent,
            "argumentHint": self.argument_hint,
            "takesInput": self.takes_input,
        }


# for annotations only: Python 3.11 cannot call such an alias of a frozen class
ParsedCommand = Parsed[WorkflowCommand]


def expand_command(command: WorkflowCommand, text: str) -> str:
    """The instructions with `text` for every `$@`, as it stands."""
    return command.instructions.replace(INPUT, text)


def parse_command(data: bytes, file: str, source: Source) -> ParsedCommand:
    """Read the bytes of a command file; front matter is optional. Never raises."""
    try:
        front = _read(data, file, strict=source == "bundled")
    except AgentFileInvalid as error:
        return Parsed(file=file, reason=error.reason, line=error.line)
    unknown = tuple(key for key in front.fields if key not in KNOWN_KEYS)
    try:
        definition = _definition(front, file, source)
    except AgentFileInvalid as error:
        return Parsed(
            file=file,
            reason=error.reason,
            line=error.line,
            fallback=front.fallback,
            unknown_keys=unknown,
        )
    return Parsed(
        file=file,
        definition=definition,
        fallback=front.fallback,
        warnings=(*front.warnings, *_warnings(front)),
        unknown_keys=unknown,
    )


def _read(data: bytes, file: str, *, strict: bool) -> FrontMatter:
    try:
        return read_front_matter(data, file, strict=strict)
    except NoFrontMatter:
        # read as one with empty front matter, so that its text is treated like every other
        return read_front_matter(_NO_FIELDS + data.removeprefix(_MARK), file)


def _definition(front: FrontMatter, file: str, source: Source) -> WorkflowCommand:
    """Raises: AgentFileInvalid."""
    refuse_repeated(front, KNOWN_KEYS, file)
    name = PurePath(file).name.removesuffix(MARKDOWN)
    if not is_one_line(name):
        raise AgentFileInvalid(
            file, f"the name of the file is that of the command: expected {ONE_LINE} before .md"
        )
    if not front.body:
        raise AgentFileInvalid(file, "there is no text in it, so nothing to do")
    return WorkflowCommand(
        name=name,
        description=_text(front.fields, "description") or _first_line(front.body),
        instructions=front.body,
        source=source,
        file=file,
        agent=_agent(front, file),
        argument_hint=_hint(front.fields.get("argumentHint")),
    )


def _agent(front: FrontMatter, file: str) -> str | None:
    """Who does it must not be lost because of its wording. Raises: AgentFileInvalid."""
    value = front.fields.get("agent")
    if value is None or value == "":
        return None
    if not is_one_line(value):
        raise AgentFileInvalid(
            file,
            f"`agent` is {str(value)[:60]!r}: expected the name of an agent (quote a number)",
            line=front.lines.get("agent"),
        )
    return str(value).strip()


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    return "" if value is None or isinstance(value, (dict, list)) else str(value).strip()


def _hint(value: Any) -> str | None:
    """What the file says in its own form: `[path]` is a list for YAML, and meant as text."""
    if isinstance(value, list):
        value = f"[{', '.join(map(str, value))}]"
    return None if value is None else str(value).strip() or None


def _first_line(text: str) -> str:
    """What a command without description is about: its first line, without heading marks."""
    lines = (line.strip("# ") for line in text.splitlines())
    first = next((line for line in lines if line), "")
    return first if len(first) <= _DESCRIPTION_LENGTH else f"{first[: _DESCRIPTION_LENGTH - 3]}..."


def _warnings(front: FrontMatter) -> Iterator[str]:
    if isinstance(front.fields.get("description"), (dict, list)):
        yield "`description` was ignored: expected text; the first line of the text is shown"
    for key, value in front.fields.items():
        if key in _OF_AGENTS or (key not in KNOWN_KEYS and meant_limit(key, value)):
            yield (
                f"`{front.written.get(key, key)[:60]}` was ignored: a command has the tools and "
                "the model of its agent; name one with `agent`"
            )
    for pattern, advice in _OF_OTHERS.items():
        if other := pattern.search(front.body):
            yield f"{other[0][:60]} stays as it is: {advice}"
