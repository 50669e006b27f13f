from __future__ import annotations

import contextlib
import io
import json

from runner.core.log import get_logger


def test_a_log_line_goes_to_the_standard_error_of_the_moment_with_its_facts() -> None:
    log = get_logger("cli")
    with contextlib.redirect_stderr(io.StringIO()) as first:
        log.warning("file_skipped", file="a.md", text="Größe")
    with contextlib.redirect_stderr(io.StringIO()) as second:
        log.info("not_shown")
        log.error("file_lost", file="b.md")
    line = json.loads(first.getvalue())
    assert (
        line.items()
        >= {
            "event": "file_skipped",
            "component": "cli",
            "level": "warning",
            "file": "a.md",
            "text": "Größe",
        }.items()
    )
    assert [json.loads(text)["event"] for text in second.getvalue().splitlines()] == ["file_lost"]
