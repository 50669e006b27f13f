"""What an attempt or a run has used of models, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.cli.output import counted


def used(usage: Mapping[str, Any]) -> str:
    """`3 turns, 5 calls, 12,345 tokens in, 456 out, $0.0312`; empty if no model was asked.

    `usage` is that of a task file or the totals of a run; what is no number in it is left out.
    """
    turns, calls = _number(usage, "turns"), _number(usage, "toolCalls")
    read, written = _number(usage, "inputTokens"), _number(usage, "outputTokens")
    if not turns:
        return ""
    parts = [counted(int(turns), "turn"), counted(int(calls), "call")]
    if read or written:
        parts += [f"{int(read):,} tokens in", f"{int(written):,} out", _price(usage.get("usd"))]
    return ", ".join(part for part in parts if part)


def _number(usage: Mapping[str, Any], key: str) -> float:
    value = usage.get(key)
    return value if isinstance(value, int | float) else 0


def _price(usd: object) -> str:
    """Empty where it costs nothing: a model of one's own."""
    if usd is None:
        return "price unknown"
    if not isinstance(usd, int | float) or not usd:
        return ""
    return f"${usd:.2f}" if usd >= 1 else f"${usd:.4f}"
