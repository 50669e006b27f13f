"""Dying at a named step of a save, as a power cut would have it."""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path
from typing import get_args

from runner.core.files import Step, watch_steps

STEPS: tuple[Step, ...] = get_args(Step)
"""In their order: the temporary file is written, is on the disk; before and after the replace."""

CRASHED = 9
"""The exit status of a process that died here."""


def die_at(step: Step, *, nth: int = 1, file: str = "*") -> None:
    """End this process the nth time that a save of a file named like `file` comes to `step`.

    Nothing is cleaned up: no `finally`, no exit handler. `file` is a pattern for the file's name,
    `task_*.json` say. For a process of its own; calling it again replaces what was asked for.
    """
    left = nth

    def watch(reached: Step, path: Path) -> None:
        nonlocal left
        if reached == step and fnmatch.fnmatchcase(path.name, file):
            left -= 1
            if left == 0:
                os._exit(CRASHED)

    watch_steps(watch)
