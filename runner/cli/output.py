"""What the command line prints: one JSON document, or plain lines; tables are in `tables`.

Facts and results go to standard output, notes and errors to standard error. A reader that went
away (`runner ... | head -1`) silences the output; the command itself goes on to its end, so its
exit code and its work stay what they were.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import select
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from runner.core.files import clean_text

if TYPE_CHECKING:
    from rich.console import Console

STYLES: Mapping[str, str] = {
    "done": "green",
    "running": "cyan",
    "ready": "white",
    "blocked": "yellow",
    "failed": "red",
    "working": "cyan",
    "idle": "dim",
    "shutdown": "dim",
    "completed": "green",
    "in_progress": "cyan",
}
"""The colours of states of tasks and teammates."""
_SILENCED: list[TextIO] = []
_TURNING = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]  # the direction of what follows
_CONTROL = dict.fromkeys(
    [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *_TURNING],
    " ",
)
_STEERING = {code: blank for code, blank in _CONTROL.items() if chr(code) not in "\n\t"}


def prepare() -> None:
    """Make the standard streams safe to use, whatever they are.

    A closed descriptor 0, 1 or 2 is taken by the null device, so that no lock or pipe of ours gets
    its number; text that a stream cannot encode is replaced.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or _null_stream()
    sys.stderr = sys.stderr or _null_stream()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _null_stream() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - lives as long as we do


def say(text: str = "") -> None:
    """One line (or several) to standard output."""
    _write(sys.stdout, text + "\n")


def note(text: str) -> None:
    """One line to standard error: what is not part of the answer."""
    _write(sys.stderr, text + "\n")


def warn(warnings: Iterable[str]) -> None:
    """Each on a line of standard error."""
    for warning in warnings:
        note(f"warning: {one_line(warning)}")


def say_text(text: str) -> None:
    """Text of several lines, whose spaces mean something, to standard output."""
    for line in text.split("\n"):
        say(spaced_line(line))


def print_json(value: Any) -> None:
    """`value` as the one JSON document on standard output.

    Readable non-ASCII where the stream can hold it, escapes where it cannot.
    """
    say(json_text(value, indent=2, escape=not _holds_unicode(sys.stdout)))


def json_text(value: Any, *, indent: int | None = None, escape: bool = True) -> str:
    """`value` as JSON. What JSON has no number for is null; with `escape` the text is ASCII."""

    def dumped(plain: Any) -> str:
        return json.dumps(plain, indent=indent, ensure_ascii=escape, default=str, allow_nan=False)

    try:
        return clean_text(dumped(value))
    except ValueError:
        return clean_text(dumped(_finite(value)))


def _finite(value: Any) -> Any:
    """`value` with null for each NaN and infinity in it."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_error(message: str, *, code: int, as_json: bool) -> int:
    """Tell why the command ends with `code`, and return `code`.

    With `as_json` the document `{"error", "exit"}` is on standard output beside the message.
    """
    note(f"runner: {message.translate(_STEERING)}")
    if as_json:
        print_json({"error": message, "exit": code})
    return code


def _holds_unicode(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "") == "utf8"


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        silence(stream)


def silence(stream: TextIO) -> None:
    """Nobody reads `stream` any more: what is still written to it goes to the null device."""
    _SILENCED.append(stream)
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def reader_left() -> bool:
    """Whether standard output is a pipe that nobody reads any more; known without writing to it."""
    if sys.stdout in _SILENCED:
        return True
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # no descriptor at all, as under a test
        return False
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def one_line(value: object) -> str:
    """Text of a board, a file or a model, made fit for one line of a terminal.

    Control characters (line breaks, escape sequences) become spaces; None is empty.
    """
    if value is None:
        return ""
    return " ".join(clean_text(str(value)).translate(_CONTROL).split())


def spaced_line(line: str) -> str:
    """Like `one_line` for a line whose spaces mean something (indented text, a drawing)."""
    return clean_text(line).translate(_CONTROL).rstrip()


def cut(text: str, length: int) -> str:
    """At most `length` characters of `text`; an ellipsis at the end stands for what is left out."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def duration(seconds: float) -> str:
    """`4.2s`, `2:05`, `1:02:03`."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def is_terminal() -> bool:
    """Whether a person watches standard output."""
    return sys.stdout.isatty()


def console() -> Console:
    """A rich console on standard output that takes no text for markup."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False)


def counted(number: int, noun: str) -> str:
    """`1 problem`, `2 problems`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
