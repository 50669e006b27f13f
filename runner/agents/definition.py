"""What an agent file defines, and how its fields become that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from runner.agents.frontmatter import FrontMatter, NoFrontMatter, read_front_matter
from runner.agents.lines import Unreadable
from runner.agents.rules import ToolRule, read_rules
from runner.errors import AgentFileInvalid, BundledAgentBroken

Source = Literal["bundled", "user", "project"]

SUBMIT = "submit_result"
WORKTREE = "worktree"
THINKING_LEVELS = ("inherit", "off", "minimal", "low", "medium", "high", "xhigh")
KNOWN_KEYS = frozenset(
    "name description tools spawns model thinkingLevel thinking output blocking "
    "disallowedTools maxTurns isolation permissionMode".split()
)
# Keys of other tools that mean nothing here and are no mistake.
FOREIGN_KEYS = frozenset(
    "argumentHint author background category color developerInstructions effort hooks icon "
    "initialPrompt license mcpServers memory metadata skills tags temperature title version".split()
)
_NO_ISOLATION = frozenset({"", "none", "false"})
_QUOTE = "put it in quotes if it is meant as text"
_LOWER_CASE_OF_KNOWN = {key.lower(): key for key in KNOWN_KEYS}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """An agent as its file defines it.

    `tools` None is every tool; otherwise lower-cased items, `submit_result` among them;
    `written_tools` are the same in their own case, since agents may be named in parentheses.
    `spawns` None is nobody, `*` everybody; `has_spawns` tells `spawns: []` from no such key.
    `model` is a list of patterns, tried in order. `output` is an opaque schema (JSON Schema or
    JTD), present only if `has_output`. `isolation` is the word for a workspace of its own
    (`worktree`), None for the shared one. `file` is where it was read.
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

    @property
    def tool_rules(self) -> tuple[ToolRule, ...] | None:
        """The entries of `tools`, with parts in parentheses put together; None is every tool."""
        items = self.tools if self.written_tools is None else self.written_tools
        return None if items is None else read_rules(items)

    @property
    def disallowed_rules(self) -> tuple[ToolRule, ...]:
        """The entries of `disallowedTools`."""
        return read_rules(self.disallowed_tools)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAgent:
    """One file that was looked at.

    Either `definition` or `reason` (why it is no agent) is there. `has_front_matter` is False for
    a file that does not pretend to be an agent. `fallback` tells that the line parser was used.
    `line` is the line of the file that `reason` is about, from 1. `warnings` do not name the file.
    `unknown_keys` are top-level keys that mean nothing to us.
    """

    file: str
    definition: AgentDefinition | None = None
    reason: str | None = None
    line: int | None = None
    has_front_matter: bool = True
    fallback: bool = False
    warnings: tuple[str, ...] = ()
    unknown_keys: tuple[str, ...] = ()
    body: str | None = None


def parse_agent(data: bytes, file: str, source: Source) -> ParsedAgent:
    """Read the bytes of an agent file. Never raises for a user's or project's file.

    Raises: BundledAgentBroken, when a file that we ship is no agent.
    """
    bundled = source == "bundled"
    try:
        front = read_front_matter(data, file, strict=bundled)
    except NoFrontMatter:
        reason = "no front matter: the file does not start with ---"
        parsed = ParsedAgent(file=file, reason=reason, has_front_matter=False)
    except AgentFileInvalid as error:
        parsed = ParsedAgent(file=file, reason=error.reason)
    else:
        parsed = _from_front_matter(front, file, source)
    if bundled and parsed.definition is None:
        raise BundledAgentBroken(file, parsed.reason or "no agent")
    return parsed


def _from_front_matter(front: FrontMatter, file: str, source: Source) -> ParsedAgent:
    reader = _Fields(front.fields, file, list(front.warnings))
    definition, reason = None, None
    try:
        reader.refuse_repeated(front.repeated)
        definition = reader.definition(front.body, source)
    except AgentFileInvalid as error:
        reason = error.reason
    unknown = [key for key in front.fields if key not in KNOWN_KEYS | FOREIGN_KEYS]
    for key in unknown:
        if meant := _LOWER_CASE_OF_KNOWN.get(key.lower()):
            reader.warnings.append(f"unknown key {key!r} was ignored; did you mean {meant!r}?")
    return ParsedAgent(
        file=file,
        definition=definition,
        reason=reason,
        fallback=front.fallback,
        warnings=tuple(reader.warnings),
        unknown_keys=tuple(unknown),
        body=front.body,
    )


@dataclass(slots=True)
class _Fields:
    """The fields of one file, read one by one; `warnings` says what was dropped."""

    fields: Mapping[str, Any]
    file: str
    warnings: list[str] = field(default_factory=list)

    def refuse_repeated(self, repeated: tuple[str, ...]) -> None:
        doubled = [key for key in repeated if key in KNOWN_KEYS]
        if doubled:
            what = ", ".join(f"`{key}`" for key in doubled)
            raise self._invalid(f"{what} is there more than once: it cannot be told which is meant")

    def definition(self, body: str, source: Source) -> AgentDefinition:
        name, description = self._required("name"), self._required("description")
        written = self._tools()
        disallowed = tuple(item.strip() for item in self._limit("disallowedTools") or ())
        if "*" in disallowed:
            written = ()
        tools = None if written is None else _with_submit(item.lower() for item in written)
        if not body:
            self.warnings.append(
                "the system prompt is empty: nothing stands below the front matter"
            )
        return AgentDefinition(
            name=name,
            description=description,
            system_prompt=body,
            source=source,
            file=self.file,
            tools=tools,
            written_tools=written,
            spawns=self._spawns(tools),
            has_spawns="spawns" in self.fields,
            model=self._model(),
            thinking_level=self._thinking_level(),
            output=self._output(),
            has_output="output" in self.fields,
            blocking=self._blocking(),
            disallowed_tools=tuple(item for item in disallowed if item),
            max_turns=self._max_turns(),
            isolation=self._isolation(),
            plan_mode=self.fields.get("permissionMode") == "plan",
        )

    def _invalid(self, reason: str) -> AgentFileInvalid:
        return AgentFileInvalid(self.file, reason)

    def _required(self, key: str) -> str:
        value = self.fields.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if key not in self.fields or isinstance(value, str):
            raise self._invalid(f"`{key}` is missing or empty")
        if value is None:
            raise self._invalid(f"`{key}` is missing: nothing, ~ and null are no text; {_QUOTE}")
        hint = "" if isinstance(value, (dict, list)) else f"; {_QUOTE}"
        raise self._invalid(f"`{key}` is {_kind(value)}, not text{hint}")

    def _limit(self, key: str) -> list[str] | None:
        """The items of a comma list or list as they are written; None if the value is empty."""
        value = self.fields.get(key)
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        if isinstance(value, str):
            return [item for part in value.split(",") if (item := part.strip())]
        if isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value):
            return [item for item in value if isinstance(item, str)]
        raise self._invalid(
            f"`{key}` is {_kind(value)}: write a comma list or a list of names; "
            "the file is skipped so that it does not lose its limits"
        )

    def _tools(self) -> tuple[str, ...] | None:
        """The items as they are written; None is every tool."""
        items = self._limit("tools")
        if items is None:
            if "tools" in self.fields:
                self.warnings.append("`tools` is empty, which means every tool; write [] for none")
            return None
        return None if _is_star(items) else tuple(items)

    def _spawns(self, tools: tuple[str, ...] | None) -> tuple[str, ...] | Literal["*"] | None:
        if "spawns" not in self.fields:
            return "*" if tools is not None and "task" in tools else None
        if self.fields["spawns"] == {}:
            return None
        items = self._limit("spawns") or []
        names = tuple(name for item in items if (name := item.strip()))
        return "*" if _is_star(items) else names or None

    def _model(self) -> tuple[str, ...] | None:
        value = self.fields.get("model")
        if isinstance(value, str):
            value = value.split(",")
        if isinstance(value, list):
            texts = (item.strip() for item in value if isinstance(item, str))
            return tuple(text for text in texts if text) or None
        if value:
            self._drop("model", "write a name, a comma list or a list of names")
        return None

    def _thinking_level(self) -> str | None:
        for key in ("thinkingLevel", "thinking"):
            value = self.fields.get(key)
            if value in THINKING_LEVELS:
                return str(value)
            if value is not None:
                self._drop(key, f"it is one of {', '.join(THINKING_LEVELS)}")
                return None
        return None

    def _output(self) -> Any:
        value = self.fields.get("output")
        if isinstance(value, Unreadable):
            self._drop("output", "the schema cannot be read because the front matter is not YAML")
            return None
        return value

    def _blocking(self) -> bool | None:
        value = self.fields.get("blocking")
        if isinstance(value, str):
            value = {"true": True, "false": False}.get(value.strip().lower(), value or None)
        if value is None or isinstance(value, bool):
            return value
        self._drop("blocking", "it is true or false")
        return None

    def _max_turns(self) -> int | None:
        value = self.fields.get("maxTurns")
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        if value is not None:
            self._drop("maxTurns", "it is a number above zero")
        return None

    def _isolation(self) -> str | None:
        """Whatever does not say no asks for it: it must not be lost because of its wording."""
        value = self.fields.get("isolation")
        word = "" if value is None else _shown(value).strip().lower()
        if word in _NO_ISOLATION:
            return None
        if word != WORKTREE:
            self.warnings.append(
                f"`isolation` is {word!r}, which is not known here: write {WORKTREE} or none"
            )
        return word

    def _drop(self, key: str, expected: str) -> None:
        shown = _shown(self.fields[key])
        self.warnings.append(f"`{key}` was ignored, found {shown!r}: {expected}")


def _shown(value: Any) -> str:
    return str(value.text if isinstance(value, Unreadable) else value)[:60]


def _with_submit(items: Iterable[str]) -> tuple[str, ...]:
    tools = tuple(items)
    return tools if SUBMIT in tools else (*tools, SUBMIT)


def _is_star(items: list[str]) -> bool:
    return [text for item in items if (text := item.strip())] == ["*"]


def _kind(value: Any) -> str:
    if isinstance(value, Unreadable):
        return f"not readable ({value.text[:60]!r})"
    names = {dict: "a mapping", list: "a list with lists or mappings in it", bool: "a boolean"}
    return names.get(type(value), "a number")
