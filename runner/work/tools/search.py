"""find and grep: names and lines of the workspace."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio.to_thread

from runner.core.files import clean_text
from runner.errors import ToolError
from runner.work.messages import ToolSpec
from runner.work.processes.commands import run_command
from runner.work.tools import scan
from runner.work.tools.base import Tool, ToolContext, in_thread, parameters
from runner.work.workspace import Workspace

FIND_LIMIT = 1_000  # paths
GREP_TIMEOUT_S = 30.0
_GREP_OUTPUT = 131_072  # bytes
_MOST_VISITED = 500_000
_NO_LINES = 1


def find_paths(workspace: Workspace, pattern: str, path: str = ".") -> str:
    """Paths relative to the workspace, one a line; folders end in a slash."""
    start = _existing(workspace, path)
    prefix = _prefix(workspace, start)
    glob = scan.Glob(pattern)
    found: list[str] = []
    for count, (name, is_folder) in enumerate(scan.walk(str(start))):
        if count == _MOST_VISITED or len(found) == FIND_LIMIT:
            found.append("[stopped here; narrow the pattern or the path]")
            break
        if glob.matches(name):
            found.append(clean_text(f"{prefix}{name}{'/' if is_folder else ''}"))
    return "\n".join(found) or f"[nothing matches {pattern}]"


async def _grep(arguments: Mapping[str, Any], context: ToolContext) -> str:
    workspace = context.workspace
    path = await anyio.to_thread.run_sync(_existing, workspace, arguments.get("path", "."))
    query = scan.Query(
        path=str(path),
        label=_prefix(workspace, path),
        pattern=arguments["pattern"],
        glob=arguments.get("glob"),
        ignore_case=arguments.get("ignore_case", False),
        context=min(arguments.get("context", 0), 20),
    )
    return await grep_lines(query, context)


async def grep_lines(
    query: scan.Query, context: ToolContext, *, timeout_s: float = GREP_TIMEOUT_S
) -> str:
    """The lines that `query` finds, searched for in a process that can be killed."""
    program = [sys.executable, "-I", "-S", "-W", "ignore", scan.__file__]
    result = await run_command(
        [*program, json.dumps(dataclasses.asdict(query))],
        cwd=context.workspace.root,
        timeout_s=timeout_s,
        processes=context.teammate.processes,
        mark=context.leftovers.mark,
        output_limit=_GREP_OUTPUT,
        keep="ends",
    )
    if result.timed_out:
        raise ToolError(f"grep took over {timeout_s:g} s; narrow it or simplify the pattern")
    if result.exit == _NO_LINES:
        return "[no line matches]"
    if result.exit != 0:
        raise ToolError(f"grep: {result.output.strip()}")
    return result.output


def _prefix(workspace: Workspace, path: Path) -> str:
    """What stands before a name below `path`, so that the whole can be given to `read`."""
    if path == workspace.root:
        return ""
    return f"{workspace.name(path)}/" if path.is_dir() else workspace.name(path)


def _existing(workspace: Workspace, path: str) -> Path:
    found = workspace.resolve(path)
    if not found.exists():
        raise ToolError(f"{path}: no such file or directory")
    return found


FIND = Tool(
    read_only=True,
    run=in_thread(find_paths),
    spec=ToolSpec(
        name="find",
        description=(
            "Find files and folders by a glob: *.py (at any depth), src/**/test_*.py, "
            "*.{js,ts}. Folders of tools (.git, .venv, node_modules, caches) are left out."
        ),
        parameters=parameters(
            "pattern",
            pattern={"type": "string", "description": "The glob, relative to path."},
            path={"type": "string", "description": "Where to start; default: the workspace."},
        ),
    ),
)

GREP = Tool(
    read_only=True,
    run=_grep,
    spec=ToolSpec(
        name="grep",
        description=(
            "Search text files for lines that match a Python regular expression. Answers with "
            "file:line: text. Binary files, .git, .venv, "
            "node_modules and caches are left out."
        ),
        parameters=parameters(
            "pattern",
            pattern={"type": "string", "description": "The regular expression."},
            path={"type": "string", "description": "File or folder; default: the workspace."},
            glob={"type": "string", "description": "Only files that match, such as *.py."},
            ignore_case={"type": "boolean", "description": "Default false."},
            context={"type": "integer", "minimum": 0, "description": "Lines around each match."},
        ),
    ),
)
