"""`runner agents`: which agent files count, what they say, and why others do not."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

import click

from runner.agents.discovery import Discovery, discover_agents, get_agent, read_agent_file
from runner.agents.effective import EffectiveAgent
from runner.agents.merging import shadows
from runner.cli import here, output
from runner.cli.agent_files import NAME_LENGTH, checked, has_problem, parsed_object, print_checked
from runner.cli.agent_setting import AgentSetting
from runner.cli.agent_use import obstacle, skipped_text
from runner.cli.agent_view import agent_object, print_agent, tools_here
from runner.cli.tables import print_table
from runner.errors import UnknownAgent

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
    hidden = shadows(discovery.files)
    if as_json:
        output.print_json(
            [{**agent.to_json(), "shadows": hidden[agent.name]} for agent in discovery.agents]
        )
        return
    output.warn(discovery.warnings)
    _print_list(discovery, _setting(context))
    for agent in discovery.agents:
        if hidden[agent.name]:
            files = ", ".join(hidden[agent.name])
            output.say(output.one_line(f"{agent.name}: {agent.file} shadows {files}"))


@command.command()
@click.argument("name", metavar="NAME", help="The exact name of the agent.")
@here.as_json
@click.pass_context
def show(context: click.Context, name: str, as_json: bool) -> None:
    """Show what one agent is by its file, and what it may do here."""
    discovery = _discover(context)
    try:
        agent = get_agent(discovery, name)
    except UnknownAgent:
        if skipped := discovery.skipped_as(name):
            output.warn([skipped_text(skipped)])
        raise
    found = next(file for file in discovery.files if file.parsed.definition is agent)
    setting = _setting(context)
    if as_json:
        output.print_json(agent_object(found, discovery, setting))
    else:
        print_agent(found, discovery, setting)


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
    parsed = ((path, read_agent_file(base / path, "project")) for path in _paths(files))
    if as_json:
        output.print_json([parsed_object(path, agent) for path, agent in parsed])
        return
    for path, agent in parsed:
        name = agent.definition.name if agent.definition else None
        verdict = f"agent {name!r}" if name else f"no agent: {agent.reason}"
        output.say(output.one_line(f"{path}: {verdict}"))
        if agent.definition and agent.definition.unusable:
            output.say(f"  no task can use it: {output.one_line(agent.definition.unusable)}")
        for warning in agent.warnings:
            output.say(f"  warning: {output.one_line(warning)}")


@command.command()
@here.as_json
@click.pass_context
def check(context: click.Context, as_json: bool) -> int:
    """Say which files are used, shadowed or skipped, and why.

    Exit 1 if a file with front matter had to be skipped, a registry of plugins cannot be read, or
    no task can use an agent that counts, whatever thinks.
    """
    discovery = _discover(context)
    report = checked(discovery, _setting(context))
    if as_json:
        output.print_json(report)
    else:
        print_checked(report)
    return int(has_problem(report))


def _discover(context: click.Context) -> Discovery:
    return discover_agents(here.directory(context))


def _setting(context: click.Context) -> AgentSetting:
    """The settings that count here. What is wrong with them is told."""
    setting = AgentSetting(here.directory(context))
    if setting.problem:
        output.warn([setting.problem])
    return setting


def _print_list(discovery: Discovery, setting: AgentSetting) -> None:
    plugins = {id(found.parsed.definition): found.plugin for found in discovery.files}
    rows = []
    for agent in discovery.agents:
        plugin = plugins[id(agent)]
        effective = setting.effective(agent)
        rows.append(
            (
                f"{output.cut(agent.name, NAME_LENGTH)}{_mark(effective, setting)}",
                f"{agent.source}, {plugin}" if plugin else agent.source,
                tools_here(effective),
                agent.description,
            )
        )
    columns = ("name", "source", "tools", "description")
    print_table(columns, rows, spare=("source",), long=("description", "tools"))


def _mark(agent: EffectiveAgent, setting: AgentSetting) -> str:
    if setting.is_disabled(agent.name):
        return " (disabled)"
    return " (cannot work)" if obstacle(agent) else ""


def _paths(files: Sequence[str]) -> Iterator[str]:
    """The named paths; a `-` stands for those on standard input, empty lines left out."""
    for file in files:
        if file != "-":
            yield file
        elif sys.stdin is not None:  # None: closed by whoever started us
            for line in sys.stdin.buffer:
                if path := os.fsdecode(line.rstrip(b"\r\n")):
                    yield path
