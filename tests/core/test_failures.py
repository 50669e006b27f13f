from __future__ import annotations

import pytest

from runner.core.failures import in_one_line, innermost


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no good"), "ValueError: no good"),
        (ValueError("first\nsecond"), "ValueError: first"),
        (ValueError(), "ValueError"),
        (
            ExceptionGroup("outer", [ExceptionGroup("inner", [KeyError("k"), ValueError()])]),
            "KeyError: 'k'",
        ),
    ],
)
def test_an_error_is_told_in_one_line(error: Exception, said: str) -> None:
    assert in_one_line(error) == said


def test_the_innermost_of_a_plain_error_is_itself() -> None:
    error = ValueError()
    assert innermost(error) is error
