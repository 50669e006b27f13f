"""Keys do not get into what we write."""

from __future__ import annotations

import json

from runner.work.redact import Redactor

ENVIRON = {
    "ANTHROPIC_API_KEY": 'sk-test-"123"-abc',
    "OPENAI_BASE_URL": "http://localhost:8000",
    "OPENAI_API_KEY": "short",
    "GIT_AUTHOR_NAME": "Somebody Known",
    "PATH": "/usr/bin:/bin",
}


def test_the_value_of_a_key_is_replaced_plain_and_inside_json() -> None:
    redact = Redactor(ENVIRON)
    key = ENVIRON["ANTHROPIC_API_KEY"]

    assert redact(f"KEY={key}!") == "KEY=[redacted]!"
    assert key not in json.loads(redact(json.dumps({"text": key})))["text"]


def test_words_that_are_no_secrets_stay() -> None:
    text = "http://localhost:8000 short Somebody Known /usr/bin:/bin"

    assert Redactor(ENVIRON)(text) == text


def test_of_an_address_the_secret_parts_are_replaced() -> None:
    url = "https://me:pass%2Fword@host/v1?key=sk-test-123&api-version=2026-01-01-preview"
    redact = Redactor({"OPENAI_BASE_URL": url, "AZURE_OPENAI_ENDPOINT": "http://[broken"})

    assert redact(f"no answer from {url}") == (
        "no answer from https://me:[redacted]@host/v1?key=[redacted]&api-version=2026-01-01-preview"
    )
    assert redact("pass/word at http://host") == "[redacted] at http://host"
