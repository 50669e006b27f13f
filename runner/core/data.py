"""The data folders that ship with the package."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def data_dir(name: str) -> Path:
    """`bundled_agents` or `tasks_example`: inside a wheel, or beside the package in a checkout.

    Raises: FileNotFoundError, when the installation lacks it.
    """
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"{name} is missing beside {_PACKAGE}: install boardrunner again")
