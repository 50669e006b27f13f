"""What the failure of a request means."""

from __future__ import annotations

from typing import Any

import pytest

from runner.errors import ContextOverflow, ModelError, ModelOverloaded, ModelRejected
from runner.work.models.failures import of_error, of_kind, of_status, retry_after_s, told

LATER = [408, 409, 425, 429, 499, 500, 502, 503, 504, 529]


@pytest.mark.parametrize("status", LATER)
def test_some_statuses_mean_later(status: int) -> None:
    error = of_status("p/m", status, "busy", {"retry-after": "7"})

    assert isinstance(error, ModelOverloaded)
    assert error.retry_after_s == 7
    assert str(error) == f"p/m: HTTP {status}: busy"


@pytest.mark.parametrize(
    ("status", "of_account"),
    [(400, False), (401, True), (403, True), (404, True), (422, False), (501, False)],
)
def test_other_statuses_are_final_some_for_every_task(status: int, of_account: bool) -> None:
    error = of_status("p/m", status, "no", {})

    assert isinstance(error, ModelRejected)
    assert (error.status, error.is_about_account) == (status, of_account)


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 208310 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
        "Your input exceeds the context window of this model. Please adjust your input",
        "no words known [invalid_request_error, context_length_exceeded]",
        "the request exceeds the available context size. try increasing the context size",
        "Input is too long for requested model.",
        "Please reduce the length of the messages.",
    ],
)
def test_every_vendors_words_for_too_long_are_an_overflow(message: str) -> None:
    assert isinstance(of_status("p/m", 400, message, {}), ContextOverflow)


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 9000",
        "context: unknown parameter",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ],
)
def test_other_refusals_are_no_overflow(message: str) -> None:
    assert isinstance(of_status("p/m", 400, message, {}), ModelRejected)


def test_a_body_that_is_too_large_is_an_overflow() -> None:
    assert isinstance(of_status("p/m", 413, "request_too_large", {}), ContextOverflow)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (429, "You exceeded your current quota [insufficient_quota]"),
        (400, "Your credit balance is too low to access the API"),
    ],
)
def test_an_account_without_money_is_no_reason_to_try_again(status: int, message: str) -> None:
    error = of_status("p/m", status, message, {})

    assert isinstance(error, ModelRejected)
    assert error.is_about_account


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("overloaded_error", "busy", ModelOverloaded),
        ("", "who knows", ModelOverloaded),
        ("invalid_request_error", "no", ModelRejected),
        ("authentication_error", "no", ModelRejected),
        ("insufficient_quota", "no", ModelRejected),
        ("request_too_large", "no", ContextOverflow),
        ("context_length_exceeded", "no", ContextOverflow),
    ],
)
def test_an_error_inside_a_stream_is_judged_by_its_kind(
    kind: str, message: str, expected: type[ModelError]
) -> None:
    assert isinstance(of_kind("p/m", kind, message), expected)


DAY = "Tue, 01 Dec 2026 03:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "86400"}, 86_400),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Tue, 01 Dec 2026 03:00:30 GMT", "date": DAY}, 30),
        ({"retry-after": "Tue, 01 Dec 2026 03:00:30 -0000", "date": DAY}, 30),
        ({"retry-after": "Tue, 01 Dec 2026 02:00:00 GMT", "date": DAY}, 0),
        ({"retry-after": "Tue, 01 Dec 1998 02:00:00 GMT"}, 0),
    ],
)
def test_the_servers_wish_is_read_in_all_its_forms(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after_s(headers) == seconds


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"error": {"message": "no", "type": "t", "code": "c"}}, "no [t, c]"),
        ({"message": "no"}, "no"),
        ({"detail": "no"}, "{'detail': 'no'}"),
        (" <html> ", "<html>"),
        (None, ""),
    ],
)
def test_a_body_is_told_by_what_it_says(body: Any, text: str) -> None:
    assert told(body) == text


def test_a_long_text_of_a_server_is_shortened_and_put_into_one_line() -> None:
    error = of_status("p/m", 500, "<html>\n" + "x" * 5000, {})

    assert len(str(error)) < 700
    assert "\n" not in str(error)


def test_a_failure_of_the_network_names_the_server_and_no_secret_of_its_address() -> None:
    httpx2 = pytest.importorskip("httpx2")
    asked = httpx2.Request("POST", "http://user:pass@127.0.0.1:8080/v1/sk-1/chat?key=sk-2")
    failed = httpx2.ConnectError("refused", request=asked)

    text = str(of_error("p/m", failed))
    assert text == "p/m at http://127.0.0.1:8080: ConnectError: refused"
    assert str(of_error("p/m", httpx2.ReadError("cut"))) == "p/m: ReadError: cut"


def test_a_failure_of_the_network_names_its_cause() -> None:
    error = ValueError("stream ended")
    error.__cause__ = OSError("connection reset")

    assert str(of_error("p/m", error)).endswith(
        "ValueError: stream ended (OSError: connection reset)"
    )
