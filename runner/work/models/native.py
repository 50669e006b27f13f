"""Turns that go back to the API they came from, word for word."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from runner.work.messages import AssistantTurn, Native, Turn

_SEALED = ("signature", "data", "encrypted_content", "reasoning_content", "reasoning")
"""The keys of a block whose text the API checks when it comes back."""


def seals(native: Native) -> Iterator[int]:
    """What tells the thinking in this turn from any other; hashes, for seals are long."""
    for block in native.blocks:
        for key in _SEALED:
            value = block.get(key)
            if isinstance(value, str) and value:
                yield hash(value)


def all_seals(turns: Iterable[Turn]) -> frozenset[int]:
    """The seals of all thinking in these turns."""
    return frozenset(
        seal
        for turn in turns
        if isinstance(turn, AssistantTurn) and turn.native is not None
        for seal in seals(turn.native)
    )


def blocks_for(
    turn: AssistantTurn, form: str, model: str, spoilt: Collection[int]
) -> tuple[Mapping[str, Any], ...] | None:
    """The blocks that may go back to `model` in this form; None when the turn is to be rebuilt.

    `spoilt` are seals that the API has refused.
    """
    native = turn.native
    if native is None or native.form != form or native.model != model:
        return None
    return None if spoilt and any(seal in spoilt for seal in seals(native)) else native.blocks
