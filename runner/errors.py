"""Every error the runner raises on purpose, as one family.

    RunnerError
    ├── UsageError                  the call or the configuration is wrong: exit 2
    │   ├── ConfigError             a key of team.yaml, of the environment or of a flag
    │   ├── BoardNotFound           no .tasks folder from here upward
    │   ├── UnsafeName              a name that must not become a path
    │   ├── UnknownCommand          no workflow command of exactly this name
    │   └── NoModel                 nothing that can think, and tasks that need it
    ├── BoardError
    │   ├── BoardBusy               the board lock was not free in time
    │   ├── TaskNotFound            no task of that id
    │   ├── TaskUnreadable          the file cannot be read as a task
    │   ├── NotClaimable            the task may not be claimed, with the reason
    │   ├── ClaimLost               the claim is no longer ours: what we did does not count
    │   │   └── NotHeld             there is no claim at all: nobody works on the task
    │   ├── TaskHeld                somebody holds the task; --force is needed
    │   └── SaveFailed              a file could not be written; the old one is whole
    ├── AgentError
    │   ├── UnknownAgent            exact name not found
    │   ├── AgentFileInvalid        a file that cannot be an agent, with the reason
    │   └── BundledAgentBroken      a file that we ship is unreadable: fatal
    ├── MailError
    │   ├── UnknownRecipient        nobody of that name in the team
    │   └── OwnInbox                a message to oneself
    ├── ModelError                  the model side failed; subclasses say whether to retry
    │   ├── ModelUnavailable        cannot be used here at all (no key, no file, no package)
    │   ├── ModelRejected           400, 401, 402, 403, 404: not retried
    │   ├── ModelOverloaded         429, 5xx, 529, cut streams: retried with back-off
    │   └── ContextOverflow         the request does not fit the window
    └── ToolError                   said to the model as a tool result, never to the operator

A constructor takes facts and writes the message: what was looked at, what was found, what to do
next.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class RunnerError(Exception):
    """Base of every error raised on purpose; catch it to print a message instead of a traceback."""


class UsageError(RunnerError):
    """The call or the configuration is wrong; the command line ends with exit 2."""


class ConfigError(UsageError):
    """A configuration value that cannot be used. `where` is a file, a variable or a flag."""

    def __init__(self, where: str | Path, key: str, found: object, expected: str) -> None:
        self.where, self.key, self.found, self.expected = str(where), key, found, expected
        at = f"{self.where}: {key}" if key else self.where
        super().__init__(f"{at}: found {found!r}, expected {expected}")


class BoardNotFound(UsageError):
    """No board from `start` upward."""

    def __init__(self, start: Path) -> None:
        self.start = start
        super().__init__(
            f"no board: {start} and the folders above it have no .tasks folder; "
            "run `runner init` here, or name another folder with -C DIR"
        )


class UnsafeName(UsageError):
    """A name, id or recipient that must not become part of a path."""

    def __init__(self, what: str, value: object) -> None:
        self.what, self.value = what, value
        shown = repr(value)
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        super().__init__(
            f"{what} {shown} is not usable: use 1 to 64 letters, digits, '.', '_' or '-', "
            "starting with a letter or digit"
        )


class UnknownCommand(UsageError):
    """No workflow command of exactly this name."""

    def __init__(self, name: str, available: Sequence[str]) -> None:
        self.name, self.available = name, tuple(available)
        super().__init__(
            f'Unknown command "{name}". Available: {", ".join(self.available) or "none"}'
        )


class NoModel(UsageError):
    """Tasks need a model and none is usable here."""

    def __init__(self, tasks: Sequence[str], reasons: Sequence[str] = ()) -> None:
        self.tasks, self.reasons = tuple(tasks), tuple(reasons)
        shown = ", ".join(self.tasks[:8]) + (", ..." if len(self.tasks) > 8 else "")
        said = [reason.removeprefix("no usable model: ") for reason in self.reasons]
        why = "".join(f"\n  - {reason}" for reason in said)
        # a script that is named and cannot be used is to be mended, not replaced
        mend = "Mend the script file that is named above.\n" if _about_script(said) else ""
        super().__init__(
            f"no usable model for task {shown}; nothing was claimed.{why}\n{mend}"
            "Ways to set one: `model:` in team.yaml or --model with anthropic/NAME (its key in "
            "ANTHROPIC_API_KEY), openai/NAME (OPENAI_API_KEY, or OPENAI_BASE_URL for a server of "
            "your own), ollama/NAME or script/PATH; a task with `run` needs none"
        )


def _about_script(reasons: Sequence[str]) -> bool:
    return any(reason.startswith("script/") or "-> script/" in reason for reason in reasons)


class BoardError(RunnerError):
    """Something about the board or one of its tasks."""


class BoardBusy(BoardError):
    """The lock file was not free in time. `holder` is what is known of who holds it."""

    def __init__(self, lock_file: Path, waited_s: float, holder: str | None = None) -> None:
        self.lock_file, self.waited_s, self.holder = lock_file, waited_s, holder
        by = f" (held by {holder})" if holder else ""
        super().__init__(
            f"{lock_file} was not free within {waited_s:g} s{by}; "
            "another command is writing the board, or a stopped one holds it: try again"
        )


class TaskNotFound(BoardError):
    def __init__(self, task_id: object) -> None:
        self.task_id = task_id
        super().__init__(f"no task {task_id!r} on this board; `runner tasks list` shows the ids")


class TaskUnreadable(BoardError):
    """The file exists and is not a task; it is left as it is."""

    def __init__(self, file: str | Path, reason: str) -> None:
        self.file, self.reason = str(file), reason
        super().__init__(f"{file}: {reason}; mend the file, it was left as it is")


class NotClaimable(BoardError):
    """The task may not be claimed by this one now."""

    def __init__(self, task_id: object, reason: str) -> None:
        self.task_id, self.reason = task_id, reason
        super().__init__(f"task {task_id}: {reason}")


class ClaimLost(BoardError):
    """A write presented a claim that the file no longer holds."""

    def __init__(self, task_id: object, found: str) -> None:
        self.task_id, self.found = task_id, found
        super().__init__(f"task {task_id}: the claim is gone ({found}); nothing was written")


class NotHeld(ClaimLost):
    """A person would end a task that nobody holds. `how` says what to do first."""

    def __init__(self, task_id: object, status: str, how: str) -> None:
        self.task_id, self.found = task_id, f"the task is {status}"
        BoardError.__init__(self, f"nobody holds task {task_id}, it is {status}; {how}")


class TaskHeld(BoardError):
    """A person's command on a task that a live run or another owner holds.

    `how` says who holds it: `held by alice of run r1`, `claimed by hand by bo`.
    """

    def __init__(self, task_id: object, how: str) -> None:
        self.task_id, self.how = task_id, how
        super().__init__(f"task {task_id} is {how}; use --force to take it away")


class SaveFailed(BoardError):
    """A file could not be saved; what was there before is still there, whole."""

    def __init__(self, file: str | Path, reason: str) -> None:
        self.file, self.reason = str(file), reason
        super().__init__(f"{file} could not be saved: {reason}; the old content is untouched")


class AgentError(RunnerError):
    """Something about an agent definition."""


class UnknownAgent(AgentError):
    """No agent of exactly this name; the text is a contract."""

    def __init__(self, name: str, available: Sequence[str]) -> None:
        self.name, self.available = name, tuple(available)
        super().__init__(
            f'Unknown agent "{name}". Available: {", ".join(self.available) or "none"}'
        )


class AgentFileInvalid(AgentError):
    """A file that cannot be an agent. `line`, from 1, is put in front of the reason."""

    def __init__(self, file: str | Path, reason: str, *, line: int | None = None) -> None:
        self.file, self.line = str(file), line
        self.reason = reason if line is None else f"line {line}: {reason}"
        super().__init__(f"{file}: {self.reason}")


class BundledAgentBroken(AgentError):
    """A bundled file cannot be parsed: the installation is damaged."""

    def __init__(self, file: str | Path, reason: str) -> None:
        self.file, self.reason = str(file), reason
        super().__init__(f"{file}: {reason}; the installation is damaged, install again")


class MailError(RunnerError):
    """Something about messages between teammates."""


class UnknownRecipient(MailError):
    def __init__(self, name: str, members: Sequence[str]) -> None:
        self.name, self.members = name, tuple(members)
        super().__init__(f"nobody is called {name!r}; members: {', '.join(self.members) or 'none'}")


class OwnInbox(MailError):
    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name!r} is you: a message to oneself is not sent")


class ModelError(RunnerError):
    """The model side failed. `retry_after_s` is the server's wish, where it gave one."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class ModelUnavailable(ModelError):
    """This model cannot be used here: no key, no file, no package, no such provider."""


class ModelRejected(ModelError):
    """The request was refused for good."""

    def __init__(self, message: str, *, status: int) -> None:
        self.status = status
        super().__init__(message)

    @property
    def is_about_account(self) -> bool:
        """The key, its money or its models: the next request would be refused like this one."""
        return self.status in (401, 402, 403, 404)


class ModelOverloaded(ModelError):
    """Try again later: 429, 5xx, 529, or a stream that was cut."""


class ContextOverflow(ModelError):
    """The request is longer than the model's window."""


class ToolError(RunnerError):
    """A tool could not do what it was asked; the text goes to the model as an error result."""
