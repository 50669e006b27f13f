"""report_finding: one thing that a review has found; the result has them all in the end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.core.ids import is_one_line
from runner.errors import ToolError
from runner.work.messages import ToolSpec
from runner.work.tools.base import Tool, in_thread, parameters
from runner.work.workspace import Workspace

_MOST_CERTAIN = 1


def check_finding(workspace: Workspace, **given: Any) -> str:
    """What is said to one that can be used. Raises: ToolError, naming the argument."""
    finding = finding_of(given, workspace.root)
    if not is_one_line(finding["title"]):
        raise _refused("title", "one line that says what goes wrong")
    if not finding["body"]:
        raise _refused("body", "a text that shows the fault")
    if finding.get("confidence", 0) > _MOST_CERTAIN:
        raise _refused("confidence", f"at most {_MOST_CERTAIN}")
    if "file" in finding:
        _check_place(workspace, finding)
    elif "line_start" in finding or "line_end" in finding:
        raise _refused("file", "given where lines are")
    return f"noted: {finding['priority']} {finding['title']}"


def finding_of(given: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """The finding as it stands in a result, its file seen from the root of the workspace."""
    finding = {key: given[key] for key in _PROPERTIES if given.get(key) is not None}
    for key, value in finding.items():
        if isinstance(value, str):
            finding[key] = value.strip()
        elif isinstance(value, float) and value.is_integer():
            finding[key] = int(value)
    if "file" in finding:
        path = Path(os.path.normpath(root / finding["file"]))
        finding["file"] = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
    if "line_start" in finding:
        finding.setdefault("line_end", finding["line_start"])
    return finding


def _check_place(workspace: Workspace, finding: Mapping[str, Any]) -> None:
    """A place that is not there is no evidence."""
    path = workspace.resolve(finding["file"])
    with workspace.opened(path) as file, os.fdopen(file, "rb", closefd=False) as stream:
        lines = sum(1 for _ in stream)
    start, end = finding.get("line_start"), finding.get("line_end")
    if end is None:
        return
    if start is None or end < start:
        raise _refused("line_end", "the last line, at or behind line_start")
    if end > lines:
        raise _refused("line_end", f"within the file: {finding['file']} has {lines} lines")


def _refused(argument: str, expected: str) -> ToolError:
    return ToolError(f"report_finding: the argument {argument!r} must be {expected}")


_LINE = {"type": "integer", "minimum": 1}
_PROPERTIES: Mapping[str, Mapping[str, Any]] = {
    "title": {"type": "string", "description": "One line: what goes wrong."},
    "body": {"type": "string", "description": "When, what happens instead, and the proof."},
    "priority": {
        "type": "string",
        "enum": ["P0", "P1", "P2", "P3"],
        "description": "P0: stops everything. P1: must be mended. P2: should be. P3: may be.",
    },
    "confidence": {"type": "number", "minimum": 0, "description": "0 to 1."},
    "file": {"type": "string", "description": "Path in the workspace."},
    "line_start": _LINE,
    "line_end": _LINE,
}

REPORT_FINDING = Tool(
    read_only=True,
    run=in_thread(check_finding),
    spec=ToolSpec(
        name="report_finding",
        description=(
            "Report one finding of a review. All of them join your result as `findings`: do not "
            "repeat them there."
        ),
        parameters=parameters("title body priority", **_PROPERTIES),
    ),
)
