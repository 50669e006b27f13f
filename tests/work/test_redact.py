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
