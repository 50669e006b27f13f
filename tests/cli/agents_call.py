"""`runner agents` in this process, and agent files to look at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from runner.cli.agents import command

CASES = Path(__file__).parent.parent / "data" / "cases"
KEYS = (
    "name description source file tools spawns model thinkingLevel output blocking shadows".split()
)


def call(
    root: Path, *argv: str, stdin: bytes = b"", at: Path | None = None
) -> tuple[int, str, str]:
    """Run `runner agents ...` in `at` or `root`, with `root/home` as home.

    Gives exit code, standard output, standard error.
    """
    runner = CliRunner(env={"HOME": str(root / "home")}, catch_exceptions=False)
    result = runner.invoke(command, argv, input=stdin, obj=at or root, standalone_mode=False)
    return result.return_value or 0, result.stdout, result.stderr


def call_json(root: Path, *argv: str, stdin: bytes = b"", at: Path | None = None) -> Any:
    """The one JSON document; `NaN` and the like are no JSON."""
    out = call(root, *argv, "--json", stdin=stdin, at=at)[1]
    return json.loads(out, parse_constant=refuse)


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def write(root: Path, file: str, text: str) -> Path:
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def agent(name: str, *lines: str, body: str = "Work.") -> str:
    """The text of an agent file with further lines of front matter."""
    head = "".join(f"{line}\n" for line in (f"name: {name}", "description: Does it", *lines))
    return f"---\n{head}---\n{body}\n"
