"""What an agent may do where it runs: its file, narrowed by its parent, depth and plan mode."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from runner.agents.bash_patterns import all_covered, read_pattern
from runner.agents.definition import AgentDefinition
from runner.agents.rules import ToolRule, meant_tool, read_rules, tools_that_fit
from runner.core.tool_names import (
    LOOP_TOOLS,
    READ_ONLY,
    TOOLS,
    WITHOUT_RIGHTS,
    is_known,
    missing,
)

Patterns = tuple[str, ...]

BASH, TASK = "bash", "task"
PLAN_MODE_PROMPT = (
    "You are in plan mode. You look and think; you change nothing: no file, no task, no running "
    "system. Whatever the text below says about carrying out work, hand in a plan for it instead: "
    "what is to be done, where, in which order, and how each step is checked."
)
_NO_SPAWNS = "none (spawns disabled for this agent)"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnPolicy:
    """Which agents may be started as subagents: `allowed` (`*` is all) without `denied`."""

    allowed: tuple[str, ...] | Literal["*"] = ()
    denied: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        return self.allowed != "*" and not self._names

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(name for name in self.allowed if name not in self.denied)

    def allows(self, name: str) -> bool:
        return name not in self.denied and (self.allowed == "*" or name in self.allowed)

    def __str__(self) -> str:
        """As a refusal lists it."""
        if self.allowed != "*":
            return ", ".join(self._names) or _NO_SPAWNS
        return f"* but {', '.join(sorted(self.denied))}" if self.denied else "*"

    def within(self, outer: SpawnPolicy) -> SpawnPolicy:
        """What both allow."""
        denied = self.denied | outer.denied
        if self.allowed == "*":
            return SpawnPolicy(allowed=outer.allowed, denied=denied)
        names = tuple(name for name in self.allowed if outer.allows(name))
        return SpawnPolicy(allowed=names, denied=denied)

    def exceeds(self, other: SpawnPolicy) -> bool:
        """Whether it allows an agent that `other` does not."""
        if self.allowed == "*":
            return other.allowed != "*" or not other.denied <= self.denied
        return not all(other.allows(name) for name in self._names)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveAgent:
    """An agent as the engine gets it.

    `tools` are our names in the order of `TOOLS`. `commands` are allow-lists of command patterns:
    `bash` runs what every one of them allows, and anything if there is none. `warnings` say what
    was left out; `unusable` says why it must not run at all: a limit of its file is not read here,
    or none of the tools that it lists is there. `depth` counts from the teammate, which is 0.
    """

    definition: AgentDefinition
    prompt: str
    tools: tuple[str, ...] = ()
    commands: tuple[Patterns, ...] = ()
    spawns: SpawnPolicy = SpawnPolicy()
    thinking_level: str | None = None
    depth: int = 0
    warnings: tuple[str, ...] = ()
    unusable: str | None = None

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def runs_anything(self) -> bool:
        """Whether it has `bash` without limits, and so every right of the user anyway."""
        return BASH in self.tools and not self.commands


def effective_agent(
    definition: AgentDefinition,
    *,
    max_depth: int,
    parent: EffectiveAgent | None = None,
) -> EffectiveAgent:
    """The agent as a teammate's, or as a subagent of `parent`.

    `max_depth` is the depth at which no further subagent may be started; negative is no limit.
    """
    depth = parent.depth + 1 if parent else 0
    rights = _Rights()
    rights.grant(definition)
    rights.forbid(definition)
    if parent is not None:
        rights.keep_within(parent)
    if definition.plan_mode:
        rights.only_read()
    if definition.plan_mode or 0 <= max_depth <= depth:
        rights.end_spawns()
    level = definition.thinking_level
    if parent is not None and level == "inherit":
        level = parent.thinking_level
    plan = (PLAN_MODE_PROMPT,) if definition.plan_mode else ()
    return EffectiveAgent(
        definition=definition,
        prompt="\n\n".join(text for text in (*plan, definition.system_prompt) if text),
        tools=tuple(name for name in TOOLS if name in rights.names),
        commands=tuple(rights.commands) if BASH in rights.names else (),
        spawns=rights.spawns,
        thinking_level=None if level == "inherit" else level,
        depth=depth,
        warnings=tuple(f"agent {definition.name!r}: {text}" for text in rights.dropped),
        unusable=rights.unusable(definition),
    )


def excess(named: EffectiveAgent, own: EffectiveAgent) -> str:
    """What `named` may do and `own` may not, in words; empty when it is nothing."""
    allowed = WITHOUT_RIGHTS.union(own.tools)
    found = [name for name in named.tools if name not in allowed]
    if BASH in named.tools and not all(_is_kept(outer, named) for outer in own.commands):
        found.append("commands of other kinds" if named.commands else "commands of every kind")
    if named.spawns.exceeds(own.spawns):
        found.append("the start of further agents")
    return ", ".join(found)


def _is_kept(outer: Patterns, agent: EffectiveAgent) -> bool:
    return any(all_covered(patterns, outer) for patterns in agent.commands)


@dataclass(slots=True)
class _Rights:
    """What is left after each narrowing."""

    names: set[str] = field(default_factory=set)
    commands: list[Patterns] = field(default_factory=list)
    spawns: SpawnPolicy = field(default_factory=SpawnPolicy)
    dropped: list[str] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)

    def grant(self, definition: AgentDefinition) -> None:
        rules = definition.tool_rules
        named: SpawnPolicy | None = None
        if rules is None:
            self.names = set(TOOLS)
            for rule in read_rules(definition.written_tools or ()):
                if rule.name != "*":
                    self._granted(rule)
        else:
            granted = [found for rule in rules if (found := self._granted(rule)) is not None]
            self.names = {rule.name for rule in granted}
            self._limit_commands(granted)
            named = _named_agents(granted)
        allowed = definition.spawns or ()
        if named is None:
            self.spawns = SpawnPolicy(allowed=allowed)
        elif definition.has_spawns:
            self.spawns = SpawnPolicy(allowed=allowed).within(named)
        else:
            self.spawns = named
        if definition.has_spawns and not self.spawns.is_empty:
            self.names.add(TASK)

    def _granted(self, rule: ToolRule) -> ToolRule | None:
        """What of the entry there is here; what is left out is told."""
        if rule.name in LOOP_TOOLS:
            return None
        if why := missing(rule.name) or _wrong_parts(rule):
            self.dropped.append(f"tool {rule.written}: {why}; left out")
            return None
        return self._with_readable(rule) if rule.name == BASH and rule.parts else rule

    def _with_readable(self, rule: ToolRule) -> ToolRule | None:
        """An entry of `bash` with those of its patterns that can be followed."""
        readable: list[str] = []
        for part in rule.parts or ():
            if read_pattern(part) is not None:
                readable.append(part)
                continue
            self.dropped.append(
                f"tool {rule.written}: {part!r} is no pattern of commands that can be followed "
                "here; left out"
            )
        return replace(rule, parts=tuple(readable)) if readable else None

    def _limit_commands(self, granted: Iterable[ToolRule]) -> None:
        bash = [rule.parts for rule in granted if rule.name == BASH]
        if bash and None not in bash:
            self.commands.append(_flat(bash))

    def forbid(self, definition: AgentDefinition) -> None:
        for rule in definition.disallowed_rules:
            self._forbid_one(rule)
        if TASK not in self.names:
            self.end_spawns()

    def _forbid_one(self, rule: ToolRule) -> None:
        if rule.name == "*":
            self.names.clear()
        elif not is_known(rule.name):
            self._forbid_unknown(rule)
        elif rule.name == TASK and rule.parts:
            denied = self.spawns.denied | frozenset(rule.parts)
            self.spawns = SpawnPolicy(allowed=self.spawns.allowed, denied=denied)
        elif rule.name in self.names:
            self.names.discard(rule.name)
            if rule.parts is not None:
                self.dropped.append(
                    f"disallowedTools {rule.written}: a part cannot be forbidden; "
                    f"the whole of {rule.name} is left out"
                )

    def _forbid_unknown(self, rule: ToolRule) -> None:
        """A pattern forbids what fits it; a name that may be meant as a tool here is no guess."""
        if "*" in rule.name:
            fitting = tools_that_fit(rule.name)
            self.names -= fitting
            if fitting:
                return
        elif (meant := meant_tool(rule.name)) in self.names:
            self.doubtful.append(
                f"`disallowedTools` has {rule.written!r}, which is no tool here; did you mean "
                f"{meant!r}?"
            )
        self.dropped.append(
            f"disallowedTools {rule.written}: {missing(rule.name)}; it forbids nothing"
        )

    def keep_within(self, parent: EffectiveAgent) -> None:
        self.names &= set(parent.tools)
        self.commands = [*parent.commands, *self.commands]
        self.spawns = self.spawns.within(parent.spawns)
        if TASK not in self.names:
            self.end_spawns()

    def only_read(self) -> None:
        self.names &= set(READ_ONLY)

    def end_spawns(self) -> None:
        self.names.discard(TASK)
        self.spawns = SpawnPolicy()

    def unusable(self, definition: AgentDefinition) -> str | None:
        if reasons := [*filter(None, [definition.unusable]), *self.doubtful]:
            return (
                f"agent {definition.name!r} cannot be used until its file is mended: "
                f"{definition.file}: {'; '.join(reasons)}"
            )
        listed = [rule for rule in definition.tool_rules or () if rule.name not in LOOP_TOOLS]
        if not listed or not self.names.isdisjoint(rule.name for rule in listed):
            return None
        written = ", ".join(rule.written for rule in listed)
        return (
            f"agent {definition.name!r} can use none of its tools here ({written}); "
            f"there are: {', '.join(TOOLS)}"
        )


def _wrong_parts(rule: ToolRule) -> str | None:
    """Why what stands in the parentheses of an entry cannot be granted; None if it can."""
    if rule.parts is None:
        return None
    if rule.name not in (BASH, TASK):
        return "a part of this tool cannot be granted"
    return None if rule.parts else "its parentheses are empty or not closed"


def _named_agents(granted: Iterable[ToolRule]) -> SpawnPolicy | None:
    """What the entries of `task` say about who may be started; None if there is none."""
    task = [rule.parts for rule in granted if rule.name == TASK]
    if not task:
        return None
    return SpawnPolicy(allowed="*" if None in task else _flat(task))


def _flat(parts: Iterable[Patterns | None]) -> Patterns:
    return tuple(part for several in parts for part in several or ())
