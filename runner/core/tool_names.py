"""The names of our tools, and which of them a name of another family means."""

from __future__ import annotations

READ_ONLY = ("read", "ls", "find", "grep", "list_tasks")
"""Those that change nothing; plan mode leaves only these."""

TOOLS = (*READ_ONLY, "write", "edit", "bash", "create_task", "claim_task", "send_message", "task")
"""Those that an agent can list, in the order in which they are offered."""

LOOP_TOOLS = frozenset({"submit_result", "idle"})
"""Offered and answered by the turn loop itself."""

NOT_BUILT = frozenset({"plan_approval", "report_finding"})
"""Known names that this version has no tool for."""

_MCP = "mcp__"
_NO_MCP = "tools of MCP servers are not part of this version"

SYNONYMS = {
    "read_file": "read",
    "readfile": "read",
    "view": "read",
    "cat": "read",
    "read_many_files": "read",
    "notebookread": "read",
    "write_file": "write",
    "writefile": "write",
    "create_file": "write",
    "edit_file": "edit",
    "multiedit": "edit",
    "multi_edit": "edit",
    "str_replace": "edit",
    "str_replace_editor": "edit",
    "str_replace_based_edit_tool": "edit",
    "replace": "edit",
    "apply_patch": "edit",
    "list": "ls",
    "list_directory": "ls",
    "list_dir": "ls",
    "list_files": "ls",
    "glob": "find",
    "find_files": "find",
    "file_search": "find",
    "search": "grep",
    "ripgrep": "grep",
    "rg": "grep",
    "grep_search": "grep",
    "search_file_content": "grep",
    "search_files": "grep",
    "shell": "bash",
    "exec": "bash",
    "execute": "bash",
    "exec_command": "bash",
    "local_shell": "bash",
    "run_command": "bash",
    "run_shell_command": "bash",
    "run_terminal_cmd": "bash",
    "terminal": "bash",
    "agent": "task",
    "taskcreate": "create_task",
    "task_create": "create_task",
    "tasklist": "list_tasks",
    "task_list": "list_tasks",
    "taskclaim": "claim_task",
    "sendmessage": "send_message",
    "subagent": "task",
    "spawn_agent": "task",
    "new_task": "task",
    "reportfinding": "report_finding",
    "planapproval": "plan_approval",
    "enterplanmode": "plan_approval",
    "enter_plan_mode": "plan_approval",
    "exitplanmode": "plan_approval",
    "exit_plan_mode": "plan_approval",
    "submitresult": "submit_result",
}


def canonical(name: str) -> str:
    """Our name for `name`; one that means nothing here comes back lower-cased."""
    name = name.strip().lower()
    return SYNONYMS.get(name, name)


def missing(name: str) -> str | None:
    """Why a tool that an agent file names is not there; None when it is."""
    ours = canonical(name)
    if ours in TOOLS or ours in LOOP_TOOLS:
        return None
    if ours in NOT_BUILT:
        return "not part of this version"
    return (
        "tools of MCP servers are not part of this version" if ours.startswith(_MCP) else "unknown"
    )
