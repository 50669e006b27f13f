from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from runner.cli.junit import write_junit


def task(task_id: int, status: str, **facts: Any) -> dict[str, Any]:
    return {"id": task_id, "status": status, "state": status, "seconds": 1.5, **facts}


def written(folder: Path, *tasks: dict[str, Any]) -> ET.Element:
    report = {"team": "crew \x07", "started": "2026-01-01T00:00:00.000Z", "tasks": list(tasks)}
    write_junit(folder / "report.xml", report, {1: "Build <it> & \x1b go 🚀"})
    return ET.fromstring((folder / "report.xml").read_bytes())  # noqa: S314 - our own file


def test_each_task_is_a_case_failed_ones_fail_and_undone_ones_are_skipped(tmp_path: Path) -> None:
    root = written(
        tmp_path,
        task(1, "completed"),
        task(2, "failed", error="exit 1\nmore", seconds=None),
        task(3, "pending", reason="blocked by 2 (failed)"),
        task(4, "deleted"),
    )
    [suite] = root
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped", "time")} == {
        "tests": "3",
        "failures": "1",
        "skipped": "1",
        "time": "3.000",
    }
    first, second, third = suite
    assert list(first) == []
    failure, skipped = second.find("failure"), third.find("skipped")
    assert failure is not None
    assert (failure.get("message"), failure.text) == ("exit 1", "exit 1\nmore")
    assert skipped is not None
    assert skipped.get("message") == "blocked by 2 (failed)"


def test_text_that_xml_cannot_hold_is_replaced(tmp_path: Path) -> None:
    [suite] = written(tmp_path, task(1, "completed"))
    assert suite.get("name") == "crew \N{REPLACEMENT CHARACTER}"
    assert suite[0].get("name") == "1 Build <it> & \N{REPLACEMENT CHARACTER} go 🚀"
