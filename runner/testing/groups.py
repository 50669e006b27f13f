"""Errors that come in groups."""

from __future__ import annotations


def first_error(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one real error, or the group when there are several."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
