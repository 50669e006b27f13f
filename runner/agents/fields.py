"""The fields of an agent file, read one by one: what each means, and why it cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from runner.agents.limit_keys import meant_limit, nested_limits, plain
from runner.agents.lines import Unreadable
from runner.core.tool_names import LOOP_TOOLS, canonical
from runner.errors import AgentFileInvalid

WORKTREE = "worktree"
THINKING_LEVELS = ("inherit", "off", "minimal", "low", "medium", "high", "xhigh")
KNOWN_KEYS = frozenset(
    "name description tools spawns model thinkingLevel thinking output blocking "
    "disallowedTools maxTurns max_turns isolation permissionMode kind".split()
)
# Keys of other tools that mean nothing here and are no mistake.
FOREIGN_KEYS = frozenset(
    "argumentHint author background category color developerInstructions effort hooks icon "
    "initialPrompt license mcpServers mcp_servers memory metadata skills tags temperature "
    "timeoutMins timeout_mins title version".split()
)
# Those of Claude Code; all but `plan` are about questions to a person, and nobody is asked here.
_PERMISSION_MODES = frozenset(
    ["", "plan", "default", "manual", "acceptedits", "auto", "dontask", "bypasspermissions"]
)
_MAX_TURNS = ("maxTurns", "max_turns")  # the second one is that of Gemini CLI
# What stands below these is not about the tools of the agent.
_OWN_KEYS_BELOW = frozenset({"output", "hooks", "mcpServers", "mcp_servers"})
_MOST_REASONS = 5
_NO_ISOLATION = frozenset({"", "none", "false"})
_QUOTE = "put it in quotes if it is meant as text"
_MEANT = {"allowedtools": "tools"} | {key.lower(): key for key in KNOWN_KEYS}


@dataclass(slots=True)
class Fields:
    """The fields of one file. `lines` are those of its keys; `warnings` says what was dropped.

    `written` are keys as the file spells them, where that differs; `lost_limits` are reasons why
    no task can use the agent.

    Every method may raise AgentFileInvalid, with the reason why the file is skipped.
    """

    fields: Mapping[str, Any]
    lines: Mapping[str, int]
    file: str
    written: Mapping[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    lost_limits: list[str] = field(default_factory=list)

    def has(self, key: str) -> bool:
        return key in self.fields

    def unknown(self) -> tuple[str, ...]:
        """The keys that mean nothing to us; one that is nearly a known one is warned about."""
        unknown = self._unknown()
        for key in unknown:
            meant = _MEANT.get(key.lower().replace("_", ""))
            if meant and not meant_limit(key, self.fields[key]):
                self._warn(key, f"unknown key {key!r} was ignored; did you mean {meant!r}?")
        return unknown

    def foreign(self) -> tuple[str, ...]:
        """The keys of other tools, as they are written, that are known to mean nothing here."""
        return tuple(self.written.get(key, key) for key in self.fields if key in FOREIGN_KEYS)

    def _unknown(self) -> tuple[str, ...]:
        return tuple(key for key in self.fields if key not in KNOWN_KEYS | FOREIGN_KEYS)

    def unusable(self) -> str | None:
        """Why no task can use the agent; to be asked when all fields were read."""
        reasons = [*self.lost_limits, *self._mistaken_keys(), *self._nested_limits()]
        reasons = list(dict.fromkeys(reasons))
        if len(reasons) > _MOST_REASONS:
            reasons[_MOST_REASONS:] = [f"and {len(reasons) - _MOST_REASONS} more like these"]
        return "; ".join(reasons) or None

    def _mistaken_keys(self) -> Iterator[str]:
        for key in self._unknown():
            if meant := meant_limit(key, self.fields[key]):
                name = self.written.get(key, key)[:60]
                yield self._at(key, f"`{name}` limits nothing here; did you mean {meant}?")

    def _nested_limits(self) -> Iterator[str]:
        """Limits below another key, if the file has no such limit where it is read."""
        known = {plain(key) for key in self.fields}
        for key, value in self.fields.items():
            if key in _OWN_KEYS_BELOW:
                continue
            for name in nested_limits(value):
                if plain(name) not in known:
                    yield self._at(
                        key,
                        f"`{name}` below `{key[:60]}` limits nothing here; "
                        "write it at the start of a line of its own",
                    )

    def text(self, key: str) -> str:
        """A text that must be there."""
        value = self.fields.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if key not in self.fields or isinstance(value, str):
            raise self._invalid(key, f"`{key}` is missing or empty")
        if value is None:
            raise self._invalid(
                key, f"`{key}` is missing: nothing, ~ and null are no text; {_QUOTE}"
            )
        hint = "" if isinstance(value, (dict, list)) else f"; {_QUOTE}"
        raise self._invalid(key, f"`{key}` is {_kind(value)}, not text{hint}")

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
            key,
            f"`{key}` is {_kind(value)}: write a comma list or a list of names; "
            "the file is skipped so that it does not lose its limits",
        )

    def disallowed_tools(self) -> tuple[str, ...]:
        items = self._limit("disallowedTools")
        if items is None and self.has("disallowedTools"):
            self._warn("disallowedTools", "`disallowedTools` is empty, so it forbids nothing")
        names = tuple(text for item in items or () if (text := item.strip()))
        for name in names:
            if canonical(name) in LOOP_TOOLS:
                self._warn("disallowedTools", f"{name} cannot be taken away: it ends the work")
        return names

    def tools(self) -> tuple[str, ...] | None:
        """The items as they are written; None is every tool."""
        items = self._limit("tools")
        if items is None:
            if self.has("tools"):
                self._warn("tools", "`tools` is empty, which means every tool; write [] for none")
            return None
        return None if _is_star(items) else tuple(items)

    def spawns(self, *, has_task: bool) -> tuple[str, ...] | Literal["*"] | None:
        """`has_task` tells that the list of tools has `task`."""
        if not self.has("spawns"):
            return "*" if has_task else None
        if self.fields["spawns"] == {}:
            return None
        items = self._limit("spawns") or []
        names = tuple(name for item in items if (name := item.strip()))
        return "*" if _is_star(items) else names or None

    def model(self) -> tuple[str, ...] | None:
        value = self.fields.get("model")
        if isinstance(value, str):
            value = value.split(",")
        if isinstance(value, list):
            texts = (item.strip() for item in value if isinstance(item, str))
            return tuple(text for text in texts if text) or None
        if value:
            self._drop("model", "write a name, a comma list or a list of names")
        return None

    def thinking_level(self) -> str | None:
        for key in ("thinkingLevel", "thinking"):
            value = self.fields.get(key)
            if value in THINKING_LEVELS:
                return str(value)
            if value is not None:
                self._drop(key, f"it is one of {', '.join(THINKING_LEVELS)}")
                return None
        return None

    def output(self) -> Any:
        value = self.fields.get("output")
        if isinstance(value, Unreadable):
            self._drop("output", "the schema cannot be read because the front matter is not YAML")
            return None
        return value

    def blocking(self) -> bool | None:
        value = self.fields.get("blocking")
        if isinstance(value, str):
            value = {"true": True, "false": False}.get(value.strip().lower(), value or None)
        if value is None or isinstance(value, bool):
            return value
        self._drop("blocking", "it is true or false")
        return None

    def max_turns(self) -> int | None:
        key, *others = [key for key in _MAX_TURNS if self.has(key)] or _MAX_TURNS[:1]
        if others:
            raise self._invalid(
                key, f"`{key}` and `{others[0]}` mean the same: it cannot be told which counts"
            )
        value = self.fields.get(key)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        if value is not None:
            self._drop(key, "it is a number above zero")
        return None

    def refuse_remote(self) -> None:
        """Raises: AgentFileInvalid, if the agent is one that works somewhere else."""
        kind = self.fields.get("kind")
        if isinstance(kind, str) and kind.strip().lower() == "remote":
            raise self._invalid(
                "kind", "`kind` is remote: an agent that works on another machine has no use here"
            )

    def isolation(self) -> str | None:
        """Whatever does not say no asks for it: it must not be lost because of its wording."""
        value = self.fields.get("isolation")
        word = "" if value is None else _shown(value).strip().lower()
        if word in _NO_ISOLATION:
            return None
        if word != WORKTREE:
            self._warn(
                "isolation",
                f"`isolation` is {word!r}, which is not known here: write {WORKTREE} or none",
            )
        return word

    def plan_mode(self) -> bool:
        """Whether the agent only plans: a limit, so the word must be readable."""
        value = self.fields.get("permissionMode")
        if value is not None and not isinstance(value, str):
            raise self._invalid("permissionMode", f"`permissionMode` is {_kind(value)}: write plan")
        word = (value or "").strip().lower()
        if word not in _PERMISSION_MODES:
            if "plan" in word:
                raise self._invalid(
                    "permissionMode",
                    f"`permissionMode` is {word[:60]!r}: write plan if that is meant; "
                    "the file is skipped so that it does not lose its limits",
                )
            # it may well allow less than everything
            self.lost_limits.append(
                self._at(
                    "permissionMode",
                    f"`permissionMode` is {word[:60]!r}, which is not known here: write plan, or "
                    "default",
                )
            )
        return word == "plan"

    def _drop(self, key: str, expected: str) -> None:
        shown = _shown(self.fields[key])
        self._warn(key, f"`{key}` was ignored, found {shown!r}: {expected}")

    def _warn(self, key: str, text: str) -> None:
        self.warnings.append(self._at(key, text))

    def _at(self, key: str, text: str) -> str:
        line = self.lines.get(key)
        return text if line is None else f"line {line}: {text}"

    def _invalid(self, key: str, reason: str) -> AgentFileInvalid:
        return AgentFileInvalid(self.file, reason, line=self.lines.get(key))


def _shown(value: Any) -> str:
    return str(value.text if isinstance(value, Unreadable) else value)[:60]


def _is_star(items: list[str]) -> bool:
    return [text for item in items if (text := item.strip())] == ["*"]


def _kind(value: Any) -> str:
    if isinstance(value, Unreadable):
        return f"not readable ({value.text[:60]!r})"
    names = {dict: "a mapping", list: "a list with lists or mappings in it", bool: "a boolean"}
    return names.get(type(value), "a number")
