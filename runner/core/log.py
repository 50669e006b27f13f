"""Logs: structlog to standard error, snake_case events, facts as keys.

structlog is imported at the first line that is logged: it costs more than a whole `tasks ready`.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

_configured = False


def get_logger(name: str) -> Any:
    """A structlog logger; teammate and task are bound through `structlog.contextvars`."""
    import structlog

    global _configured
    if not _configured:
        _configure()
        _configured = True
    return structlog.get_logger(component=name)


def _configure() -> None:
    """Readable lines on a terminal, JSON lines elsewhere; only warnings and above."""
    import structlog

    on_terminal = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer()
            if on_terminal
            else structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        # looked up at each line: a live view or a test may have put another stream there
        logger_factory=lambda *_: structlog.WriteLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
