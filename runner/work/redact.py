"""Keeping our keys out of everything that is written or sent."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from runner.team.outcome import Done, Failed, Faulted, HandedBack, LimitReached, Outcome
from runner.work.json_values import with_texts
from runner.work.processes.environment import tool_environment

REDACTED = "[redacted]"
_SECRET_NAME = re.compile(r"key|token|secret|sig|auth|pass|code", re.IGNORECASE)
_SHORTEST_SECRET = 8  # shorter values are words such as `true` that occur everywhere


class Redactor:
    """Replaces the values of the variables that tools may not see."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        shown = tool_environment(environ)
        hidden = {name: value for name, value in environ.items() if name not in shown}
        found = {secret for name, value in hidden.items() for secret in _secrets(name, value)}
        values = {secret for secret in found if len(secret) >= _SHORTEST_SECRET}
        # in a JSON line a value may stand escaped
        forms = values | {json.dumps(value)[1:-1] for value in values}
        self._secrets = sorted(forms, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return text


def redacted(outcome: Outcome, redact: Callable[[str], str]) -> Outcome:
    """The outcome as it may stand in a file, a report, the journal."""
    match outcome:
        case Done():
            return replace(outcome, result=with_texts(outcome.result, redact))
        case Failed():
            result = with_texts(outcome.result, redact)
            return replace(outcome, error=redact(outcome.error), result=result)
        case LimitReached() | Faulted():
            return replace(outcome, error=redact(outcome.error))
        case HandedBack():
            return replace(outcome, reason=redact(outcome.reason))
        case _:
            return replace(outcome, found=redact(outcome.found))


@contextmanager
def redacting(redact: Callable[[str], str]) -> Iterator[None]:
    """What is raised in the block, and what it came from, says nothing secret any more.

    A crash is logged and told with its text, and a client library may put headers into it.
    """
    try:
        yield
    except Exception as error:
        one: BaseException | None = error
        while one is not None:
            one.args = tuple(redact(part) if isinstance(part, str) else part for part in one.args)
            one = one.__cause__ or one.__context__
        raise


def _secrets(name: str, value: str) -> Iterator[str]:
    """What of a hidden variable is secret: of git's own nothing, of an address only parts."""
    name = name.upper()
    if name.startswith("GIT_") or name.endswith("_MODEL"):
        return
    if name.endswith(("_BASE_URL", "_ENDPOINT")):
        yield from _secrets_of_address(value)
    else:
        yield value


def _secrets_of_address(url: str) -> Iterator[str]:
    """A password, and what a query calls a key, as they are written and as they are meant."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        pairs = (pair.partition("=") for pair in parts.query.split("&"))
        keys = [value for name, _, value in pairs if _SECRET_NAME.search(name)]
        for secret in (parts.password or "", *keys):
            yield secret
            yield unquote(secret)
