"""Codex agents: TOML files with the instructions in a key instead of below a front matter."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from runner.agents.definition import AgentDefinition, ParsedAgent, Source, read_agent
from runner.agents.fields import KNOWN_KEYS
from runner.agents.frontmatter import BLANK, FrontMatter, decode, names_in
from runner.agents.parsed import Parsed
from runner.core.tool_names import NOT_BUILT, READ_ONLY, canonical
from runner.errors import AgentFileInvalid

_INSTRUCTIONS, _EFFORT = "developer_instructions", "model_reasoning_effort"
_EFFORTS = {
    "none": "off",
    **{word: word for word in ("minimal", "low", "medium", "high", "xhigh")},
}
# The two ways to say what an agent may change: the value that allows nothing, and those that
# allow at least the workspace, which every agent with all tools may change here.
_READ_ONLY = {"sandbox_mode": "read-only", "default_permissions": ":read-only"}
_WRITING = {
    "sandbox_mode": ("workspace-write", "danger-full-access"),
    "default_permissions": (":workspace", ":danger-full-access"),
}
# Settings of Codex that mean nothing here and are no mistake.
_FOREIGN = frozenset(
    "approval_policy approvals_reviewer apps background_terminal_max_timeout compact_prompt "
    "disable_response_storage file_opener hide_agent_reasoning history hooks instructions "
    "mcp_servers model_auto_compact_token_limit model_catalog_json model_context_window "
    "model_instructions_file model_max_output_tokens model_provider model_providers "
    "model_reasoning_summary model_supports_reasoning_summaries model_verbosity "
    "nickname_candidates notify oss_provider otel personality plan_mode_reasoning_effort plugins "
    "profile profiles project_doc_max_bytes projects review_model sandbox_workspace_write "
    "service_tier shell_environment_policy show_raw_agent_reasoning skills "
    "tool_output_token_limit tui web_search".split()
)
# Those that are tables with settings of the whole program, and limits if they are anything else.
_FOREIGN_TABLES = frozenset("agents features permissions tools".split())
_SEPARATOR = re.compile(r"[_-]([a-z])")
_KEY_LINE = re.compile(r"[ \t]*([A-Za-z0-9_-]+)[ \t]*=")
_AT_LINE = re.compile(r" \(at line (\d+), column \d+\)\Z")


def parse_codex_agent(data: bytes, file: str, source: Source) -> ParsedAgent:
    """Read the bytes of a Codex agent file. Never raises.

    The keys of our own agent files are understood as well, in every spelling.
    """
    try:
        text, warnings = decode(data, file)
        values = _load(text, file)
        limited = _is_read_only(values, file)
        front = _front_matter(values, text, file, warnings)
    except AgentFileInvalid as error:
        names = names_in(data)
        return Parsed(file=file, reason=error.reason, line=error.line, names=names)
    foreign = tuple(key for key in values if _is_foreign(key, values[key]))
    parsed = read_agent(front, file, source)
    parsed = replace(parsed, foreign_keys=(*parsed.foreign_keys, *foreign))
    if limited and parsed.definition is not None:
        return replace(parsed, definition=_only_reading(parsed.definition))
    return parsed


def _load(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise AgentFileInvalid(file, "not TOML: nested too deep") from error
    except ValueError as error:  # also a number with more digits than Python converts
        what = str(error)
        match = _AT_LINE.search(what)
        line = int(match[1]) if match else None
        raise AgentFileInvalid(file, f"not TOML: {_AT_LINE.sub('', what)}", line=line) from error


def _is_read_only(values: Mapping[str, Any], file: str) -> bool:
    """Whether the file allows no change. Raises: AgentFileInvalid, if that cannot be made out."""
    limited = False
    for key, word in _READ_ONLY.items():
        value = values.get(key)
        if value == word:
            limited = True
        elif key in values and value not in _WRITING[key]:
            known = ", ".join((word, *_WRITING[key]))
            raise AgentFileInvalid(
                file,
                f"`{key}` is {str(value)[:60]!r}, of which only {known} are known here; "
                "the file is skipped so that it does not lose its limits",
            )
    return limited


def _front_matter(
    values: Mapping[str, Any], text: str, file: str, warnings: tuple[str, ...]
) -> FrontMatter:
    """The file as if it were one with front matter. Raises: AgentFileInvalid."""
    body = values.get(_INSTRUCTIONS, "")
    if not isinstance(body, str):
        raise AgentFileInvalid(file, f"`{_INSTRUCTIONS}` is not text")
    fields: dict[str, Any] = {}
    repeated = []
    for key, value in values.items():
        if key in _READ_ONLY or key in (_INSTRUCTIONS, _EFFORT) or _is_foreign(key, value):
            continue
        known = _SEPARATOR.sub(lambda match: match[1].upper(), key)
        name = known if known in KNOWN_KEYS else key
        if name in fields:
            repeated.append(name)
        fields[name] = _plain(value)
    effort = values.get(_EFFORT)
    if isinstance(effort, str) and effort in _EFFORTS:
        fields.setdefault("thinkingLevel", _EFFORTS[effort])
    elif effort is not None:
        words = ", ".join(_EFFORTS)
        warnings += (f"`{_EFFORT}` was ignored, found {str(effort)[:60]!r}: it is one of {words}",)
    return FrontMatter(
        fields=fields,
        lines=_lines(text),
        repeated=tuple(repeated),
        body=body.strip(BLANK),
        fallback=False,
        warnings=warnings,
        lost_limits=tuple(_lost_switches(values)),
    )


def _is_foreign(key: str, value: Any) -> bool:
    return key in _FOREIGN or (key in _FOREIGN_TABLES and isinstance(value, dict))


def _lost_switches(values: Mapping[str, Any]) -> Iterator[str]:
    """Reasons why the tables with switches of Codex may say more than is read here."""
    tools, features = values.get("tools"), values.get("features")
    for name in tools if isinstance(tools, dict) else ():
        if canonical(name) not in NOT_BUILT and not name.startswith("web_search"):
            yield (
                f"`{name[:60]}` in the table `tools` limits nothing here; "
                "did you mean a list `tools` or `disallowedTools`?"
            )
    if isinstance(features, dict) and features.get("shell_tool") is False:
        yield '`shell_tool` limits nothing here; did you mean `disallowedTools = ["bash"]`?'


def _plain(value: Any) -> Any:
    """`value` with only what JSON can hold; dates and numbers that it cannot become text."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float) else str(value)


def _lines(text: str) -> dict[str, int]:
    """The line, from 1, of each key that one line only can be that of."""
    lines: dict[str, list[int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if match := _KEY_LINE.match(line):
            lines.setdefault(match[1], []).append(number)
    return {key: numbers[0] for key, numbers in lines.items() if len(numbers) == 1}


def _only_reading(agent: AgentDefinition) -> AgentDefinition:
    """The agent with an explicit list: our tools that change nothing, as far as it has them."""
    rules = agent.tool_rules
    if rules is None:
        kept: tuple[str, ...] = READ_ONLY
    else:
        kept = tuple(rule.written for rule in rules if rule.name in READ_ONLY)
    return agent.with_tools(kept)
