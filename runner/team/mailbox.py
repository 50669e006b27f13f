"""Inboxes on disk: `.team/inbox/NAME.jsonl`, one message a line.

Writers append under `.team/inbox/NAME.lock`. The reader's place is kept beside the file, in
`NAME.cursor.json`; reading moves nothing on disk, `commit` does. What is told to a model counts as
read from the moment at which a transcript holds the answer: `announce` notes beforehand where that
is going to be, and whoever reads after a death looks there. A file that is wholly read and has
grown is renamed away (`NAME.read-1.jsonl`), so that nothing is ever cut out of a file in use.
Everything here is synchronous: one call is one hop.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner.core.cancelling import scope_cancelled
from runner.core.clock import Clock, to_iso
from runner.core.files import (
    LOCK_TIMEOUT_S,
    Held,
    append_line,
    atomic_write,
    clean_text,
    encode_json,
    encode_line,
    locked,
)
from runner.core.ids import random_id, safe_name
from runner.core.json_lines import objects_in
from runner.core.layout import STATE_VERSION, Layout
from runner.errors import UnknownRecipient
from runner.team.cursor import NOWHERE, Cursor, beginning, seek_unread
from runner.team.message import OWN_KEYS, Message, decode

ROTATE_BYTES = 65536
"""A wholly read inbox of this size or more is put away."""

Stamp = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one look found. `cursor` is the place behind it.

    `damaged` has an object `{offset, reason, text, base64}` for each line that was set aside now.
    """

    messages: tuple[Message, ...] = ()
    cursor: Cursor = NOWHERE
    damaged: tuple[Mapping[str, Any], ...] = ()


class Mailbox:
    """The inbox of one name. Raises: UnsafeName, for a name that must not become a path."""

    def __init__(self, layout: Layout, name: str) -> None:
        self.name = safe_name("recipient", name)
        self._layout = layout
        self.path = layout.inbox / f"{name}.jsonl"
        self.damaged_file = layout.inbox / f"{name}.damaged.jsonl"
        self._cursor_file = layout.inbox / f"{name}.cursor.json"
        self._lock_file = layout.inbox / f"{name}.lock"

    def stamp(self) -> Stamp:
        """Changes whenever something was appended: for a cheap look without the lock."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def append(self, message: Message) -> None:
        """Put one message at the end. Raises: SaveFailed, BoardBusy."""
        self._layout.ensure_team()
        with self._locked():
            append_line(self.path, encode_line(message.to_json()))

    def read(self, taken: Cursor = NOWHERE) -> Batch:
        """The messages behind `taken`, or behind what was committed if that is further.

        Damaged lines are copied to `NAME.damaged.jsonl` once. Raises: BoardBusy.
        """
        with self._locked():
            saved, telling = self._load()
            try:
                stream = self.path.open("rb")
            except FileNotFoundError:
                # whatever comes under this name is another file
                gone = Cursor(ids=saved.ids | taken.ids)
                if saved.offset:
                    self._save(gone, telling)
                return Batch(cursor=gone)
            with stream:
                start = seek_unread(stream, saved, taken)
                data = stream.read()
            batch = _parse(data, start)
            fresh = [line for line in batch.damaged if line["offset"] >= start.reported]
            if fresh:
                for line in fresh:
                    append_line(self.damaged_file, encode_line({"file": self.path.name, **line}))
                kept = saved if saved.is_in(start) else replace(start, offset=0)
                self._save(replace(kept, reported=batch.cursor.reported), telling)
            return replace(batch, damaged=tuple(fresh))

    def announce(self, upto: Cursor, told: Sequence[str], transcript: Path, size: int) -> None:
        """Messages with the ids `told` are going into `transcript`, behind its first `size` bytes.

        When a reply follows them there, everything before `upto` is read, as by a `commit`.
        """
        telling = {
            "transcript": str(transcript.absolute()),
            "size": size,
            "ids": list(told),
            "upto": upto.to_json(),
        }
        with self._locked():
            saved, _ = self._load()
            self._save(saved, telling)

    def commit(self, upto: Cursor) -> None:
        """Remember that everything before `upto` is read; an older place changes nothing."""
        with self._locked():
            saved, _ = self._load()
            try:
                with self.path.open("rb") as stream:
                    found = beginning(stream)
            except FileNotFoundError:
                return
            is_known = saved.is_in(found)
            if not upto.is_in(found) or (is_known and saved.offset >= upto.offset):
                return
            if upto.offset == found.size >= ROTATE_BYTES:
                # a death between the two leaves a cursor of another file: read from the start
                self.path.rename(self._archive())
                self._save(Cursor())
            else:
                reported = saved.reported if is_known else 0
                self._save(replace(upto, reported=max(reported, upto.reported)))

    def peek(self) -> tuple[Message, ...]:
        """The unread messages; nothing is consumed and nothing is written."""
        try:
            with self.path.open("rb") as stream:
                start = seek_unread(stream, self._load()[0])
                return _parse(stream.read(), start).messages
        except FileNotFoundError:
            return ()

    def _locked(self) -> AbstractContextManager[Held]:
        """A wait for somebody else's hold ends with the scope that waits for this call."""
        return locked(self._lock_file, timeout_s=LOCK_TIMEOUT_S, cancelled=scope_cancelled)

    def _archive(self) -> Path:
        number = 1
        while (path := self.path.with_name(f"{self.name}.read-{number}.jsonl")).exists():
            number += 1
        return path

    def _load(self) -> tuple[Cursor, Mapping[str, Any] | None]:
        """The place, and what was announced and is not answered."""
        try:
            value = json.loads(self._cursor_file.read_bytes())
            saved, telling = Cursor.from_json(value), value.get("telling")
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            # at least once: without a place everything counts as unread
            return Cursor(), None
        try:
            upto = Cursor.from_json(telling["upto"]) if telling and _is_answered(telling) else None
        except (ValueError, KeyError, TypeError):
            upto = telling = None
        if upto is None:
            return saved, telling
        return replace(upto, reported=max(saved.reported, upto.reported)), None

    def _save(self, cursor: Cursor, telling: Mapping[str, Any] | None = None) -> None:
        value = {"version": STATE_VERSION, **cursor.to_json()}
        if telling is not None:
            value["telling"] = telling
        atomic_write(self._cursor_file, encode_json(value))


def _is_answered(telling: Mapping[str, Any]) -> bool:
    """Whether a reply follows the messages in the transcript, before an end or another start."""
    try:
        with Path(telling["transcript"]).open("rb") as stream:
            stream.seek(int(telling["size"]))
            lines = objects_in(stream.read())
    except OSError:
        return False
    is_told = False
    for line in lines:
        kind = line.get("kind")
        is_told = is_told or line.get("mail") == telling["ids"]
        if is_told and kind == "assistant":
            return True
        if kind in ("start", "end"):
            break
    return False


def _parse(data: bytes, start: Cursor) -> Batch:
    """The whole lines of `data`, which begins at `start.offset`.

    A last line without its newline counts if it is a whole message; else it is left for later.
    """
    messages: list[Message] = []
    damaged: list[dict[str, Any]] = []
    ids, offset = set(start.ids), start.offset
    *lines, rest = data.split(b"\n")
    for line in lines:
        found = decode(line, offset)
        if isinstance(found, Message):
            _keep(found, messages, ids)
        elif found is not None:
            damaged.append(found)
        offset += len(line) + 1
    last = decode(rest, offset)
    if isinstance(last, Message):
        _keep(last, messages, ids)
        offset += len(rest)
    cursor = replace(start, offset=offset, ids=frozenset(ids), reported=max(start.reported, offset))
    return Batch(messages=tuple(messages), cursor=cursor, damaged=tuple(damaged))


def _keep(message: Message, messages: list[Message], ids: set[str]) -> None:
    """An id that was there before is the same message sent twice; an offset is no id."""
    if message.id not in ids:
        messages.append(message)
    if not message.id.startswith("@"):
        ids.add(message.id)


def post(
    layout: Layout,
    *,
    to: str,
    sender: str,
    content: str,
    members: Sequence[str],
    clock: Clock,
    type_: str = "message",
    extra: Mapping[str, Any] | None = None,
) -> Message:
    """Put a new message into the inbox of `to`, one of `members`.

    Raises: UnsafeName, UnknownRecipient, SaveFailed, BoardBusy.
    """
    check_recipient(to, members)
    message = Message(
        id=random_id("m-"),
        type=type_,
        sender=sender,
        content=clean_text(content),
        timestamp=to_iso(clock.now()),
        extra={key: value for key, value in (extra or {}).items() if key not in OWN_KEYS},
    )
    Mailbox(layout, to).append(message)
    return message


def check_recipient(name: str, members: Sequence[str]) -> None:
    """Raises: UnsafeName, UnknownRecipient."""
    if safe_name("recipient", name) not in members:
        raise UnknownRecipient(name, members)
