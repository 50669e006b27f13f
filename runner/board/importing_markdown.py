"""The task files of Backlog.md: front matter and a body. Pure.

The mapping, field by field, is in docs/import.md.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from runner.board.importing import Entry, Found
from runner.board.importing_entry import Gathering, Record

_FENCED = re.compile(r"\s*^---[ \t]*\n(.*?\n)?---[ \t]*(?:\n|\Z)", re.MULTILINE | re.DOTALL)
# Backlog.md itself reads names with a bare @, which YAML does not
_BARE_AT = re.compile(r"(?m)(^\s*-\s+|^(?:assignee|reporter):\s*|[\[,]\s*)(@[\w.-]+)")
_MARKERS = re.compile(r"(?m)^[ \t]*<!-- *(?:SECTION:\w+|\w+):(?:BEGIN|END) *-->[ \t]*\n?")


class TaskPage(NamedTuple):
    """One file. `folder` is `tasks`, `completed`, `drafts` or `archive`; `name` is for people."""

    folder: str
    name: str
    data: bytes


def backlog(pages: Iterable[TaskPage]) -> Found:
    """The tasks of a Backlog.md folder; a damaged file costs itself only."""
    gathering = Gathering()
    for page in pages:
        text = page.data.removeprefix(codecs.BOM_UTF8).decode(errors="replace")
        text = text.replace("\r\n", "\n")
        fence = _FENCED.match(text)
        if fence is None:
            gathering.skip(page.name, "no front matter between two lines of ---")
            continue
        try:
            raw = _front_matter(fence[1] or "")
        except ValueError as error:
            gathering.skip(page.name, f"front matter: {error}")
            continue
        body = _MARKERS.sub("", text[fence.end() :]).strip()
        gathering.add(page.name, raw, partial(_task, folder=page.folder, body=body))
    return gathering.found("backlog.md")


def _task(record: Record, where: str, *, folder: str, body: str) -> Entry:
    waits_for = tuple(record.take_ids("dependencies"))
    parent = record.take_id("parent_task_id")
    record.take("subtasks")  # the other side of parent_task_id
    status, held = record.take_status(waits=bool(waits_for))
    if folder == "archive" and status == "pending":
        status, held = "deleted", None
    elif folder == "drafts" and status == "pending":
        held = held or "it is a draft"
    people = record.take_ids("assignee")
    return record.entry(
        id=record.take_id("id"),
        where=where,
        subject=record.take_subject("title"),
        description=body,
        status=status,
        held=held,
        priority=record.take_priority(),
        waits_for=waits_for,
        parent=parent,
        assignee=", ".join(str(name).removeprefix("@") for name in people) or None,
    )


def _front_matter(text: str) -> Any:
    """The mapping, all its scalars as they were typed. Raises: ValueError."""
    import yaml  # 20 ms that no other command of the board pays

    try:
        return _loaded(text)
    except yaml.YAMLError:
        try:
            return _loaded(_BARE_AT.sub(r'\1"\2"', text))
        except yaml.YAMLError as error:
            raise ValueError(_in_short(error)) from error


def _loaded(text: str) -> Any:
    """Raises: yaml.YAMLError, ValueError."""
    import yaml

    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.BaseLoader)):
            raise ValueError("aliases (*name) are not read")
        return yaml.load(text, yaml.BaseLoader)  # noqa: S506 - makes texts, lists and mappings only
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _in_short(error: Any) -> str:
    mark = getattr(error, "problem_mark", None)
    line = f"line {mark.line + 2}: " if mark is not None else ""
    return line + str(getattr(error, "problem", None) or error)
