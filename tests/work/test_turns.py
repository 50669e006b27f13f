"""Turns as JSON: what cannot be read is told, not guessed."""

from __future__ import annotations

from typing import Any

import pytest

from runner.work.histories.turns import BadTurns, turns_from_json


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({}, "turns: {} is no list"),
        ([1], "turn: 1 is no object"),
        ([{"role": "user", "text": None}], "text: None is no text"),
        ([{"role": "tool", "text": ""}], "role: 'tool' is neither user nor assistant"),
        ([{"role": "user", "text": "", "results": [{"id": 1}]}], "id: 1 is no text"),
        ([{"role": "assistant", "text": "", "calls": [{"arguments": []}]}], "no object"),
        ([{"role": "assistant", "text": "", "calls": [], "native": 1}], "native: 1 is no object"),
    ],
)
def test_json_that_is_no_turn_of_ours_is_refused(value: Any, told: str) -> None:
    with pytest.raises(BadTurns, match=told):
        turns_from_json(value)
