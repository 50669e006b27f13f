"""What to say when a written-down model is asked for more turns than it has."""

from __future__ import annotations

from runner.work.messages import ModelRequest, UserTurn

_LONGEST = 400  # characters of a tool result that are told


def turns_text(count: int) -> str:
    """`1 turn`, `2 turns`."""
    return f"{count} turn" if count == 1 else f"{count} turns"


def last_refusal(request: ModelRequest) -> str:
    """`; the last tool result was: ...` if that was an error, which is then the real cause."""
    last = request.turns[-1] if request.turns else None
    results = last.results if isinstance(last, UserTurn) else ()
    if not results or not results[-1].is_error:
        return ""
    text = results[-1].text
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return f"; the last tool result was: {shown}"
