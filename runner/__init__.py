"""An asyncio task runner whose workers are autonomous teammates on a board of task files.

The public names are those of `__all__`, and `runner.testing`. Each is loaded at first use, so that
`import runner` costs next to nothing.
"""

TYPE_CHECKING = False  # as typing has it; importing typing costs more than all of this file
if TYPE_CHECKING:
    from runner.board.task import Task
    from runner.errors import (
        AgentError,
        AgentFileInvalid,
        BoardBusy,
        BoardError,
        BoardNotFound,
        BundledAgentBroken,
        ClaimLost,
        ConfigError,
        ContextOverflow,
        MailError,
        ModelError,
        ModelOverloaded,
        ModelRejected,
        ModelUnavailable,
        NoModel,
        NotClaimable,
        RunnerError,
        SaveFailed,
        TaskHeld,
        TaskNotFound,
        TaskUnreadable,
        ToolError,
        UnknownAgent,
        UnknownRecipient,
        UnsafeName,
        UsageError,
    )
    from runner.team.outcome import (
        Done,
        Failed,
        Faulted,
        HandedBack,
        LimitReached,
        Lost,
        Outcome,
        Usage,
    )

__version__ = "0.1.0"

_HOMES = {
    name: module
    for module, names in {
        "runner.board.task": "Task",
        "runner.errors": """
            AgentError AgentFileInvalid BoardBusy BoardError BoardNotFound BundledAgentBroken
            ClaimLost ConfigError ContextOverflow MailError ModelError ModelOverloaded
            ModelRejected ModelUnavailable NoModel NotClaimable RunnerError SaveFailed TaskHeld
            TaskNotFound TaskUnreadable ToolError UnknownAgent UnknownRecipient UnsafeName
            UsageError
        """,
        "runner.team.outcome": """
            Done Failed Faulted HandedBack LimitReached Lost Outcome Usage
        """,
    }.items()
    for name in names.split()
}

__all__ = [
    "AgentError",
    "AgentFileInvalid",
    "BoardBusy",
    "BoardError",
    "BoardNotFound",
    "BundledAgentBroken",
    "ClaimLost",
    "ConfigError",
    "ContextOverflow",
    "Done",
    "Failed",
    "Faulted",
    "HandedBack",
    "LimitReached",
    "Lost",
    "MailError",
    "ModelError",
    "ModelOverloaded",
    "ModelRejected",
    "ModelUnavailable",
    "NoModel",
    "NotClaimable",
    "Outcome",
    "RunnerError",
    "SaveFailed",
    "Task",
    "TaskHeld",
    "TaskNotFound",
    "TaskUnreadable",
    "ToolError",
    "UnknownAgent",
    "UnknownRecipient",
    "UnsafeName",
    "Usage",
    "UsageError",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value: object = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
