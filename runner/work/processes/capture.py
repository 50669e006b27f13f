"""Output of a command, kept within a bound and always valid text."""

from __future__ import annotations

import codecs
from typing import Literal

Keep = Literal["tail", "ends"]
_LONGEST_SEQUENCE = 4  # bytes of one UTF-8 character


class Capture:
    """Takes bytes as they come and keeps at most `limit` of them.

    `tail` keeps the last ones; `ends` keeps as many of the first as of the last and says in
    between how much was left out.
    """

    def __init__(self, limit: int, keep: Keep = "tail") -> None:
        self._head_limit = limit // 2 if keep == "ends" else 0
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def feed(self, data: bytes) -> None:
        self._total += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        # trimmed at twice the bound, so that small pieces do not move the whole tail each time
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit]

    @property
    def truncated(self) -> bool:
        return self._total > self._head_limit + self._tail_limit

    def text(self) -> str:
        """UTF-8 with U+FFFD for what is not; a cut never falls inside a character."""
        if not self.truncated:
            return bytes(self._head + self._tail).decode("utf-8", "replace")
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))
        tail = _from_character(bytes(self._tail[-self._tail_limit :])).decode("utf-8", "replace")
        if not self._head_limit:
            return tail
        left_out = self._total - self._head_limit - self._tail_limit
        return f"{head}\n[... {left_out} bytes left out ...]\n{tail}"


def _from_character(data: bytes) -> bytes:
    """`data` without the rest of a character whose first bytes were cut off."""
    for start in range(min(_LONGEST_SEQUENCE, len(data))):
        if data[start] & 0xC0 != 0x80:
            return data[start:]
    return data
