"""`runner events`: what happened on this board, from all its journals."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from runner.cli import here, output
from runner.core.clock import SystemClock, from_iso
from runner.core.events import events_in, merged
from runner.core.layout import Layout

Event = dict[str, Any]
_LOOK_S = 0.3
_HEAD = frozenset({"ts", "event", "run", "teammate", "task", "attempt"})


@click.command("events")
@click.option("-f", "--follow", is_flag=True, help="Go on printing what happens, until stopped.")
@here.as_json
@click.pass_context
def command(context: click.Context, follow: bool, as_json: bool) -> int:
    """Print what happened: the events of all runs and commands.

    They come in order of time. With --follow and --json together, each event is one line of JSON.
    """
    layout = here.layout(context)
    if follow:
        return _follow(layout, as_json=as_json)
    lines = merged(journals(layout))
    if as_json:
        output.print_json(lines)
        return 0
    for line in lines:
        output.say(event_line(line))
    return 0


def journals(layout: Layout) -> list[Path]:
    """The journal files of this board: every run's, and that of the commands."""
    return [*sorted(layout.runs.glob("*.jsonl")), layout.cli_journal]


def _follow(layout: Layout, *, as_json: bool) -> int:
    import anyio

    async def watch() -> None:
        tails: dict[Path, Tail] = {}
        while True:
            fresh: list[Event] = []
            for path in journals(layout):
                fresh += tails.setdefault(path, Tail(path)).new_events()
            for line in sorted(fresh, key=lambda event: str(event.get("ts", ""))):
                output.say(output.json_text(line) if as_json else event_line(line))
            await SystemClock().sleep(_LOOK_S)

    with contextlib.suppress(KeyboardInterrupt):  # the usual end, so without a word
        anyio.run(watch)
    return 130


class Tail:
    """The whole lines of a growing `.jsonl` file, each given once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def new_events(self) -> Iterator[Event]:
        """What was appended since the last call; a line without its end waits for the next one."""
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._offset)
                data = stream.read()
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        yield from events_in(whole)


def event_line(event: Event, subjects: Mapping[Any, str] | None = None) -> str:
    """`12:00:01 alice  claimed   3 Write the parser`: time, who, what, task, facts.

    `subjects` by task id: the subject is told where the event itself says no more.
    """
    who = output.one_line(event.get("teammate")) or "-"
    what = output.one_line(event.get("event"))
    group, _, verb = what.partition(".")
    shown = verb if group in {"task", "teammate"} else f"{group} {verb}"
    task = output.one_line(event.get("task"))
    facts = _facts(event, _subject(event, subjects or {}))
    line = (
        f"{_local_time(event.get('ts'))} {who:<8} {shown.replace('_', ' '):<15} {task:<4} {facts}"
    )
    return line.rstrip()


def _subject(event: Event, subjects: Mapping[Any, str]) -> str:
    task = event.get("task")
    return subjects.get(task, "") if isinstance(task, (int, str)) else ""


def _facts(event: Event, subject: str) -> str:
    """The reason or the error, else the subject, else whatever the event carries."""
    attempt = event.get("attempt")
    again = f"(attempt {attempt})" if isinstance(attempt, int) and attempt > 1 else ""
    rest = {key: value for key, value in event.items() if key not in _HEAD and value is not None}
    if isinstance(rest.get("problem"), dict):
        rest = {"reason": f"{rest['problem'].get('file')}: {rest['problem'].get('message')}"}
    told = [output.one_line(rest[key]) for key in ("reason", "error") if rest.get(key)]
    if not told and subject:
        told = [output.one_line(subject)]
    elif not told:
        told = [f"{key}={output.one_line(value)}" for key, value in rest.items()]
    return " ".join([*told, again]).strip()


def _local_time(ts: object) -> str:
    try:
        return from_iso(str(ts)).astimezone().strftime("%H:%M:%S")
    except (ValueError, OverflowError):
        return "--:--:--"
