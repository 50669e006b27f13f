"""`runner run --command NAME`: a workflow command becomes a task of the board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner.agents.command_file import INPUT, WorkflowCommand, expand_command
from runner.agents.commands import discover_commands
from runner.board.outlook import outlook
from runner.board.reading import parse_task
from runner.board.snapshot import Snapshot
from runner.board.store import Store
from runner.board.task import Task
from runner.cli import output
from runner.cli.commands import named_command
from runner.core.files import clean_text, encode_json
from runner.core.ids import Key, order_key
from runner.core.settings import Settings
from runner.errors import NoModel, UsageError
from runner.work.admission import Admission, claimants

_SUBJECT_LENGTH = 100
_SHOWN_LINES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCall:
    """A command with its input, not yet on the board."""

    command: WorkflowCommand
    text: str

    @property
    def fields(self) -> dict[str, Any]:
        """Those of the task that it becomes."""
        about = output.one_line(self.text) or output.one_line(self.command.description)
        subject = f"{self.command.name}: {about}"
        if len(subject) > _SUBJECT_LENGTH:
            subject = f"{subject[: _SUBJECT_LENGTH - 3]}..."
        return {
            "subject": subject,
            "description": expand_command(self.command, self.text),
            "agent": self.command.agent,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A call as a task that is not on the board yet.

    `snapshot` is the board as it would be with it, `only` what the run may do, None for all.
    """

    call: CommandCall
    task: Task
    snapshot: Snapshot
    only: frozenset[Key] | None

    def to_json(self) -> dict[str, Any]:
        """`command` in the JSON of a dry run."""
        return {
            "name": self.call.command.name,
            "task": self.task.id,
            "fields": self.call.fields,
        }


def command_call(directory: Path, name: str, words: Sequence[str]) -> CommandCall:
    """The command of that name as it counts in `directory`, and `words` as its input.

    Raises: UnknownCommand; UsageError, for input that the command has no place for.
    """
    found = discover_commands(directory)
    command = named_command(found, name)
    for file in found.files:
        if file.parsed.definition is command:
            output.warn(f"{command.file}: {warning}" for warning in file.parsed.warnings)
    text = clean_text(" ".join(words))
    if text.strip() and not command.takes_input:
        raise UsageError(
            f"command {name!r} takes no input, found {output.one_line(text)[:60]!r}: there is no "
            f"{INPUT} in {command.file}; put it where the input belongs, or leave the input out"
        )
    if not text.strip() and command.takes_input and command.source != "bundled":
        hint = f" ({command.argument_hint})" if command.argument_hint else ""
        output.warn(
            [f"command {name!r} takes input{hint}, and there is none: {INPUT} becomes nothing"]
        )
    return CommandCall(command=command, text=text)


def draft(
    call: CommandCall, store: Store, snapshot: Snapshot, only: frozenset[Key] | None
) -> Draft:
    """The task of `call` as it would be added; `snapshot` is the last look of `store`."""
    task_id = store.next_id()
    given = {key: value for key, value in call.fields.items() if value is not None}
    data = encode_json({"id": task_id, "status": "pending", **given})
    task, _ = parse_task(f"task_{task_id}.json", data)
    if task is None:
        raise AssertionError("unreachable: an object with an id is a task")
    unfinished = sorted((*snapshot.unfinished, task), key=lambda one: order_key(one.key))
    return Draft(
        call=call,
        task=task,
        snapshot=replace(
            snapshot, tasks={**snapshot.tasks, task.key: task}, unfinished=tuple(unfinished)
        ),
        only=None if only is None else only | {task.key},
    )


def refusal(drafted: Draft, settings: Settings, admission: Admission) -> str | None:
    """Why nobody of this team could do the task; None if somebody can."""
    key = drafted.task.key
    selection = admission.select()
    found = outlook(drafted.snapshot, claimants(settings), selection.refuses_for, frozenset({key}))
    reason = found.stuck.get(key)
    return None if reason is None else f"command {drafted.call.command.name!r}: {reason}"


def put_on_board(drafted: Draft, store: Store, settings: Settings, admission: Admission) -> Task:
    """Add the task, if this team can begin it. Raises: UsageError, and nothing was added."""
    try:
        admission.preflight(drafted.snapshot, drafted.only)
    except NoModel as error:
        raise UsageError(f"{error}.\nNothing was put on the board") from error
    reason = refusal(drafted, settings, admission)
    if reason is not None:
        raise UsageError(f"{reason}; nothing was put on the board")
    return store.add(drafted.call.fields)


def print_draft(drafted: Draft) -> None:
    """Say which task a run would add, with the beginning of its text."""
    task = drafted.task
    output.say(f"command {drafted.call.command.name}: would be put on the board as task {task.id}")
    output.say(f"subject: {output.one_line(task.subject)}")
    if task.agent is not None:
        output.say(f"agent: {output.one_line(task.agent)}")
    output.say()
    lines = task.description.split("\n")
    output.say_text("\n".join(lines[:_SHOWN_LINES]))
    if left := len(lines[_SHOWN_LINES:]):
        output.say(f"[{output.counted(left, 'more line')}; --json has the whole text]")
    output.say()
