"""Arguments of a tool call, checked against the tool's own schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.core.files import clean_text
from runner.errors import ToolError
from runner.work.json_values import kind_of


def checked_arguments(
    tool: str, parameters: Mapping[str, Any], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments that were given and fit; null for an optional one counts as not given.

    Knows the part of JSON Schema that our tools use: flat properties with a type (or several),
    `enum`, `minimum`, and arrays of one kind of item. Raises: ToolError, naming the argument.
    """
    properties: Mapping[str, Any] = parameters["properties"]
    required = parameters.get("required", ())
    given = {name: value for name, value in arguments.items() if value is not None}
    for name in required:
        if name not in given:
            raise ToolError(f"{tool}: the argument {name!r} is missing; {_usage(parameters)}")
    for name in given:
        if name not in properties:
            raise ToolError(f"{tool}: there is no argument {name!r}; {_usage(parameters)}")
    return {
        name: _checked(f"{tool}: the argument {name!r}", properties[name], value)
        for name, value in given.items()
    }


def _usage(parameters: Mapping[str, Any]) -> str:
    required = parameters.get("required", ())
    names = [name if name in required else f"{name}?" for name in parameters["properties"]]
    return f"arguments: {', '.join(names) or 'none'}"


def _checked(what: str, schema: Mapping[str, Any], value: Any) -> Any:
    kinds = schema["type"]
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(value, float) and value.is_integer() and "number" not in kinds:
        value = int(value)
    if not any(_is(kind, value) for kind in kinds):
        raise ToolError(f"{what} must be {' or '.join(kinds)}, not {kind_of(value)}")
    if "enum" in schema and value not in schema["enum"]:
        allowed = ", ".join(str(choice) for choice in schema["enum"])
        raise ToolError(f"{what} must be one of {allowed}")
    if "minimum" in schema and value < schema["minimum"]:
        raise ToolError(f"{what} must be at least {schema['minimum']}")
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list) and "items" in schema:
        return [_checked(f"{what}, item {n}", schema["items"], v) for n, v in enumerate(value, 1)]
    return value


def _is(kind: str, value: Any) -> bool:
    found = kind_of(value)
    return found == kind or (found == "integer" and kind == "number")
