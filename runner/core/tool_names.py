"""The names of our tools, and which of them a name of another family means."""

from __future__ import annotations

import difflib
import re

READ_ONLY = ("read", "ls", "find", "grep", "list_tasks", "report_finding")
"""Those that change nothing; plan mode leaves only these."""

WITHOUT_RIGHTS = frozenset({"report_finding"})
"""Those that only shape the result of whoever has them."""

TOOLS = (*READ_ONLY, "write", "edit", "bash", "create_task", "claim_task", "send_message", "task")
"""Those that an agent can list, in the order in which they are offered."""

LOOP_TOOLS = frozenset({"submit_result", "idle"})
"""Offered and answered by the turn loop itself."""

_MEANINGS = {
    "read": "read_file readfile view cat read_many_files notebookread view_file open_file",
    "ls": "list list_directory list_dir list_files",
    "find": "glob find_files file_search glob_file_search",
    "grep": "search ripgrep rg grep_search search_file_content search_files grep_files",
    "list_tasks": "tasklist task_list taskget task_get tracker_list_tasks tracker_get_task",
    "write": "write_file writefile create_file write_to_file",
    "edit": "edit_file multiedit multi_edit str_replace str_replace_editor "
    "str_replace_based_edit_tool replace apply_patch apply_diff search_replace",
    "bash": "shell exec execute exec_command execute_command shell_command local_shell "
    "container.exec unified_exec run_command run_shell_command run_terminal_cmd "
    "run_in_terminal runinterminal terminal",
    "create_task": "taskcreate task_create tracker_create_task",
    "claim_task": "taskclaim task_claim",
    "send_message": "sendmessage",
    "task": "agent subagent spawn_agent new_task invoke_agent delegate_to_agent runsubagent",
    "submit_result": "submitresult complete_task attempt_completion yield",
    "plan_approval": "planapproval enterplanmode enter_plan_mode exitplanmode exit_plan_mode "
    "plan_enter plan_exit",
    "report_finding": "reportfinding",
}
"""Names of other families with the same meaning as one of ours, lower-cased, between blanks."""

SYNONYMS = {theirs: ours for ours, names in _MEANINGS.items() for theirs in names.split()}

_OURS_TO_COME = "plan_approval"
_OF_CLAUDE = """
    artifact askuserquestion bashoutput croncreate crondelete cronlist enterworktree exitworktree
    killbash killshell listagents listmcpresourcestool lsp monitor notebookedit powershell
    pushnotification readmcpresourcetool remotetrigger schedulewakeup shareonboardingguide skill
    slashcommand taskoutput taskstop taskupdate teamcreate teamdelete todoread todowrite toolsearch
    waitformcpservers webfetch websearch workflow
"""
_OF_CODEX = """
    close_agent get_memory image_generation js_repl list_mcp_resource_templates list_mcp_resources
    read_mcp_resource request_user_input resume_agent send_input tool_search tool_suggest
    update_plan view_image wait wait_agent web_search write_stdin
"""
_OF_GEMINI = """
    activate_skill ask_user cli_help codebase_investigator generalist get_internal_docs
    google_web_search save_memory tracker_add_dependency tracker_update_task tracker_visualize
    update_topic web_fetch write_todos
"""
_OF_XCSH = """
    ask ast_edit ast_grep await browser calc cancel_job checkpoint computer context_notes debug eval
    fetch forget generate_image github goal hub inspect_image job learn link manage_skill
    memory_edit mermaid new_context notebook poll puppeteer python recall reflect related
    render_mermaid resolve retain rewind search_tool_bm25 security_scan ssh think todo todo_write
"""
_OF_EDITORS = "codebase codebase_search question read_lints todoread todos web"

NOT_BUILT = frozenset(
    f"{_OURS_TO_COME} {_OF_CLAUDE} {_OF_CODEX} {_OF_GEMINI} {_OF_XCSH} {_OF_EDITORS}".split()
)
"""Names that are no mistake and that this version has no tool for."""

_MCP = "mcp_"
_NAMESPACE = re.compile(r"^(?:functions?|tools?|default_api)[.:/]+")
"""What models and their transcripts put in front of the name of any tool."""


def canonical(name: str) -> str:
    """Our name for `name`; one that means nothing here comes back lower-cased."""
    name = _NAMESPACE.sub("", name.strip().lower())
    return SYNONYMS.get(name, name)


def is_known(name: str) -> bool:
    """Whether it is the name of a tool, here or in one of the other families."""
    ours = canonical(name)
    return ours in TOOLS or ours in LOOP_TOOLS or ours in NOT_BUILT or ours.startswith(_MCP)


def missing(name: str) -> str | None:
    """Why a tool that an agent file names is not there; None when it is."""
    ours = canonical(name)
    if ours in TOOLS or ours in LOOP_TOOLS:
        return None
    if ours in NOT_BUILT:
        return "not part of this version"
    if ours.startswith(_MCP):
        return "tools of MCP servers are not part of this version"
    if ours == "*":
        return "* means every tool only where it stands alone"
    near = difflib.get_close_matches(ours, (*TOOLS, *SYNONYMS), n=1, cutoff=0.75)
    return f"unknown; did you mean {canonical(near[0])!r}?" if near else "unknown"
