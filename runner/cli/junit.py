"""The report of a run as JUnit XML, which most CI systems can show."""

from __future__ import annotations

import re
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.core.files import atomic_write, clean_text
from runner.errors import UsageError

# What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check_target(file: Path) -> None:
    """Make sure, before the work begins, that the report can be written. Raises: UsageError."""
    if not file.parent.is_dir():
        raise UsageError(f"--junit {file}: there is no folder {file.parent}")
    if file.exists() and not file.is_file():
        raise UsageError(f"--junit {file}: this is no file; name one")
    try:
        if file.exists() and not file.stat().st_mode & 0o222:
            raise UsageError(f"--junit {file}: the file is read-only (no write bits)")
        # tried, not asked for: a file system may be read-only whatever the bits say
        with tempfile.TemporaryFile(dir=file.parent):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"--junit {file}: {file.parent} cannot be written to: {reason}") from error


def write_junit(file: Path, report: Mapping[str, Any], subjects: Mapping[Any, str]) -> None:
    """One test case for each task: failed ones are failures, undone ones are skipped.

    `report` has the shape of `run --json`. Raises: SaveFailed.
    """
    tasks = [task for task in report["tasks"] if task["status"] != "deleted"]
    failed = [task for task in tasks if task["status"] == "failed"]
    undone = [task for task in tasks if task["status"] not in {"failed", "completed"}]
    suite = ET.Element(
        "testsuite",
        name=_text(report["team"]),
        tests=str(len(tasks)),
        failures=str(len(failed)),
        errors="0",
        skipped=str(len(undone)),
        time=f"{sum(task.get('seconds') or 0.0 for task in tasks):.3f}",
        timestamp=_text(report["started"]),
    )
    for task in tasks:
        suite.append(_case(task, report, subjects))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    atomic_write(file, data + b"\n")


def _case(
    task: Mapping[str, Any], report: Mapping[str, Any], subjects: Mapping[Any, str]
) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=_text(report["team"]),
        name=_text(f"{task['id']} {subjects.get(task['id'], '')}".strip()),
        time=f"{task.get('seconds') or 0.0:.3f}",
    )
    reason = _text(task.get("error") or task.get("reason") or task.get("state") or "")
    if task["status"] == "failed":
        ET.SubElement(case, "failure", message=reason.partition("\n")[0]).text = reason
    elif task["status"] != "completed":
        ET.SubElement(case, "skipped", message=reason)
    return case


def _text(value: object) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", clean_text(str(value)))
