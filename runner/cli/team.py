"""`runner team`: who is at work, and messages of the lead to them."""

from __future__ import annotations

import os
from typing import Any

import click

from runner.cli import boards, here, output
from runner.cli.moments import local_time
from runner.cli.tables import print_table
from runner.core.clock import SystemClock
from runner.core.files import locked
from runner.core.ids import LEAD
from runner.core.layout import Layout
from runner.core.settings import load_settings
from runner.errors import UsageError
from runner.team.mailbox import Mailbox, check_recipient, post
from runner.team.requests import ask_to_stop, pending
from runner.team.roster_files import live_members, live_rosters

command = click.Group("team", no_args_is_help=False, help="See who is at work, and write to them.")


@command.command()
@here.as_json
@click.pass_context
def status(context: click.Context, as_json: bool) -> None:
    """Show the teammates of all runs that are alive."""
    layout = here.layout(context)
    rosters = live_rosters(layout)
    members = [
        {key: member.get(key) for key in ("name", "role", "agent", "status", "task")}
        | {"run": roster["run"], "team": roster.get("team")}
        for roster in rosters
        for member in roster["members"]
    ]
    for member in members:
        if member["status"] != "shutdown" and _is_asked_to_stop(layout, member):
            member["status"] = "stopping"
    if as_json:
        keys = ("run", "team", "started", "pid", "host", "workspace")
        runs = [{key: roster.get(key) for key in keys} for roster in rosters]
        output.print_json({"runs": runs, "members": members})
    elif members:
        for roster in rosters:
            output.say(_run_line(roster))
        columns = ("name", "role", "agent", "status", "task", "run")
        print_table(columns, [[member[name] for name in columns] for member in members])
    else:
        output.say("no run is at work on this board")


def _run_line(roster: dict[str, Any]) -> str:
    begun = local_time({"ts": roster.get("started")})
    since = f"since {begun:%Y-%m-%d %H:%M:%S}, " if begun else ""
    where = f"process {roster.get('pid')}, works in {roster.get('workspace')}"
    return output.one_line(f"{roster['run']} of team {roster.get('team')}: {since}{where}")


def _is_asked_to_stop(layout: Layout, member: dict[str, Any]) -> bool:
    asked = pending(layout, to=str(member["name"]), run=str(member["run"]))
    return any(request.type == "shutdown" for request in asked)


@command.command()
@click.argument("name", metavar="NAME", help="Who gets it.")
@click.argument("text", metavar="TEXT", help="The message.")
@here.as_json
@click.pass_context
def send(context: click.Context, name: str, text: str, as_json: bool) -> None:
    """Write to a teammate, as the lead.

    A configured teammate reads it when it next works.
    """
    layout = here.layout(context)
    if not text.strip():
        raise UsageError("TEXT: found nothing but blanks, expected a message")
    clock, members = SystemClock(), _members(layout)
    check_recipient(name, members)
    layout.ensure_team()
    with locked(layout.lock_file):
        message = post(layout, to=name, sender=LEAD, content=text, members=members, clock=clock)
        boards.journal(layout).emit("message.sent", sender=LEAD, to=name, id=message.id)
    if as_json:
        output.print_json({"to": name, **message.to_json()})
    else:
        output.say(f"sent to {name}")


def _members(layout: Layout) -> list[str]:
    """Everybody who is a member here, at work or not: of live runs, and of the next one."""
    settings = load_settings(layout, os.environ, {})
    names = (*live_members(layout), *(one.name for one in settings.members))
    return list(dict.fromkeys(names))


@command.command()
@click.argument("name", metavar="[NAME]", default=LEAD, help="Whose; default: yours, the lead's.")
@here.as_json
@click.pass_context
def inbox(context: click.Context, name: str, as_json: bool) -> None:
    """Show unread messages; looking takes nothing away."""
    messages = Mailbox(here.layout(context), name).peek()
    if as_json:
        output.print_json([message.to_json() for message in messages])
        return
    for message in messages:
        kind = "" if message.type == "message" else f" ({message.type})"
        line = f"{message.timestamp} {message.sender}{kind}: {message.content}"
        output.say(output.one_line(line))
    if not messages:
        output.say(f"no unread messages for {name}")


@command.command()
@click.argument("name", metavar="[NAME]", required=False, help="Who; default: everybody at work.")
@here.as_json
@click.pass_context
def stop(context: click.Context, name: str | None, as_json: bool) -> None:
    """Ask teammates to shut down after their present task."""
    layout = here.layout(context)
    runs: dict[str, Any] = {
        str(member["name"]): roster["run"]
        for roster in live_rosters(layout)
        for member in roster["members"]
        if member.get("status") != "shutdown"
    }
    if name is not None and name not in runs:  # who is at work is known without team.yaml
        check_recipient(name, _members(layout))
    layout.ensure_team()
    asked = []
    with locked(layout.lock_file):
        for member in runs if name is None else runs.keys() & {name}:
            request = ask_to_stop(
                layout,
                member,
                sender=LEAD,
                run=runs[member],
                members=list(runs),
                clock=SystemClock(),
                journal=boards.journal(layout),
            )
            asked.append({"name": member, "run": runs[member], "request": request.id})
    if as_json:
        output.print_json(asked)
        return
    for one in asked:
        output.say(f"asked {one['name']} of run {one['run']} to shut down")
    if not asked:
        nobody = "no run is at work on this board" if name is None else f"{name} is not at work"
        output.say(nobody)
