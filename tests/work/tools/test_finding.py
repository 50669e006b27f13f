"""report_finding: what counts as a finding, and how it stands in a result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner.errors import ToolError
from runner.work.tools.finding import finding_of

if TYPE_CHECKING:
    from tests.work.tools.conftest import Bench

GOOD: dict[str, Any] = {"title": "It loses data", "body": "Whenever ...", "priority": "P0"}
PLACED = {**GOOD, "file": "a.py", "line_start": 2, "line_end": 3, "confidence": 0.9}


@pytest.fixture
def reviewed(bench: Bench) -> Bench:
    (bench.root / "a.py").write_text("1\n2\n3\n", encoding="utf-8")
    return bench


@pytest.mark.parametrize(
    "finding",
    [GOOD, PLACED, {**GOOD, "file": "a.py"}, {**GOOD, "file": "a.py", "line_start": 3}],
)
async def test_a_finding_is_noted(reviewed: Bench, finding: dict[str, Any]) -> None:
    assert await reviewed("report_finding", **finding) == "noted: P0 It loses data"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"title": " "}, "'title' must be one line"),
        ({"title": "two\nlines"}, "'title' must be one line"),
        ({"title": None}, "'title' is missing"),
        ({"body": "\n"}, "'body' must be a text that shows the fault"),
        ({"priority": "high"}, "'priority' must be one of P0, P1, P2, P3"),
        ({"confidence": 1.5}, "'confidence' must be at most 1"),
        ({"file": "none.py"}, "none.py: no such file"),
        ({"file": "../a.py"}, "outside the workspace"),
        ({"file": None}, "'file' must be given where lines are"),
        ({"line_start": 0}, "'line_start' must be at least 1"),
        ({"line_end": 1}, "'line_end' must be the last line, at or behind line_start"),
        ({"line_start": None}, "'line_end' must be the last line"),
        ({"line_end": 4}, "within the file: a.py has 3 lines"),
    ],
)
async def test_what_is_no_finding_is_refused_with_what_was_expected(
    reviewed: Bench, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(ToolError, match=said):
        await reviewed("report_finding", **PLACED | changed)


def test_in_a_result_it_is_plain_and_seen_from_the_workspace() -> None:
    root = Path("/work/here")
    given = {**PLACED, "file": "/work/here/x/../a.py ", "line_start": 2.0, "line_end": None}

    assert finding_of({**given, "title": " It loses data", "confidence": None}, root) == {
        **GOOD,
        "file": "a.py",
        "line_start": 2,
        "line_end": 2,
    }
    assert finding_of({**GOOD, "file": "/etc/passwd"}, root)["file"] == "/etc/passwd"
