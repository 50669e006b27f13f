"""`runner events`: what happened on this board, from all its journals."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from runner.cli import boards, here, output
from runner.cli.event_line import event_line, is_for_people
from runner.cli.moments import local_time
from runner.core.clock import SystemClock
from runner.core.events import events_in, merged
from runner.core.ids import Key, key_of
from runner.core.layout import Layout
from runner.errors import UsageError

Event = dict[str, Any]
_LOOK_S = 0.3
_BARE = frozenset({"task.claimed", "task.completed", "task.reported"})  # no facts for people


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which events: those of one run, those about one task; None is all."""

    run: str | None = None
    task: Key | None = None

    def among(self, events: Iterable[Event]) -> list[Event]:
        return [event for event in events if self._has(event)]

    def _has(self, event: Event) -> bool:
        if self.run is not None and event.get("run") != self.run:
            return False
        return self.task is None or key_of(event.get("task")) == self.task


@click.command("events")
@click.option("-f", "--follow", is_flag=True, help="Go on printing what happens, until stopped.")
@click.option("--run", "run_id", metavar="ID", help="Only of this run; `last`: the newest.")
@click.option("--task", "task_id", metavar="ID", help="Only about this task.")
@here.as_json
@click.pass_context
def command(
    context: click.Context, follow: bool, run_id: str | None, task_id: str | None, as_json: bool
) -> int:
    """Print what happened: the events of all runs and commands.

    They come in order of time, in local time. What only programs need is in --json. With --follow
    and --json together, each event is one line of JSON.
    """
    layout = here.layout(context)
    wanted = Wanted(
        run=_run(layout, run_id) if run_id is not None else None,
        task=key_of(task_id) if task_id is not None else None,
    )
    if follow:
        return _follow(layout, wanted, as_json=as_json)
    events = wanted.among(merged(layout.journals()))
    if as_json:
        output.print_json(events)
        return 0
    for line in Printed(subjects(layout)).lines(events):
        output.say(line)
    if not events:
        output.note("no events")
    return 0


def subjects(layout: Layout) -> dict[Any, str]:
    """The subjects of the tasks that are on the board now, by their ids."""
    return {task.id: task.subject for task in boards.store(layout).scan().tasks.values()}


def _run(layout: Layout, name: str) -> str:
    """The id of the run that is meant. Raises: UsageError."""
    started = [
        str(event["run"])
        for event in merged(layout.runs.glob("*.jsonl"))
        if event["event"] == "run.started"
    ]
    if name == "last" and started:
        return started[-1]
    if name not in started:
        known = ", ".join(started[-5:]) or "none"
        raise UsageError(f"--run {name}: no such run on this board; the newest: {known}")
    return name


class Printed:
    """Events as lines, with a line between them where the run or the day changes."""

    def __init__(self, subjects: Mapping[Any, str]) -> None:
        self._subjects = subjects
        self._run: object = None
        self._day = ""

    def lines(self, events: Iterable[Event]) -> Iterator[str]:
        for event in events:
            if is_for_people(event):
                yield from self._heading(event)
                bare = output.one_line(event["event"]) in _BARE
                yield event_line(event, self._subjects if bare else None)

    def _heading(self, event: Event) -> Iterator[str]:
        """`run run-ab12 2026-11-30`; the time zone is told once. Commands belong to no run."""
        moment, run = local_time(event), event.get("run") or self._run
        day = moment.strftime("%Y-%m-%d") if moment else self._day
        if (run, day) == (self._run, self._day):
            return
        zone = f" (times in {moment:%Z})" if moment and not self._day else ""
        self._run, self._day = run, day
        named = f"run {output.one_line(run)} " if run else ""
        yield f"{named}{day}{zone}".rstrip()


def _follow(layout: Layout, wanted: Wanted, *, as_json: bool) -> int:
    """Until it is interrupted, or nobody reads what it prints."""
    import anyio

    async def watch() -> None:
        tails: dict[Path, Tail] = {}
        printed = Printed(subjects(layout))
        while not output.reader_left():
            fresh: list[Event] = []
            for path in layout.journals():  # those of new runs too
                fresh += tails.setdefault(path, Tail(path)).new_events()
            events = wanted.among(sorted(fresh, key=lambda event: str(event.get("ts", ""))))
            for line in map(output.json_text, events) if as_json else printed.lines(events):
                output.say(line)
            await SystemClock().sleep(_LOOK_S)

    try:
        anyio.run(watch)
    except KeyboardInterrupt:  # the usual end, so without a word
        return 130
    return 0


class Tail:
    """The whole lines of a growing `.jsonl` file, each given once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode: int | None = None
        self._offset = 0

    def new_events(self) -> Iterator[Event]:
        """What was appended since the last call; a line without its end waits for the next one.

        A file that was put in the place of the old one, or cut short, is read from its start.
        """
        try:
            with self._path.open("rb") as stream:
                status = os.fstat(stream.fileno())
                if status.st_ino != self._inode or status.st_size < self._offset:
                    self._inode, self._offset = status.st_ino, 0
                stream.seek(self._offset)
                data = stream.read()
        except OSError:  # not there yet, or not any more; a folder has no lines
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        yield from events_in(whole)
