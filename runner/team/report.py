"""The end of a run: what became of every task, and the exit code that follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from runner.board.outlook import Outlook
from runner.board.reading import id_of_name
from runner.board.snapshot import Snapshot
from runner.board.task import Task
from runner.core.clock import to_iso
from runner.core.ids import Key, order_key
from runner.team.outcome import Usage

Verdict = Literal["completed", "failed", "undone"]

EXIT_DONE, EXIT_FAILED, EXIT_UNDONE, EXIT_LIMIT, EXIT_SIGNAL = 0, 1, 3, 4, 128


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """A task at the end. `verdict` is how it counts.

    A file that cannot be read as a task has a row too, with the id guessed from its name.
    """

    id: int | str | None
    status: str | None
    state: str
    verdict: Verdict
    owner: str | None = None
    agent: str | None = None
    attempts: int = 0
    seconds: float | None = None
    tool_calls: int | None = None
    usage: Mapping[str, Any] | None = None
    error: str | None = None
    reason: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "status": self.status,
            "state": self.state,
            "owner": self.owner,
            "agent": self.agent,
            "attempts": self.attempts,
            "seconds": self.seconds,
            "toolCalls": self.tool_calls,
            "usage": dict(self.usage) if self.usage is not None else None,
            "error": self.error,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TeammateRow:
    """A seat at the end; `tasks` has the ids worked on, as written, in order."""

    name: str
    role: str
    agent: str | None
    status: str
    tasks: tuple[int | str, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What `runner run` says at its end. `usages` are those of this run's assignments.

    `message_turns` of them were no attempts at tasks. `notes` are sentences for people: members
    renamed, why claiming stopped, which limit it was.
    """

    run: str
    team: str
    started: datetime
    finished: datetime
    tasks: tuple[TaskRow, ...]
    teammates: tuple[TeammateRow, ...]
    usages: tuple[Usage, ...] = ()
    message_turns: int = 0
    signal: int | None = None
    limit: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """A signal counts over a limit, that over a failure, that over something left undone."""
        verdicts = {row.verdict for row in self.tasks}
        if self.signal is not None:
            return EXIT_SIGNAL + self.signal
        if self.limit is not None:
            return EXIT_LIMIT
        if "failed" in verdicts:
            return EXIT_FAILED
        return EXIT_UNDONE if "undone" in verdicts else EXIT_DONE

    @property
    def totals(self) -> dict[str, Any]:
        """Tasks by verdict, and what this run has used. `usd` is None when a price is unknown."""
        verdicts = [row.verdict for row in self.tasks]
        prices = [usage.usd for usage in self.usages]
        known = [price for price in prices if price is not None]
        return {
            "tasks": len(verdicts),
            "completed": verdicts.count("completed"),
            "failed": verdicts.count("failed"),
            "undone": verdicts.count("undone"),
            "attempts": len(self.usages) - self.message_turns,
            "turns": sum(usage.turns for usage in self.usages),
            "toolCalls": sum(usage.tool_calls for usage in self.usages),
            "inputTokens": sum(usage.input_tokens for usage in self.usages),
            "outputTokens": sum(usage.output_tokens for usage in self.usages),
            "usd": sum(known) if len(known) == len(prices) else None,
            "seconds": round((self.finished - self.started).total_seconds(), 3),
        }

    def to_json(self) -> dict[str, Any]:
        """The document of `runner run --json`."""
        return {
            "run": self.run,
            "team": self.team,
            "started": to_iso(self.started),
            "finished": to_iso(self.finished),
            "exit": self.exit_code,
            "tasks": [row.to_json() for row in self.tasks],
            "teammates": [row.to_json() for row in self.teammates],
            "totals": self.totals,
            "notes": list(self.notes),
        }


def judge(
    snapshot: Snapshot,
    outlook: Outlook,
    *,
    only: frozenset[Key] | None,
    agents: Mapping[Key, str],
    left: str,
) -> tuple[TaskRow, ...]:
    """A row for each task of the board (of `only`, if given) in natural order; deleted ones not.

    `agents` has the agent that a task was resolved to, where that is known; `left` is said of a
    task that could have been done and was not.
    """
    rows = [
        (task.key, _row(snapshot, outlook, task, agents, left))
        for task in snapshot.tasks.values()
        if task.status != "deleted"
    ]
    rows += [
        (task.key, _row(snapshot, outlook, task, {}, left))
        for task in snapshot.others
        if task.status not in ("deleted", "completed", "failed")
    ]
    rows += _unreadable(snapshot)
    known = {key for key, _ in rows} | snapshot.tasks.keys()
    rows += [(key, _missing(key)) for key in (only or frozenset()) - known]
    rows.sort(key=lambda pair: order_key(pair[0]))
    return tuple(row for key, row in rows if only is None or key in only)


def _row(
    snapshot: Snapshot, outlook: Outlook, task: Task, agents: Mapping[Key, str], left: str
) -> TaskRow:
    usage = task.usage or {}
    return TaskRow(
        id=task.id,
        status=task.status,
        state=outlook.state(snapshot, task),
        verdict=_verdict(task),
        owner=task.owner,
        agent=agents.get(task.key, task.agent),
        attempts=task.attempt,
        seconds=_seconds(task),
        tool_calls=usage.get("toolCalls"),
        usage=task.usage,
        error=task.error,
        reason=_reason(snapshot, outlook, task, left),
    )


def _verdict(task: Task) -> Verdict:
    if task.status == "completed" or task.status == "failed":
        return task.status
    return "undone"


def _reason(snapshot: Snapshot, outlook: Outlook, task: Task, left: str) -> str | None:
    if task.status in ("completed", "failed"):
        return None
    state = snapshot.state(task)
    if state in ("ready", "assigned", "stale"):
        return outlook.stuck.get(task.key, left)
    if state == "blocked":
        # its own blockers say more than that nobody could do it
        return snapshot.reason(task)
    return snapshot.reason(task) or outlook.stuck.get(task.key, left)


def _seconds(task: Task) -> float | None:
    spent = (task.usage or {}).get("seconds")
    if isinstance(spent, int | float):
        return float(spent)
    if task.started_at is None or task.finished_at is None:
        return None
    return round((task.finished_at - task.started_at).total_seconds(), 3)


def _unreadable(snapshot: Snapshot) -> Iterator[tuple[Key, TaskRow]]:
    """Files on the board that are no task: nobody can say that they are done."""
    readable = {task.file for task in _all(snapshot)}
    said: dict[str, str] = {}
    for problem in snapshot.problems:
        if problem.file is not None and problem.file not in readable:
            said.setdefault(problem.file, f"{problem.file}: {problem.message}")
    for file in snapshot.unsettled - said.keys() - readable:
        said[file] = f"{file}: half-written"
    for file, message in said.items():
        key = id_of_name(file)
        yield (
            key,
            TaskRow(id=key, status=None, state="unclaimable", verdict="undone", reason=message),
        )


def _all(snapshot: Snapshot) -> Iterable[Task]:
    return (*snapshot.tasks.values(), *snapshot.others)


def _missing(key: Key) -> TaskRow:
    return TaskRow(
        id=key,
        status=None,
        state="unclaimable",
        verdict="undone",
        reason=f"there is no task {key} on this board",
    )
