"""YAML that people wrote for us: safe, and strict where a mistake would go unseen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.errors import ConfigError


def read_yaml(path: Path) -> Mapping[Any, Any]:
    """The mapping in the file; empty without a file or with an empty one. Raises: ConfigError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(path, "", error.strerror or str(error), "a readable file") from error
    import yaml  # 20 ms that a board without team.yaml does not pay

    try:
        value = yaml.load(data, Loader=_strict_loader())  # noqa: S506 - a SafeLoader underneath
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(path, line, error.problem or str(error), "valid YAML") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(path, "", str(error), "YAML in UTF-8") from error
    if value is not None and not isinstance(value, dict):
        raise ConfigError(path, "", type(value).__name__, "a mapping of settings")
    return value or {}


def _strict_loader() -> Any:
    """PyYAML's safe loader, but a key that is there twice is an error: which one was meant?"""
    import yaml

    class StrictLoader(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key_node, _ in node.value:
                if key_node.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key_node.value!r} is there twice", node.start_mark
                    )
                seen.add(key_node.value if isinstance(key_node.value, str) else None)
            return super().construct_mapping(node, deep=deep)

    return StrictLoader
