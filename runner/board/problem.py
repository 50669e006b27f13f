"""Something on the board that a person should mend or know of."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "advice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One finding. `kind` is one of the words of `tasks check`; `id` is as written in the file."""

    severity: Severity
    kind: str
    file: str | None
    id: int | str | None
    message: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
