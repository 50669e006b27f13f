"""Findings that an agent has reported one by one, joined to the result that it hands in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

FINDINGS = "findings"
Finding = Mapping[str, Any]


def with_findings(data: Any, findings: Sequence[Finding]) -> dict[str, Any]:
    """`data` with the reported findings in front of those that it has itself.

    One of its own under a title that was reported is the same again. Data that is no object
    becomes the `summary` beside them.
    """
    whole = _as_object(data)
    own = whole.get(FINDINGS)
    titles = {finding["title"] for finding in findings}
    more = [one for one in own if _title(one) not in titles] if isinstance(own, list) else []
    return {**whole, FINDINGS: [*findings, *more]}


def _as_object(data: Any) -> dict[str, Any]:
    if isinstance(data, Mapping):
        return dict(data)
    return {} if data is None else {"summary": data}


def _title(finding: Any) -> Any:
    return finding.get("title") if isinstance(finding, Mapping) else None
