"""One task of another tool, field by field: what is taken has a place here, the rest is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runner.board import fields
from runner.board.importing import Entry, Found, Skipped, Tool
from runner.board.task import Status
from runner.core.ids import is_one_line

# what `fields.status_of` does not know
_STATUSES: Mapping[str, Status] = {
    "to_do": "pending",
    "hooked": "pending",
    "complete": "completed",
    "tombstone": "deleted",
    "archived": "deleted",
}
_URGENT = 2
_PRIORITIES = {"critical": _URGENT}


class NoTask(Exception):
    """The record cannot become a task; the text says why."""


class Record:
    """A record of another tool. Each `take...` removes what it gives; `entry` keeps the rest."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._left = dict(raw)
        self._kept: dict[str, Any] = {}
        self.notes: list[str] = []

    def take(self, key: str) -> Any:
        return self._left.pop(key, None)

    def look(self, key: str) -> Any:
        """The value, which stays among what is kept."""
        return self._left.get(key)

    def take_text(self, key: str) -> str:
        value = self.take(key)
        return "" if value is None else fields.words(value).strip()

    def take_id(self, key: str) -> int | str | None:
        return written_id(self.take(key))

    def take_ids(self, key: str) -> list[int | str]:
        """Of a list, a comma string or a single value."""
        value = self.take(key)
        items = [] if value is None else fields.id_list(value)
        return [found for item in items if (found := written_id(item)) is not None]

    def take_lines(self, key: str) -> str:
        """A text; a list becomes one line for each of its items."""
        value = self.take(key)
        if isinstance(value, list):
            return "\n".join(f"- {fields.words(item)}" for item in value)
        return "" if value is None else fields.words(value).strip()

    def take_subject(self, key: str) -> str:
        """Raises: NoTask."""
        text = " ".join(self.take_text(key).split())
        if not is_one_line(text):
            text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        if not text:
            raise NoTask(f"no {key}: a task needs one line that says what it is")
        return text

    def take_metadata(self) -> Mapping[str, Any]:
        value = self.take("metadata")
        if isinstance(value, dict):
            return value
        self.keep("metadata", value)
        return {}

    def keep(self, key: str, value: Any) -> None:
        """What was taken, and is not wholly told by what it became."""
        if value is not None:
            self._kept[key] = value

    def take_status(self, *, waits: bool) -> tuple[Status, str | None]:
        """What the status means here, and why the task is held for a person, if it is.

        `waits`: there are blockers, so that `blocked` says no more than they do.
        """
        written = self.take("status")
        if written is None or written == "":
            return "pending", None
        self.keep("status", written)
        word = fields.words(written).strip().lower().replace("-", "_").replace(" ", "_")
        status = fields.status_of(written) or _STATUSES.get(word)
        if status == "in_progress" or word == "hooked":
            self.notes.append("was in progress there: it begins anew")
            return "pending", None
        if status is not None:
            if status == word:
                self._kept.pop("status")
            return status, None
        if word == "blocked" and waits:
            return "pending", None
        return "pending", f"its status is {fields.words(written)!r}"

    def take_priority(self) -> int:
        """The words of ours and `critical`; what means nothing is kept, and counts as normal."""
        written = self.take("priority")
        if written is None or written == "":
            return 0
        word = written.strip().lower() if isinstance(written, str) else ""
        try:
            found = _PRIORITIES[word] if word in _PRIORITIES else fields.priority(written)
        except fields.NotUnderstood:
            self.keep("priority", written)
            return 0
        if found != written:
            self.keep("priority", written)
        return found

    def entry(self, **told: Any) -> Entry:
        """The entry of what was taken (`told`), with everything that nobody took."""
        rest = {key: value for key, value in self._left.items() if value not in (None, [], {}, "")}
        return Entry(**told, fields={**self._kept, **rest}, notes=tuple(self.notes))


class Gathering:
    """The entries of one source, one after the other; what is none costs itself only."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._skipped: list[Skipped] = []

    def add(self, where: str, raw: object, read: Callable[[Record, str], Entry]) -> None:
        if not isinstance(raw, dict):
            found = "null" if raw is None else type(raw).__name__
            self.skip(where, f"expected an object, found {found}")
            return
        try:
            self._entries.append(read(Record(raw), where))
        except NoTask as error:
            self.skip(where, str(error))

    def skip(self, where: str, reason: str, *, broken: bool = True) -> None:
        self._skipped.append(Skipped(where=where, reason=reason, broken=broken))

    def found(self, tool: Tool, *, part: str | None = None) -> Found:
        return Found(
            tool=tool, entries=tuple(self._entries), skipped=tuple(self._skipped), part=part
        )


def written_id(value: object) -> int | str | None:
    """An id as a number or a text; None for nothing. `9.1` may have been written as a number."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else repr(value)
    return fields.words(value).strip() or None


def described(first: str, *sections: tuple[str, str]) -> str:
    """A description of `first` and those of the titled sections that have a text."""
    parts = [first, *(f"## {title}\n\n{text}" for title, text in sections if text)]
    return "\n\n".join(part for part in parts if part)
