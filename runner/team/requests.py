"""Requests that somebody has to decide: records in `.team/requests/ID.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from runner.core.cancelling import scope_cancelled
from runner.core.clock import Clock, to_iso
from runner.core.events import Journal
from runner.core.files import atomic_write, create_exclusive, encode_json, locked
from runner.core.ids import random_id, safe_name
from runner.core.layout import STATE_VERSION, Layout
from runner.errors import UsageError
from runner.team.mailbox import check_recipient, post

Kind = Literal["shutdown", "plan_approval"]
RequestStatus = Literal["pending", "approved", "rejected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One record. `run` is the run it is meant for, None when any; times are ISO 8601 UTC."""

    id: str
    type: Kind
    sender: str
    to: str
    run: str | None
    status: RequestStatus
    opened: str
    decided: str | None = None
    by: str | None = None
    text: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"version": STATE_VERSION, **asdict(self)}


def open_request(
    layout: Layout,
    *,
    type_: Kind,
    sender: str,
    to: str,
    run: str | None,
    clock: Clock,
    journal: Journal,
    text: str = "",
) -> Request:
    """Write a new pending record. Raises: UnsafeName, SaveFailed."""
    layout.ensure_team()
    request = Request(
        id=random_id("q-"),
        type=type_,
        sender=safe_name("sender", sender),
        to=safe_name("recipient", to),
        run=run,
        status="pending",
        opened=to_iso(clock.now()),
        text=text,
    )
    create_exclusive(_path(layout, request.id), encode_json(request.to_json()))
    journal.emit("request.opened", request=request.id, type=type_, sender=sender, to=to)
    return request


def read_request(layout: Layout, request_id: str) -> Request | None:
    """The record, or None when there is none that can be read. Raises: UnsafeName."""
    try:
        value = json.loads(_path(layout, request_id).read_bytes())
        return Request(**{key: found for key, found in value.items() if key != "version"})
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        return None


def pending(layout: Layout, *, to: str, run: str) -> list[Request]:
    """What `to` was asked in this run and nobody has decided, oldest first."""
    found = [read_request(layout, path.stem) for path in layout.requests.glob("q-*.json")]
    mine = [one for one in found if one is not None and (one.to, one.run) == (to, run)]
    return sorted((one for one in mine if one.status == "pending"), key=lambda one: one.opened)


def decide(
    layout: Layout,
    request_id: str,
    status: Literal["approved", "rejected"],
    *,
    by: str,
    clock: Clock,
    journal: Journal,
) -> Request:
    """Decide a pending request; whoever comes second gets the first decision back.

    Raises: UnsafeName, UsageError (no such request), SaveFailed, BoardBusy.
    """
    path = _path(layout, request_id)
    layout.ensure_team()
    with locked(layout.requests / ".lock", cancelled=scope_cancelled):
        request = read_request(layout, request_id)
        if request is None:
            raise UsageError(f"no request {request_id!r} in {layout.requests}")
        if request.status != "pending":
            return request
        request = replace(request, status=status, decided=to_iso(clock.now()), by=by)
        atomic_write(path, encode_json(request.to_json()))
        journal.emit("request.decided", request=request_id, status=status, by=by)
    return request


def ask_to_stop(
    layout: Layout,
    to: str,
    *,
    sender: str,
    run: str | None,
    members: Sequence[str],
    clock: Clock,
    journal: Journal,
) -> Request:
    """Ask one teammate to shut down: a record and a message that names it.

    Raises: UnsafeName, UnknownRecipient, SaveFailed, BoardBusy.
    """
    check_recipient(to, members)
    request = open_request(
        layout, type_="shutdown", sender=sender, to=to, run=run, clock=clock, journal=journal
    )
    post(
        layout,
        to=to,
        sender=sender,
        content="please shut down",
        members=members,
        clock=clock,
        type_="shutdown_request",
        extra={"request": request.id, "run": run},
    )
    return request


def _path(layout: Layout, request_id: str) -> Path:
    return layout.requests / f"{safe_name('request', request_id)}.json"
