"""What the failure of a request means: try again, give up, or shorten the history.

The SDKs of both vendors raise errors of the same shape; they are read by their attributes, so that
none of them is imported here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from runner.core.clock import SystemClock
from runner.errors import ContextOverflow, ModelError, ModelOverloaded, ModelRejected

NOTHING_LEFT = 402
"""The status for an account without money, whatever status the server gave it."""
_LATER = frozenset({408, 409, 425, 429, 499})
_NEVER = frozenset({501, 505})
_TOO_LARGE = 413
_LONGEST = 600  # characters of a server's text that are told
_KINDS = {
    "authentication_error": 401,
    "permission_error": 403,
    "billing_error": NOTHING_LEFT,
    "not_found_error": 404,
    "request_too_large": _TOO_LARGE,
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "invalid_api_key": 401,
}
"""Kinds of errors inside a stream, which has the status 200."""
_NO_MONEY = re.compile(
    r"insufficient_quota|exceeded your current quota|credit balance is too low"
    r"|billing_error|billing_hard_limit",
    re.IGNORECASE,
)
_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|model_context_window_exceeded"
    r"|(?:prompt|input|request)\b.{0,40}\b(?:is|are) too (?:long|large)"
    r"|exceeds? (?:the |your )?(?:available |maximum |model's )?context"
    r"|exceeds? the context (?:window|limit|length|size)"
    r"|context limit|maximum context length|context (?:window|size|length) (?:of|is)\b.{0,60}exceed"
    r"|reduce the length of (?:the|your) (?:messages|prompt|input)",
    re.IGNORECASE | re.DOTALL,
)


def of_status(
    model: str, status: int, message: str, headers: Mapping[str, str], *, key: str = ""
) -> ModelError:
    """The error for an answer of this status; `key` says where the key comes from."""
    text = f"{model}: HTTP {status}: {_shortened(message)}"
    if _NO_MONEY.search(message):
        return ModelRejected(text, status=NOTHING_LEFT)
    if status == _TOO_LARGE or (status in (400, 422, 429, 500) and _OVERFLOW.search(message)):
        return ContextOverflow(text)
    if status in _LATER or (status >= 500 and status not in _NEVER):
        return ModelOverloaded(text, retry_after_s=retry_after_s(headers))
    if status in (401, 403) and key:
        text = f"{text} (the key comes from {key})"
    return ModelRejected(text, status=status)


def of_kind(model: str, kind: str, message: str) -> ModelError:
    """The error that a server told inside a stream which began well."""
    text = f"{kind}: {message}" if kind else message
    if _OVERFLOW.search(text):
        return ContextOverflow(f"{model}: {_shortened(text)}")
    if _NO_MONEY.search(text):
        return ModelRejected(f"{model}: {_shortened(text)}", status=NOTHING_LEFT)
    if kind in _KINDS:
        return of_status(model, _KINDS[kind], text, {})
    return ModelOverloaded(f"{model}: the answer broke off: {_shortened(text)}")


def of_error(model: str, error: Exception, *, key: str = "") -> ModelError:
    """The error for what an SDK raised: by its status, by a kind told in a stream, else the net."""
    status = getattr(error, "status_code", None)
    body = getattr(error, "body", None)
    response = getattr(error, "response", None)
    headers: Mapping[str, str] = getattr(response, "headers", {})
    message = told(body) or str(error)
    if isinstance(status, int) and status >= 400:
        return of_status(model, status, message, headers, key=key)
    if body:
        return of_kind(model, _kind(body), message)
    cause = error.__cause__
    why = f"{error} ({type(cause).__name__}: {cause})" if cause is not None else f"{error}"
    at = f" at {server}" if (server := _server(error)) else ""
    return ModelOverloaded(f"{model}{at}: {type(error).__name__}: {_shortened(why)}")


def cut(model: str, content_type: str) -> ModelOverloaded:
    """The error for a stream that ended before its end was told, or was none at all."""
    other = content_type and "event-stream" not in content_type
    found = f"{content_type} instead of a stream of events" if other else "a stream that was cut"
    return ModelOverloaded(f"{model}: the server answered with {found}")


@contextmanager
def understanding(model: str) -> Iterator[None]:
    """While an answer is read: what is not in the form of the API is no reply, as a page is none.

    Raises: ModelOverloaded.
    """
    try:
        yield
    except (TypeError, LookupError, AttributeError, RecursionError) as error:
        why = _shortened(f"{type(error).__name__}: {error}")
        text = "the server answered with something that is not in the form of its API"
        raise ModelOverloaded(f"{model}: {text} ({why})") from error


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The server's wish in seconds; None when there is none that can be read.

    A date counts from the server's own clock, where it is told: ours may be wrong.
    """
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    until = _date(headers.get("retry-after", ""))
    if until is None:
        return None
    now = _date(headers.get("date", "")) or SystemClock().now()
    return max((until - now).total_seconds(), 0.0)


def told(body: object) -> str:
    """What an error body says: its message with its kind or code, else the body itself."""
    inner = _inner(body)
    message = inner.get("message")
    if not isinstance(message, str):
        return body.strip() if isinstance(body, str) else str(body) if body else ""
    kinds = [str(inner[key]) for key in ("type", "code") if inner.get(key)]
    return f"{message} [{', '.join(kinds)}]" if kinds else message


def _server(error: Exception) -> str | None:
    """The address of the server that was asked; no path, query or user, which may hold keys."""
    try:
        url = getattr(getattr(error, "request", None), "url", None)
    except RuntimeError:  # httpx2's way to say that there is none
        return None
    if url is None:
        return None
    parts = urlsplit(str(url))
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _kind(body: object) -> str:
    inner = _inner(body)
    return str(inner.get("code") or inner.get("type") or "")


def _inner(body: object) -> Mapping[str, Any]:
    if not isinstance(body, dict):
        return {}
    error = body.get("error")
    return error if isinstance(error, dict) else body


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
