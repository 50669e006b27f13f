"""`runner commands`: the workflow commands that count here."""

from __future__ import annotations

from typing import Any

import click

from runner.agents.command_file import WorkflowCommand
from runner.agents.commands import Commands, discover_commands, get_command
from runner.agents.merging import shadows
from runner.cli import here, output
from runner.cli.agent_use import skipped_text
from runner.cli.tables import print_table
from runner.errors import RunnerError, UnknownCommand

command = click.Group(
    "commands",
    no_args_is_help=False,
    help="Workflow commands: texts that become tasks.",
)


@command.command("list")
@here.as_json
@click.pass_context
def list_commands(context: click.Context, as_json: bool) -> None:
    """List the commands that count here.

    They come in order of precedence, bundled ones last.
    """
    found = discover_commands(here.directory(context))
    output.warn(found.warnings)
    if as_json:
        hidden = shadows(found.files)
        output.print_json(
            [{**one.to_json(), "shadows": hidden[one.name]} for one in found.commands]
        )
        return
    print_table(
        ("name", "source", "agent", "input", "description"),
        [
            (one.name, one.source, one.agent, _input_text(one.to_json()), one.description)
            for one in found.commands
        ],
        spare=("source", "agent", "input"),
    )
    for file in found.files:
        if file.state == "no agent":  # there is no `check` for commands that would tell it
            output.note(output.one_line(f"{file.parsed.file}: {file.parsed.reason}"))


@command.command()
@click.argument("name", metavar="NAME", help="The exact name of the command.")
@here.as_json
@click.pass_context
def show(context: click.Context, name: str, as_json: bool) -> None:
    """Show one command with its file and its text."""
    found = discover_commands(here.directory(context))
    try:
        one = named_command(found, name)
    except UnknownCommand as error:  # 1 as for every other `show`: the call itself is right
        raise RunnerError(str(error)) from error
    parsed = next(file.parsed for file in found.files if file.parsed.definition is one)
    facts = {**one.to_json(), "shadows": shadows(found.files)[name]}
    if as_json:
        further = {
            "fallback": parsed.fallback,
            "unknownKeys": list(parsed.unknown_keys),
            "warnings": list(parsed.warnings),
            "instructions": one.instructions,
        }
        output.print_json({**facts, **further})
        return
    _print_facts(facts, parsed.unknown_keys)
    output.warn(parsed.warnings)
    output.say()
    output.say_text(one.instructions)


def named_command(found: Commands, name: str) -> WorkflowCommand:
    """The command of exactly this name; why a file of that name was skipped is told.

    Raises: UnknownCommand.
    """
    try:
        return get_command(found, name)
    except UnknownCommand:
        output.warn(skipped_text(file) for file in found.files if file.parsed.is_meant_as(name))
        raise


def _print_facts(facts: dict[str, Any], unknown_keys: tuple[str, ...]) -> None:
    named = {
        **{key: facts[key] for key in ("name", "description", "source", "file", "agent")},
        "input": _input_text(facts),
        "shadows": ", ".join(facts["shadows"]),
        "unknown keys": ", ".join(unknown_keys),
    }
    for key, value in named.items():
        if value:
            output.say(f"{key}: {output.one_line(value)}")


def _input_text(facts: dict[str, Any]) -> str:
    """What to hand in, in the command's own words; `none` if it has no place for it."""
    return str(facts["argumentHint"] or "text") if facts["takesInput"] else "none"
