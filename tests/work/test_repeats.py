"""Going round in circles is noticed."""

from __future__ import annotations

import pytest

from runner.work.repeats import Repeats


def noted(turns: str) -> list[str | None]:
    repeats = Repeats()
    return [repeats.note(turn) for turn in turns]


@pytest.mark.parametrize(
    ("turns", "nudged_at", "failed_at"),
    [
        ("AAAAA", [3], 5),
        ("ABABABABAB", [6], 10),
        ("XYAAAAA", [5], 7),
        ("AABAABAAB", [], None),
        ("ABCABCABCABC", [], None),
        ("AABBAABB", [], None),
        ("AAABAAAB", [3, 7], None),
    ],
)
def test_a_nudge_at_the_third_round_and_the_end_at_the_fifth(
    turns: str, nudged_at: list[int], failed_at: int | None
) -> None:
    said = noted(turns)

    assert [n for n, word in enumerate(said, 1) if word == "nudge"] == nudged_at
    assert (("fail" in said and said.index("fail") + 1) or None) == failed_at
