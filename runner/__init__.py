"""An asyncio task runner whose workers are autonomous teammates on a board of task files.

The public names are those of `__all__`, and `runner.testing`. Each is loaded at first use, so that
`import runner` costs next to nothing.
"""

TYPE_CHECKING = False  # as typing has it; importing typing costs more than all of this file
if TYPE_CHECKING:
    from runner.agents.bundled import clear_bundled_agents_cache, load_bundled_agents
    from runner.agents.command_file import WorkflowCommand, expand_command
    from runner.agents.commands import Commands, discover_commands, get_command
    from runner.agents.definition import AgentDefinition
    from runner.agents.discovery import Discovery, discover_agents, get_agent
    from runner.board.board import Board
    from runner.board.task import Task
    from runner.core.layout import Layout
    from runner.core.settings import Budget, Limits, MemberSpec, Settings
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
        UnknownCommand,
        UnknownRecipient,
        UnsafeName,
        UsageError,
    )
    from runner.team.message import Message
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
    from runner.team.report import Report
    from runner.team.team import Team
    from runner.team.types import Assignment, Mail, Teammate, Work
    from runner.work.run import run_team

__version__ = "0.1.0"

_HOMES = {
    name: module
    for module, names in {
        "runner.agents.bundled": "clear_bundled_agents_cache load_bundled_agents",
        "runner.agents.command_file": "WorkflowCommand expand_command",
        "runner.agents.commands": "Commands discover_commands get_command",
        "runner.agents.definition": "AgentDefinition",
        "runner.agents.discovery": "Discovery discover_agents get_agent",
        "runner.board.board": "Board",
        "runner.board.task": "Task",
        "runner.core.layout": "Layout",
        "runner.core.settings": "Budget Limits MemberSpec Settings",
        "runner.errors": """
            AgentError AgentFileInvalid BoardBusy BoardError BoardNotFound BundledAgentBroken
            ClaimLost ConfigError ContextOverflow MailError ModelError ModelOverloaded
            ModelRejected ModelUnavailable NoModel NotClaimable RunnerError SaveFailed TaskHeld
            TaskNotFound TaskUnreadable ToolError UnknownAgent UnknownCommand
            UnknownRecipient UnsafeName UsageError
        """,
        "runner.team.message": "Message",
        "runner.team.outcome": """
            Done Failed Faulted HandedBack LimitReached Lost Outcome Usage
        """,
        "runner.team.report": "Report",
        "runner.team.team": "Team",
        "runner.team.types": "Assignment Mail Teammate Work",
        "runner.work.run": "run_team",
    }.items()
    for name in names.split()
}

__all__ = [
    "AgentDefinition",
    "AgentError",
    "AgentFileInvalid",
    "Assignment",
    "Board",
    "BoardBusy",
    "BoardError",
    "BoardNotFound",
    "Budget",
    "BundledAgentBroken",
    "ClaimLost",
    "Commands",
    "ConfigError",
    "ContextOverflow",
    "Discovery",
    "Done",
    "Failed",
    "Faulted",
    "HandedBack",
    "Layout",
    "LimitReached",
    "Limits",
    "Lost",
    "Mail",
    "MailError",
    "MemberSpec",
    "Message",
    "ModelError",
    "ModelOverloaded",
    "ModelRejected",
    "ModelUnavailable",
    "NoModel",
    "NotClaimable",
    "Outcome",
    "Report",
    "RunnerError",
    "SaveFailed",
    "Settings",
    "Task",
    "TaskHeld",
    "TaskNotFound",
    "TaskUnreadable",
    "Team",
    "Teammate",
    "ToolError",
    "UnknownAgent",
    "UnknownCommand",
    "UnknownRecipient",
    "UnsafeName",
    "Usage",
    "UsageError",
    "Work",
    "WorkflowCommand",
    "clear_bundled_agents_cache",
    "discover_agents",
    "discover_commands",
    "expand_command",
    "get_agent",
    "get_command",
    "load_bundled_agents",
    "run_team",
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
