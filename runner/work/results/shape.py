"""A JSON Schema shown in a form that reads like the JSON it wants."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MAX_SHOWN_DEPTH = 6


def shape(definition: Mapping[str, Any]) -> str:
    """The expected value, with `(optional)` and descriptions beside the fields."""
    return _shape(definition, definition, 0, "")


def _shape(schema: Any, root: Mapping[str, Any], depth: int, margin: str) -> str:
    """`margin` is what stands before the line that the value begins on."""
    if not isinstance(schema, Mapping) or depth > MAX_SHOWN_DEPTH:
        return "any"
    if "$ref" in schema:
        return _shape(_local(root, schema["$ref"]), root, depth + 1, margin)
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            return " | ".join(_shape(inner, root, depth + 1, margin) for inner in schema[key])
    if "const" in schema:
        return json.dumps(schema["const"], ensure_ascii=False)
    if isinstance(schema.get("enum"), list):
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    kind = schema.get("type")
    if kind == "array" or "items" in schema:
        return f"[{_shape(schema.get('items'), root, depth + 1, margin)}, ...]"
    if schema.get("properties"):
        return _object_shape(schema, root, depth, margin)
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f'{{"<any key>": {_shape(schema["additionalProperties"], root, depth + 1, margin)}}}'
    if isinstance(kind, list):
        return " | ".join(str(word) for word in kind)
    form = schema.get("format")
    return f"{kind} ({form})" if kind and isinstance(form, str) else str(kind or "any")


def _object_shape(
    schema: Mapping[str, Any], root: Mapping[str, Any], depth: int, margin: str
) -> str:
    required = schema.get("required") or ()
    inside = margin + "  "
    lines = []
    for name, inner in schema["properties"].items():
        text = inner.get("description") if isinstance(inner, Mapping) else None
        mark = "" if name in required else " (optional)"
        note = f"   // {shortened(str(text))}" if text else ""
        lines.append(f'{inside}"{name}"{mark}: {_shape(inner, root, depth + 1, inside)}{note}')
    return "{\n" + "\n".join(lines) + f"\n{margin}}}"


def _local(root: Mapping[str, Any], reference: Any) -> Any:
    value: Any = root
    for part in str(reference).removeprefix("#").split("/")[1:]:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def shortened(text: str, limit: int = 300) -> str:
    """One line of at most `limit` characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3] + "..."
