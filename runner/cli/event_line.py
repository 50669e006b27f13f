"""One event of a journal as one line for people: time, who, what, task, facts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from runner.cli.moments import clock_time
from runner.cli.output import cut, one_line
from runner.team.message import CONTROL

Event = Mapping[str, Any]
_HEAD = frozenset({"ts", "event", "run", "teammate", "subagent", "task", "attempt"})
# what only programs need: ids, and where a process is; the state in `--json`
_UNTOLD = frozenset({"claim", "request", "message", "id", "pid", "host", "source", "file"})
_SUBJECT_LENGTH = 120


def is_for_people(event: Event) -> bool:
    """Whether the event says something that the lines around it do not."""
    name = one_line(event.get("event"))
    if name == "request.decided":  # decided at once; one that is dropped has a reason
        return bool(event.get("reason"))
    if name in {"message.sent", "message.delivered"}:
        return one_line(event.get("type")) not in CONTROL
    return name != "teammate.working"  # said by the claim


def event_line(event: Event, subjects: Mapping[Any, str] | None = None) -> str:
    """`12:00:01 alice    claimed           3    Write the parser`.

    `subjects` by task id: the subject is told where the event itself says no more.
    """
    who = _who(event)
    what = one_line(event.get("event"))
    group, _, verb = what.partition(".")
    shown = verb if group in {"task", "teammate"} else f"{group} {verb}"
    task = one_line(event.get("task"))
    facts = _facts(event, _subject(event, subjects or {}))
    return f"{clock_time(event)} {who:<8} {shown.replace('_', ' '):<17} {task:<4} {facts}".rstrip()


def _who(event: Event) -> str:
    """The teammate; `alice/1-2` for its subagent of that id."""
    parts = (one_line(event.get(key)) for key in ("teammate", "subagent"))
    return "/".join(part for part in parts if part) or "-"


def _subject(event: Event, subjects: Mapping[Any, str]) -> str:
    own, task = event.get("subject"), event.get("task")
    if not isinstance(own, str):
        own = subjects.get(task, "") if isinstance(task, (int, str)) else ""
    return cut(own, _SUBJECT_LENGTH)


def _facts(event: Event, subject: str) -> str:
    """The reason or the error, else the subject, else whatever the event carries."""
    attempt = event.get("attempt")
    again = f"(attempt {attempt})" if isinstance(attempt, int) and attempt > 1 else ""
    if event.get("event") == "board.problem":
        problem = event.get("problem")
        about = problem if isinstance(problem, dict) else event
        return one_line(f"{about.get('file')}: {about.get('message')}")
    told = [text for key in ("reason", "error") if (text := _sentence(event.get(key)))]
    if event.get("event") == "task.stale" and event.get("dead_run"):
        who = event.get("teammate")
        told = [one_line(f"run {event['dead_run']} died while {who} worked on it")]
    if told and "retryAt" in event:
        told.append(f"(again from {clock_time(event, 'retryAt')} on)")
    if not told and subject:
        told = [one_line(subject)]
    elif not told:
        told = list(_words(event))
    return " ".join([*told, again]).strip()


def _sentence(value: object) -> str:
    return one_line(value) if isinstance(value, str) else ""


def _words(facts: Event) -> Iterator[str]:
    """`key=value` for what says something: no empty values, no zeros but the exit code."""
    for key, value in facts.items():
        if key in _HEAD or key in _UNTOLD:
            continue
        if isinstance(value, dict):
            yield from _words(value)
        elif value is True:
            yield one_line(key.replace("_", " "))
        elif value or (key == "exit" and value == 0):
            yield one_line(f"{key}={_value(value)}")


def _value(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(_value, value))
    if isinstance(value, str) and value and " " not in value:
        return value
    return json.dumps(value, ensure_ascii=False, default=str)
