"""The findings that an attempt has reported, read from its transcript."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.core.json_lines import objects_in
from runner.work.results.findings import Finding
from runner.work.tools.finding import REPORT_FINDING, finding_of

_MARKS = (REPORT_FINDING.spec.name.encode(), b'"resumed"')


def findings_in(transcript: Path, root: Path) -> list[Finding]:
    """Those whose call went well, in order, also of the attempts that this one goes on from.

    The transcript keeps them whatever becomes of the history. `root` is that of the workspace. One
    thread hop.
    """
    found: list[Finding] = []
    asked: dict[object, Mapping[str, Any]] = {}
    with transcript.open("rb") as lines:
        # most lines are of other calls, and reading them as JSON is what costs time
        marked = b"".join(line for line in lines if any(mark in line for mark in _MARKS))
    for line in objects_in(marked):
        match line:
            case {"kind": "resumed", "file": str(earlier)}:
                with contextlib.suppress(FileNotFoundError):  # somebody has tidied up
                    found += findings_in(Path(earlier), root)
            case {"kind": "call", "name": str(name), "id": call, "arguments": dict(given)}:
                if name == REPORT_FINDING.spec.name:
                    asked[call] = given
            case {"kind": "result", "id": call, "isError": False} if call in asked:
                found.append(finding_of(asked.pop(call), root))
    return found
