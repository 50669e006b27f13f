"""One run from the command line: start the team, show it, stop it on signals, sum it up."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus

from runner.board.snapshot import Snapshot
from runner.board.task import Task
from runner.cli import boards, output
from runner.cli.command_task import CommandCall, Draft, draft, print_draft, put_on_board, refusal
from runner.cli.display import Display, LineDisplay, LiveDisplay
from runner.cli.junit import check_target, write_junit
from runner.cli.plan import failed_before, planned, print_plan
from runner.cli.remarks import remarks
from runner.cli.summary import Subjects, print_summary
from runner.core.ids import Key
from runner.core.layout import Layout
from runner.core.settings import Settings
from runner.errors import NoModel, RunnerError, SaveFailed, UsageError
from runner.team.report import Report
from runner.team.team import Team
from runner.work.admission import Admission
from runner.work.models import Models
from runner.work.run import build_team

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the call asked for beside the settings.

    `call` is a command to put on the board first. `only` None: every task.
    """

    call: CommandCall | None = None
    drain: bool = False
    only: frozenset[Key] | None = None
    take_over: bool = False
    junit: Path | None = None
    as_json: bool = False


def run_board(layout: Layout, settings: Settings, order: Order) -> int:
    """Run a team to its end and print what came of it. Raises: RunnerError."""
    if order.junit is not None:
        check_target(order.junit)
    added: Task | None = None
    if order.call is not None:
        added = _add(order.call, layout, settings, order)
        only = None if order.only is None else order.only | {added.key}
        order = replace(order, only=only)
    return _sum_up(order, added, *anyio.run(_run, layout, settings, order))


def _add(call: CommandCall, layout: Layout, settings: Settings, order: Order) -> Task:
    """Put the command on the board and say so. Raises: RunnerError, and nothing was added."""
    store = boards.store(layout)
    snapshot = store.scan(settle=True)
    _check_known(layout, snapshot, order.only)
    drafted = draft(call, store, snapshot, order.only)
    task = put_on_board(drafted, store, settings, _admission(layout, settings))
    _writer(order)(f"command {call.command.name}: task {task.id} is on the board")
    return task


def _admission(layout: Layout, settings: Settings) -> Admission:
    return Admission(layout, settings, Models(settings, base_dir=layout.root))


def _writer(order: Order) -> Callable[[str], None]:
    """Where the story of a run goes: with JSON, beside the one document."""
    return output.note if order.as_json else output.say


def _sum_up(order: Order, added: Task | None, report: Report, subjects: Subjects) -> int:
    """Write and print what came of the run; its exit code. A report not saved is part of it."""
    data = report.to_json()
    if order.call is not None and added is not None:
        data["command"] = {"name": order.call.command.name, "task": added.id}
    if order.junit is not None:
        try:
            write_junit(order.junit, data, subjects)
        except SaveFailed as error:
            output.note(f"runner: --junit: {error}")
            data["exit"] = data["exit"] or 1
            data["notes"].append(f"--junit: {error}")
    if order.as_json:
        output.print_json(data)
    else:
        print_summary(data, subjects)
    return int(data["exit"])


async def _run(layout: Layout, settings: Settings, order: Order) -> tuple[Report, Subjects]:
    team = build_team(
        layout, settings, drain=order.drain, only=order.only, take_over=order.take_over
    )
    write = _writer(order)
    display = _display(team, write, as_json=order.as_json)
    snapshot = await display.look()
    _check_known(layout, snapshot, order.only)
    _announce(team, write)
    odd = partial(remarks, layout, settings, snapshot, order.only)
    output.warn(await anyio.to_thread.run_sync(odd))
    report: Report | None = None
    failure: RunnerError | OSError | None = None
    async with anyio.create_task_group() as group:
        await group.start(_stop_on_signals, team)
        group.start_soon(display.keep)
        try:
            report = await team.run()
        except (
            RunnerError,
            OSError,
        ) as error:  # carried out of the group as itself, not as a group of one
            failure = error
        group.cancel_scope.cancel()
    await display.end()
    if report is None:
        raise failure or AssertionError("unreachable: a team reports or fails")
    return report, display.subjects


def _display(team: Team, write: Callable[[str], None], *, as_json: bool) -> Display:
    if as_json or not output.is_terminal():
        return LineDisplay(team, write)
    return LiveDisplay(team, output.console())


def _check_known(layout: Layout, snapshot: Snapshot, only: frozenset[Key] | None) -> None:
    missing = sorted((only or frozenset()) - set(snapshot.tasks))
    if missing:
        raise UsageError(f"--only: no task {', '.join(missing)} on {layout.tasks}")


def _announce(team: Team, write: Callable[[str], None]) -> None:
    write(f"board {team.layout.tasks}")
    write(f"works in {team.layout.workspace}")
    named = f" of team {team.settings.team}" if team.settings.team != Settings().team else ""
    write(f"run {team.run_id}{named}, model {team.settings.model or 'none'}")


async def _stop_on_signals(
    team: Team, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """The first signal ends gracefully, the next at once; what was ignored stays ignored."""
    wanted = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    with anyio.open_signal_receiver(*wanted) as signals:
        task_status.started()
        again = False
        async for number in signals:
            grace = f"in at most {team.settings.limits.grace_s:g} s; once more ends at once"
            how = "at once" if again else grace
            output.note(f"runner: {signal.Signals(number).name}: ending {how}")
            team.stop(number)
            again = True


def plan_board(layout: Layout, settings: Settings, order: Order) -> int:
    """Print what this team could do, and claim nothing. Raises: UsageError."""
    if order.junit is not None:
        raise UsageError("--junit: a dry run has no report; leave out one of the two")
    if order.take_over:
        raise UsageError("--take-over: a dry run takes nothing over; leave out one of the two")
    store = boards.store(layout)
    snapshot, only = store.scan(settle=True), order.only
    _check_known(layout, snapshot, only)
    drafted = None if order.call is None else draft(order.call, store, snapshot, only)
    if drafted is not None:
        snapshot, only = drafted.snapshot, drafted.only
    admission = _admission(layout, settings)
    output.warn(remarks(layout, settings, snapshot, only))
    entries = planned(snapshot, settings, admission, only)
    failed = failed_before(snapshot, only)
    stuck = any(entry["outlook"] == "stuck" for entry in entries)
    code = 1 if failed else 3 if stuck else 0
    problem = _why_not_begun(drafted, snapshot, settings, admission, only)
    if problem is not None:  # told after the list, which says what else stands in the way
        code = 2
    if order.as_json:
        told: dict[str, Any] = {} if problem is None else {"error": problem}
        if drafted is not None:
            told["command"] = drafted.to_json()
        output.print_json({"tasks": entries, "exit": code, **told})
    else:
        if drafted is not None:
            print_draft(drafted)
        print_plan(entries, failed, code)
    if problem is not None:
        output.note(f"runner: {problem}")
    return code


def _why_not_begun(
    drafted: Draft | None,
    snapshot: Snapshot,
    settings: Settings,
    admission: Admission,
    only: frozenset[Key] | None,
) -> str | None:
    """Why a run would end before its first claim."""
    try:
        admission.preflight(snapshot, only)
    except NoModel as error:
        return str(error)
    return None if drafted is None else refusal(drafted, settings, admission)
