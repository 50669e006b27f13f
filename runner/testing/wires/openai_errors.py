"""The errors of OpenAI's APIs, which both of them have in the same form."""

from __future__ import annotations

from runner.testing.wires.base import BadRequest, Json

_KINDS = {
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
}
TOO_LONG = "context_length_exceeded"


def error(status: int, message: str, code: str | None = None) -> Json:
    """The body of an error."""
    other = "server_error" if status >= 500 else "invalid_request_error"
    kind, usual = _KINDS.get(status, (other, None))
    return {"error": {"message": message, "type": kind, "param": None, "code": code or usual}}


def overflow(tokens: int, window: int) -> BadRequest:
    """What is said of a request that is longer than the window."""
    return BadRequest(
        f"This model's maximum context length is {window} tokens. However, your messages resulted "
        f"in {tokens} tokens. Please reduce the length of the messages.",
        code=TOO_LONG,
    )
