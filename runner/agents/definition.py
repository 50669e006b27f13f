"""What an agent file defines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from runner.agents.fields import KNOWN_KEYS, Fields
from runner.agents.frontmatter import (
    FrontMatter,
    NoFrontMatter,
    names_in,
    read_front_matter,
    refuse_repeated,
)
from runner.agents.parsed import Parsed
from runner.agents.rules import ToolRule, means_all, read_rules, rules_of_limit
from runner.errors import AgentFileInvalid, BundledAgentBroken

Source = Literal["bundled", "user", "project"]

SUBMIT = "submit_result"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """An agent as its file defines it.

    `tools` None is every tool; otherwise lower-cased items, `submit_result` among them;
    `written_tools` are the same in their own case, since agents may be named in parentheses.
    `spawns` None is nobody, `*` everybody; `has_spawns` tells `spawns: []` from no such key.
    `model` is a list of patterns, tried in order. `output` is an opaque schema (JSON Schema or
    JTD), present only if `has_output`. `isolation` is the word for a workspace of its own
    (`worktree`), None for the shared one. `file` is where it was read. `unusable` says why no task
    can use the agent: its file has a limit that is not read here, with the lines and what to do.
    """

    name: str
    description: str
    system_prompt: str
    source: Source
    file: str
    tools: tuple[str, ...] | None = None
    written_tools: tuple[str, ...] | None = None
    spawns: tuple[str, ...] | Literal["*"] | None = None
    has_spawns: bool = False
    model: tuple[str, ...] | None = None
    thinking_level: str | None = None
    output: Any = None
    has_output: bool = False
    blocking: bool | None = None
    disallowed_tools: tuple[str, ...] = ()
    max_turns: int | None = None
    isolation: str | None = None
    plan_mode: bool = False
    unusable: str | None = None

    @property
    def tool_rules(self) -> tuple[ToolRule, ...] | None:
        """The entries of `tools`, with parts in parentheses put together; None is every tool."""
        items = self.tools if self.written_tools is None else self.written_tools
        rules = () if items is None else read_rules(items)
        return None if items is None or means_all(rules) else rules

    @property
    def disallowed_rules(self) -> tuple[ToolRule, ...]:
        """The entries of `disallowedTools`."""
        return rules_of_limit(self.disallowed_tools)

    def with_tools(self, written: tuple[str, ...]) -> AgentDefinition:
        """The same agent with an explicit list of tools, as it would be written in a file."""
        tools = _with_submit(item.lower() for item in written)
        spawns = self.spawns if self.has_spawns else None
        return replace(self, tools=tools, written_tools=written, spawns=spawns)

    def to_json(self) -> dict[str, Any]:
        """The object of `agents list --json`, without `shadows`; an absent field is null."""
        return {
            "name": self.name,
            "description": self.description,
            "source": self.source,
            "file": self.file,
            "tools": None if self.tools is None else list(self.tools),
            "spawns": list(self.spawns) if isinstance(self.spawns, tuple) else self.spawns,
            "model": None if self.model is None else list(self.model),
            "thinkingLevel": self.thinking_level,
            "output": self.output,
            "blocking": self.blocking,
        }


# for annotations only: Python 3.11 cannot call such an alias of a frozen class
ParsedAgent = Parsed[AgentDefinition]


def parse_agent(data: bytes, file: str, source: Source) -> ParsedAgent:
    """Read the bytes of an agent file. Never raises for a user's or project's file.

    Raises: BundledAgentBroken, when a file that we ship is no agent.
    """
    bundled = source == "bundled"
    parsed: ParsedAgent
    try:
        front = read_front_matter(data, file, strict=bundled)
    except NoFrontMatter:
        reason = "no front matter: the file does not start with ---"
        parsed = Parsed(file=file, reason=reason, has_front_matter=False)
    except AgentFileInvalid as error:
        names = names_in(data)
        parsed = Parsed(file=file, reason=error.reason, line=error.line, names=names)
    else:
        parsed = read_agent(front, file, source)
    if bundled and parsed.definition is None:
        raise BundledAgentBroken(file, parsed.reason or "no agent")
    return parsed


def read_agent(front: FrontMatter, file: str, source: Source) -> ParsedAgent:
    """What the fields and the body of a file define."""
    fields = Fields(
        front.fields,
        front.lines,
        file,
        written=front.written,
        warnings=list(front.warnings),
        lost_limits=list(front.lost_limits),
    )
    definition, reason, line = None, None, None
    try:
        refuse_repeated(front, KNOWN_KEYS, file)
        definition = _definition(fields, front.body, source)
    except AgentFileInvalid as error:
        reason, line = error.reason, error.line
    unknown, name = fields.unknown(), front.fields.get("name")
    return Parsed(
        file=file,
        definition=definition,
        reason=reason,
        line=line,
        fallback=front.fallback,
        warnings=tuple(fields.warnings),
        unknown_keys=unknown,
        foreign_keys=fields.foreign(),
        names=(name,) if definition is None and isinstance(name, str) else (),
        body=front.body,
    )


def _definition(fields: Fields, body: str, source: Source) -> AgentDefinition:
    """Raises: AgentFileInvalid."""
    fields.refuse_remote()
    name, description = fields.text("name"), fields.text("description")
    written, disallowed = fields.tools(), fields.disallowed_tools()
    if "*" in disallowed:
        written = ()
    tools = None if written is None else _with_submit(item.lower() for item in written)
    spawns = fields.spawns(has_task=tools is not None and "task" in tools)
    plan_mode = fields.plan_mode()
    if not body:
        fields.warnings.append("the system prompt is empty: the file has no text for it")
    return AgentDefinition(
        name=name,
        description=description,
        system_prompt=body,
        source=source,
        file=fields.file,
        tools=tools,
        written_tools=written,
        spawns=spawns,
        has_spawns=fields.has("spawns"),
        model=fields.model(),
        thinking_level=fields.thinking_level(),
        output=fields.output(),
        has_output=fields.has("output"),
        blocking=fields.blocking(),
        disallowed_tools=disallowed,
        max_turns=fields.max_turns(),
        isolation=fields.isolation(),
        plan_mode=plan_mode,
        unusable=fields.unusable(),
    )


def _with_submit(items: Iterable[str]) -> tuple[str, ...]:
    tools = tuple(items)
    return tools if SUBMIT in tools else (*tools, SUBMIT)
