"""Which fields each verb changes, computed from the task as it is on disk. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from runner.board import fields
from runner.board.fields import id_list, spellings
from runner.board.graph import unblocked_by
from runner.board.saving import OWN_FIELDS, REMOVED, moved, with_added, without, written
from runner.board.task import Claim, Task
from runner.core.clock import from_iso, to_iso
from runner.core.ids import Key, key_of

_MAX_FAULTS = 3
_BACK_OFF_S = 10.0
_BACK_OFF_CAP_S = 300.0
_JITTER = 0.25

_ADDED = "added"
_UNBLOCKS = "unblocks"

# ours, or changed by us: an outside change of anything else is respected
_MOVING = OWN_FIELDS | {"status"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A claim made by this process: the task before it, and the fields that it wrote."""

    before: Task
    changes: Mapping[str, Any]


def claiming(task: Task, claim: Mapping[str, Any], *, owner: str, now: datetime) -> dict[str, Any]:
    """The attempt is counted here, so that a death of the process counts too."""
    return {
        "status": "in_progress",
        "owner": owner,
        "attempt": task.attempt + 1,
        "claim": claim,
        "startedAt": to_iso(now),
        "finishedAt": REMOVED,
        "retryAt": REMOVED,
    }


def new_claim(
    task: Task, claim_id: str, *, run: str | None, by: str, now: datetime, place: str
) -> dict[str, Any]:
    """The `claim` field; `was` keeps the owner in its written form.

    `added` names the keys that the file did not have, and will not have when the claim goes.
    """
    has_owner = any(key in task.raw for key in spellings("owner"))
    return {
        "id": claim_id,
        "run": run,
        "by": by,
        "at": to_iso(now),
        "source": "manual" if run is None else "run",
        "place": place,
        "was": _written_owner(task),
        **({} if has_owner else {_ADDED: ["owner"]}),
    }


def completing(
    *,
    now: datetime,
    result: Any,
    has_result: bool,
    usage: Mapping[str, Any] | None,
    raw: Mapping[str, Any],
) -> dict[str, Any]:
    """`has_result`: one was handed in, even if it is null."""
    changes: dict[str, Any] = {"status": "completed", "finishedAt": to_iso(now)}
    if has_result or result is not None or "result" in raw:
        changes["result"] = result
    return changes | {"error": REMOVED, "retryAt": REMOVED} | _usage(usage)


def failing(
    *, now: datetime, error: str, result: Any = None, usage: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    changes: dict[str, Any] = {"status": "failed", "finishedAt": to_iso(now), "error": error}
    if result is not None:
        changes["result"] = result
    return changes | {"retryAt": REMOVED} | _usage(usage)


def returning(task: Task, *, usage: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Back to pending, to whom it was before the claim; the attempt stays counted."""
    changes: dict[str, Any] = {"status": "pending", "claim": REMOVED}
    if task.claim is not None:
        claim = task.raw["claim"]
        changes["owner"] = REMOVED if claim.get(_ADDED) == ["owner"] else claim.get("was")
    return changes | {"startedAt": REMOVED, "finishedAt": REMOVED} | _usage(usage)


def faulting(
    task: Task,
    reason: str,
    *,
    now: datetime,
    since: datetime,
    chance: float,
    usage: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Back with a `retryAt` counted from `since`, or failed when it was one fault too many.

    `error` grows by one part a fault, so that it tells the whole story. `chance` is 0 to 1.
    """
    story = f"attempt {task.attempt}: {reason}"
    if task.error and task.error.startswith("attempt "):
        story = f"{task.error}; {story}"
    faults = task.faults + 1
    if faults >= (task.max_attempts or _MAX_FAULTS):
        said = f"given up after {faults} fault{'s' if faults > 1 else ''}; {story}"
        return failing(now=now, error=said, usage=usage) | {"faults": faults}
    due = since + timedelta(seconds=back_off_s(faults, chance))
    changes = returning(task, usage=usage) | {"error": story, "faults": faults}
    return changes | {"retryAt": to_iso(due) if due > now else REMOVED}


def unblocking(task: Task, chosen: Callable[[Key], bool]) -> dict[str, Any]:
    """The `chosen` blockers are done: they leave `blockedBy` and are kept in `unblockedBy`."""
    changes = moved(task.raw, "blockedBy", "unblockedBy", chosen)
    if changes and not changes["blockedBy"] and fields.status_of(task.raw.get("status")) is None:
        # the word was `blocked`, which without blockers would mean nothing
        changes["status"] = "pending"
    return changes


def unmirroring(task: Task, keys: Collection[Key]) -> dict[str, Any]:
    """Tasks that wait no more leave `blocks`; the claim keeps them, for `mirroring_again`."""
    changes = without(task.raw, "blocks", keys)
    if changes and task.claim is not None:
        gone = [item for item in written(task.raw, "blocks") if key_of(item) in keys]
        changes["claim"] = {**task.raw["claim"], _UNBLOCKS: gone}
    return changes


def mirroring_again(task: Task, waiting: Sequence[Task]) -> dict[str, Any]:
    """Of the tasks that wait again those enter `blocks` that left it; all, if nobody noted them."""
    ids: list[Any] = [one.id for one in waiting]
    if task.claim is not None:
        keys = {one.key for one in waiting}
        noted = id_list(task.raw["claim"].get(_UNBLOCKS) or [])
        ids = [item for item in noted if key_of(item) in keys]
    return with_added(task.raw, "blocks", ids)


def back_off_s(faults: int, chance: float) -> float:
    """10 s, doubled for each further fault, up to 300 s; up to a quarter less by `chance`."""
    full = min(_BACK_OFF_S * 2.0 ** min(faults - 1, 10), _BACK_OFF_CAP_S)
    return full * (1 - _JITTER * chance)


def reopening(task: Task) -> dict[str, Any]:
    """A failed, finished, deleted or waiting task is pending again, as if nothing had come out."""
    gone = dict.fromkeys(("retryAt", "result", "error", "faults"), REMOVED)
    changes = returning(task) | gone
    return {field: value for field, value in changes.items() if _differs(task, field, value)}


def claimed_at(claim: Claim, default: datetime) -> datetime:
    """When a claim was made, as far as it can be true; `default` is now."""
    try:
        return min(from_iso(claim.at).astimezone(UTC), default)
    except (ValueError, OverflowError):
        return default


def went_back(holding: Holding, task: Task) -> bool:
    """Whether only our own fields of a claimed task went back, as a `git checkout` does it.

    No verb of ours lowers the attempt, so a lower one is the sign; everything that is not ours
    has to be what it was when the claim was made.
    """
    before = holding.before
    return (
        task.status == "pending"
        and task.attempt < holding.changes["attempt"]
        and task.owner == before.owner
        and {*task.blocked_by, *unblocked_by(task)} == {*before.blocked_by, *unblocked_by(before)}
        and _foreign(task) == _foreign(before)
    )


def _foreign(task: Task) -> dict[str, Any]:
    ours = {*_MOVING, *spellings("owner"), *spellings("blockedBy")}
    return {key: value for key, value in task.raw.items() if key not in ours}


def _written_owner(task: Task) -> Any:
    return next((task.raw[key] for key in spellings("owner") if key in task.raw), None)


def _differs(task: Task, field: str, value: Any) -> bool:
    present = [task.raw[key] for key in spellings(field) if key in task.raw]
    return bool(present) if value is REMOVED else present != [value]


def _usage(usage: Mapping[str, Any] | None) -> dict[str, Any]:
    return {} if usage is None else {"usage": dict(usage)}
