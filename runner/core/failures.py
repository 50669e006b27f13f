"""What an exception says in one line."""

from __future__ import annotations


def innermost(error: BaseException) -> BaseException:
    """The first real error inside exception groups; any other error itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def in_one_line(error: BaseException) -> str:
    """`Type: message` of the real error; of a message of several lines the first."""
    real = innermost(error)
    message = str(real).strip().partition("\n")[0]
    return f"{type(real).__name__}: {message}" if message else type(real).__name__
