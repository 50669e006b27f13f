"""A JSON Schema shown in a form that reads like the JSON it wants."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MAX_SHOWN_DEPTH = 6
_ANY = "any"
_TECHNICAL = 1_000_000
_BOUNDS = {
    ("minimum", "maximum"): "",
    ("minLength", "maxLength"): " characters",
    ("minItems", "maxItems"): " items",
}


def shape(definition: Mapping[str, Any]) -> str:
    """The expected value, with `(optional)`, limits and descriptions beside the fields."""
    return _shape(definition, definition, 0, "")


def _shape(schema: Any, root: Mapping[str, Any], depth: int, margin: str) -> str:
    """`margin` is what stands before the line that the value begins on."""
    if not isinstance(schema, Mapping) or depth > MAX_SHOWN_DEPTH:
        return _ANY
    if "$ref" in schema:
        return _shape(_local(root, schema["$ref"]), root, depth + 1, margin)
    if "const" in schema:
        return json.dumps(schema["const"], ensure_ascii=False)
    if isinstance(schema.get("enum"), list):
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if isinstance(kinds := schema.get("type"), list):
        each = (_shape({**schema, "type": kind}, root, depth, margin) for kind in kinds)
        return " | ".join(dict.fromkeys(each))
    parts = [
        _plain_shape(schema, root, depth, margin),
        " | ".join(_each(schema.get("anyOf"), root, depth, margin)),
        " | ".join(_each(schema.get("oneOf"), root, depth, margin)),
        *_each(schema.get("allOf"), root, depth, margin),
    ]
    # what only names required fields, for example, has no shape of its own
    told = [part for part in parts if set(part.split()) - {_ANY, "|"}]
    return " and ".join(told) or _ANY


def _each(schemas: Any, root: Mapping[str, Any], depth: int, margin: str) -> list[str]:
    listed = schemas if isinstance(schemas, list) else []
    return [_shape(one, root, depth + 1, margin) for one in listed]


def _plain_shape(
    schema: Mapping[str, Any], root: Mapping[str, Any], depth: int, margin: str
) -> str:
    """Without what stands in other schemas beside it."""
    kind = schema.get("type")
    if kind == "array" or (kind is None and "items" in schema):
        item = _shape(schema.get("items"), root, depth + 1, margin)
        return f"[{item}, ...]{_limits(schema)}"
    if schema.get("properties") and kind in ("object", None):
        return _object_shape(schema, root, depth, margin)
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f'{{"<any key>": {_shape(schema["additionalProperties"], root, depth + 1, margin)}}}'
    return f"{kind}{_limits(schema)}" if kind else _ANY


def _limits(schema: Mapping[str, Any]) -> str:
    """What else holds for a value, in parentheses; bounds of machine numbers are not told."""
    told = [str(schema[key]) for key in ("format", "pattern") if key in schema]
    for (least, most), unit in _BOUNDS.items():
        low, high = (_bound(schema.get(key)) for key in (least, most))
        if low and high:
            told.append(f"{low} to {high}{unit}")
        elif low or high:
            told.append(f"at least {low}{unit}" if low else f"at most {high}{unit}")
    return f" ({', '.join(told)})" if told else ""


def _bound(value: Any) -> str:
    return str(value) if isinstance(value, int | float) and abs(value) < _TECHNICAL else ""


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
