"""Where the board is and where its run-time state lies."""

from __future__ import annotations

import contextlib
import json
import socket
from dataclasses import dataclass, field
from pathlib import Path

from runner.core.files import create_exclusive, encode_json
from runner.core.ids import random_id
from runner.errors import BoardNotFound

STATE_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The folders of one board. `root` holds `.tasks`; attempts work in `workspace`.

    `started_in` is the folder, there or below it, from which the board was looked for.
    """

    root: Path
    workspace: Path
    started_in: Path | None = field(default=None, compare=False)

    @property
    def agents_from(self) -> Path:
        """Where the search for agents begins, upward."""
        return self.started_in or self.workspace

    @property
    def tasks(self) -> Path:
        return self.root / ".tasks"

    @property
    def team(self) -> Path:
        return self.root / ".team"

    @property
    def lock_file(self) -> Path:
        return self.team / "board.lock"

    @property
    def runs(self) -> Path:
        return self.team / "runs"

    @property
    def inbox(self) -> Path:
        return self.team / "inbox"

    @property
    def requests(self) -> Path:
        return self.team / "requests"

    @property
    def transcripts(self) -> Path:
        return self.team / "transcripts"

    @property
    def output(self) -> Path:
        return self.team / "output"

    @property
    def config(self) -> Path:
        """The merged view of all rosters."""
        return self.team / "config.json"

    @property
    def cli_journal(self) -> Path:
        return self.team / "cli.jsonl"

    def journals(self) -> list[Path]:
        """The journal files of this board: every run's, and that of the commands."""
        return [*sorted(self.runs.glob("*.jsonl")), self.cli_journal]

    @property
    def team_yaml(self) -> Path:
        return self.root / "team.yaml"

    def ensure_team(self) -> None:
        """Make `.team/` with its `.gitignore` and the folders that are always there."""
        for folder in (self.team, self.runs, self.inbox, self.requests, self.transcripts):
            folder.mkdir(parents=True, exist_ok=True)
        ignore = self.team / ".gitignore"
        if not ignore.exists():
            create_exclusive(ignore, b"*\n")

    def place(self) -> str:
        """`HOST:ID`, which tells this folder on this machine from every copy of it."""
        self.ensure_team()
        path = self.team / "id"
        if not path.exists():
            create_exclusive(path, encode_json({"version": STATE_VERSION, "id": random_id()}))
        return f"{socket.gethostname()}:{_read_id(path)}"


def _read_id(path: Path) -> str:
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return str(json.loads(path.read_bytes())["id"])
    return "damaged"


def find_layout(start: Path) -> Layout:
    """The nearest board from `start` upward.

    In a linked git worktree the board is the one of the main checkout, where there is one; the
    workspace stays the worktree. Raises: BoardNotFound.
    """
    start = start.absolute()
    worktree, main = _linked_worktree(start)
    if worktree is not None and main is not None:
        for folder in (start, *start.parents):
            if not folder.is_relative_to(worktree):
                break
            root = main / folder.relative_to(worktree)
            if (root / ".tasks").is_dir():
                return Layout(root=root, workspace=folder, started_in=start)
    for folder in (start, *start.parents):
        if (folder / ".tasks").is_dir():
            return Layout(root=folder, workspace=folder, started_in=start)
    raise BoardNotFound(start)


def _linked_worktree(start: Path) -> tuple[Path | None, Path | None]:
    """(worktree, main checkout) if `start` lies in a linked git worktree.

    The format is git's own: `.git` is a file `gitdir: <main>/.git/worktrees/<name>`.
    """
    for folder in (start, *start.parents):
        dot_git = folder / ".git"
        if dot_git.is_dir():
            break
        if dot_git.is_file():
            with contextlib.suppress(OSError, UnicodeDecodeError):
                text = dot_git.read_text(encoding="utf-8").strip()
                target = (folder / text.removeprefix("gitdir:").strip()).resolve()
                if target.parent.name == "worktrees" and target.parent.parent.name == ".git":
                    return folder, target.parent.parent.parent
            break
    return None, None
