"""`runner agents`: which agent files count, what they say, and why others do not."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner.agents.definition import AgentDefinition, ParsedAgent
from runner.agents.discovery import (
    Discovery,
    FoundFile,
    discover_agents,
    get_agent,
    read_agent_file,
)
from runner.agents.effective import EffectiveAgent, effective_agent
from runner.cli import here, output
from runner.cli.tables import print_table
from runner.core.layout import find_layout
from runner.core.settings import Limits
from runner.core.tool_names import missing
from runner.errors import BoardNotFound, ConfigError, ModelUnavailable

if TYPE_CHECKING:
    from runner.work.models import Models

_EMPTY = AgentDefinition(name="", description="", system_prompt="", source="project", file="")


command = click.Group(
    "agents", no_args_is_help=False, help="Agent files: those that count, and why others do not."
)


@command.command("list")
@here.as_json
@click.pass_context
def list_agents(context: click.Context, as_json: bool) -> None:
    """List the agents that count here.

    They come in order of precedence, bundled ones last.
    """
    discovery = _discover(context)
    shadows = _shadows(discovery)
    if as_json:
        output.print_json(
            [{**agent.to_json(), "shadows": shadows[agent.name]} for agent in discovery.agents]
        )
        return
    _print_warnings(discovery)
    print_table(
        ("name", "source", "tools", "description"),
        [
            (agent.name, agent.source, _tools_text(agent), agent.description)
            for agent in discovery.agents
        ],
        spare=("source", "tools"),
    )


@command.command()
@click.argument("name", metavar="NAME", help="The exact name of the agent.")
@here.as_json
@click.pass_context
def show(context: click.Context, name: str, as_json: bool) -> None:
    """Show one agent with its file, settings and prompt."""
    discovery = _discover(context)
    agent = get_agent(discovery, name)
    found = next(file for file in discovery.files if file.parsed.definition is agent)
    shadows = _shadows(discovery)[name]
    settings = {**agent.to_json(), **_further(agent), "shadows": shadows}
    if as_json:
        warnings = list(found.parsed.warnings)
        output.print_json({**settings, "warnings": warnings, "body": agent.system_prompt})
        return
    if agent.tools is not None:
        settings["tools"] = [_marked(tool) for tool in agent.tools]
    for key, value in settings.items():
        if value not in (None, [], False):
            output.say(f"{key}: {output.one_line(_value_text(value))}")
    for warning in found.parsed.warnings:
        output.note(f"warning: {output.one_line(warning)}")
    output.say()
    for line in agent.system_prompt.split("\n"):
        output.say(output.spaced_line(line))


@command.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, help="Files, or -.")
@here.as_json
@click.pass_context
def parse(context: click.Context, files: tuple[str, ...], as_json: bool) -> None:
    """Read files, wherever they lie, and say what each defines.

    With - the paths are read from standard input, one a line. Exit 0 also when a file is no agent:
    its `valid` and `reason` tell.
    """
    base = here.directory(context)
    parsed = [(path, read_agent_file(base / path, "project")) for path in _paths(files)]
    if as_json:
        output.print_json([_parse_object(path, agent) for path, agent in parsed])
        return
    for path, agent in parsed:
        name = agent.definition.name if agent.definition else None
        verdict = f"agent {name!r}" if name else f"no agent: {agent.reason}"
        output.say(output.one_line(f"{path}: {verdict}"))
        for warning in agent.warnings:
            output.say(f"  warning: {output.one_line(warning)}")


@command.command()
@here.as_json
@click.pass_context
def check(context: click.Context, as_json: bool) -> int:
    """Say which files are used, shadowed or skipped, and why.

    Exit 1 if a file with front matter had to be skipped, or an agent that counts can use none of
    the tools it lists.
    """
    discovery = _discover(context)
    models = _models(here.directory(context))
    checked = [_check_object(found, models) for found in discovery.files]
    if as_json:
        output.print_json({"files": checked})
    else:
        for item in checked:
            _print_checked(item)
    return int(any(item["problem"] for item in checked))


def _discover(context: click.Context) -> Discovery:
    return discover_agents(here.directory(context))


def _print_warnings(discovery: Discovery) -> None:
    for warning in discovery.warnings:
        output.note(f"warning: {output.one_line(warning)}")


def _shadows(discovery: Discovery) -> dict[str, list[str]]:
    """For each agent that counts, the files whose agents of the same name do not."""
    shadows: dict[str, list[str]] = {name: [] for name in discovery.names}
    for found in discovery.shadowed:
        if found.parsed.definition is not None:
            shadows[found.parsed.definition.name].append(found.parsed.file)
    return shadows


def _further(agent: AgentDefinition) -> dict[str, Any]:
    return {
        "disallowedTools": list(agent.disallowed_tools),
        "maxTurns": agent.max_turns,
        "isolation": agent.isolation,
        "permissionMode": "plan" if agent.plan_mode else None,
    }


def _tools_text(agent: AgentDefinition) -> str:
    return "all" if agent.tools is None else ", ".join(map(_marked, agent.tools))


def _marked(tool: str) -> str:
    """The name as the file says it, with the reason beside it if there is no such tool."""
    why = missing(tool)
    return tool if why is None else f"{tool} ({why})"


def _value_text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _paths(files: Sequence[str]) -> Iterator[str]:
    """The named paths; a `-` stands for those on standard input, empty lines left out."""
    for file in files:
        if file != "-":
            yield file
            continue
        for line in sys.stdin.buffer:
            if path := os.fsdecode(line.rstrip(b"\r\n")):
                yield path


def _parse_object(path: str, parsed: ParsedAgent) -> dict[str, Any]:
    """The object of `agents parse`: that of `list`, with `output` only if the file has it."""
    agent = parsed.definition
    fields = agent.to_json() if agent else dict.fromkeys(_EMPTY.to_json())
    if agent is None or not agent.has_output:
        del fields["output"]
    return {
        **fields,
        "source": None,
        "file": parsed.file,
        "shadows": None,
        "path": path,
        "valid": agent is not None,
        "fallback": parsed.fallback,
        "reason": parsed.reason,
        "body": parsed.body,
    }


def _models(folder: Path) -> Models | None:
    """The models that agents can name here; None where no board or no readable settings are."""
    from runner.core.settings import load_settings
    from runner.work.models import Models

    try:
        layout = find_layout(folder)
        settings = load_settings(layout, os.environ, {})
    except BoardNotFound:
        return None
    except ConfigError as error:
        output.note(f"warning: models are not checked: {error}")
        return None
    return Models(settings, base_dir=layout.root)


def _model_warnings(agent: AgentDefinition, models: Models) -> list[str]:
    """Why none of the models that the agent names can be used, if so, and what thinks instead."""
    if not agent.model:
        return []
    try:
        choice = models.choose(agent.model)
    except ModelUnavailable as error:
        return [str(error)]
    return [f"model: {choice.reason}"] if choice.substitute else []


def _effective(agent: AgentDefinition) -> EffectiveAgent:
    return effective_agent(agent, max_depth=Limits().max_recursion_depth)


def _check_object(found: FoundFile, models: Models | None) -> dict[str, Any]:
    parsed = found.parsed
    used = parsed.definition if found.state == "used" else None
    effective = _effective(parsed.definition) if parsed.definition else None
    unusable = effective.unusable if effective and used else None
    return {
        "file": parsed.file,
        "source": found.source,
        "state": found.state,
        "name": parsed.definition.name if parsed.definition else None,
        "shadowedBy": found.shadowed_by,
        "reason": parsed.reason or unusable,
        "fallback": parsed.fallback,
        "unknownKeys": list(parsed.unknown_keys),
        "warnings": [
            *parsed.warnings,
            *(effective.warnings if effective else ()),
            *(_model_warnings(used, models) if used and models else ()),
        ],
        "problem": found.state == "skipped" or unusable is not None,
    }


def _print_checked(item: dict[str, Any]) -> None:
    notes = [
        item["reason"],
        item["shadowedBy"] and f"shadowed by {item['shadowedBy']}",
        item["unknownKeys"] and f"unknown keys: {', '.join(item['unknownKeys'])}",
        *item["warnings"],
    ]
    name = item["name"] or "-"
    output.say(output.spaced_line(f"{item['state']:<9} {name:<16} {item['file']}"))
    for note in notes:
        if note:
            output.say(f"          {output.one_line(note)}")
