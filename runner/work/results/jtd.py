"""JSON Type Definition (RFC 8927): recognised, and translated into JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runner.work.json_values import as_json, kind_of

MAX_DEPTH = 60
_JTD_TYPES: Mapping[str, Mapping[str, Any]] = {
    "boolean": {"type": "boolean"},
    "string": {"type": "string"},
    "timestamp": {"type": "string", "format": "date-time"},
    "float32": {"type": "number"},
    "float64": {"type": "number"},
    "int8": {"type": "integer", "minimum": -(2**7), "maximum": 2**7 - 1},
    "uint8": {"type": "integer", "minimum": 0, "maximum": 2**8 - 1},
    "int16": {"type": "integer", "minimum": -(2**15), "maximum": 2**15 - 1},
    "uint16": {"type": "integer", "minimum": 0, "maximum": 2**16 - 1},
    "int32": {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
    "uint32": {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
}
_FORMS = ("ref", "type", "enum", "elements", "properties", "values", "discriminator")
_ONLY_JTD = frozenset({"optionalProperties", "elements", "values", "discriminator", "ref"})
_ONLY_JSON_SCHEMA = frozenset(
    """
    $schema $id $ref $defs required items prefixItems allOf anyOf oneOf not const pattern minimum
    maximum minLength maxLength minItems maxItems patternProperties if then else format title
    """.split()
)


class SchemaInvalid(ValueError):
    """The schema itself cannot be used; the text says where and why."""


def is_jtd(written: Mapping[str, Any]) -> bool:
    """Whether this is JSON Type Definition.

    Marks of JSON Schema win over none; `properties` without any mark is JTD, where it says
    something: in JSON Schema it would allow everything.
    """
    marks = {mark for schema in _subschemas(written, 0) for mark in _marks(schema)}
    return "json-schema" not in marks and "jtd" in marks


def _marks(schema: Mapping[str, Any]) -> Iterator[str]:
    keys = set(schema)
    kind = schema.get("type")
    if keys & _ONLY_JSON_SCHEMA or isinstance(kind, list):
        yield "json-schema"
    if kind in ("object", "array", "integer", "number", "null"):
        yield "json-schema"
    if keys & _ONLY_JTD or isinstance(schema.get("nullable"), bool) or "properties" in keys:
        yield "jtd"
    if isinstance(kind, str) and kind in _JTD_TYPES and kind not in ("string", "boolean"):
        yield "jtd"


def _subschemas(schema: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return
    yield schema
    for key in ("elements", "values", "items"):
        yield from _subschemas(schema.get(key), depth + 1)
    for key in ("properties", "optionalProperties", "definitions", "mapping"):
        inner = schema.get(key)
        for value in inner.values() if isinstance(inner, Mapping) else ():
            yield from _subschemas(value, depth + 1)


def from_jtd(root: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema that says the same. Raises: SchemaInvalid, naming the place."""
    translated = _translate(root, "$", 0)
    definitions = _mapping(root, "definitions", "$")
    if definitions:
        translated["$defs"] = {
            name: _translate(schema, f"$.definitions.{name}", 0)
            for name, schema in definitions.items()
        }
    return translated


def _translate(schema: Any, at: str, depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        raise SchemaInvalid(f"{at}: a schema must be an object, found {kind_of(schema)}")
    if depth > MAX_DEPTH:
        raise SchemaInvalid(f"{at}: nested deeper than {MAX_DEPTH}")
    found = [key for key in _FORMS if key in schema]
    if "optionalProperties" in schema and "properties" not in schema:
        found.append("properties")
    if len(found) > 1:
        raise SchemaInvalid(f"{at}: {' and '.join(found)} exclude each other")
    translated = _form(found[0], schema, at, depth) if found else {}
    if schema.get("nullable") is True and translated:
        translated = {"anyOf": [translated, {"type": "null"}]}
    if text := _description(schema):
        translated["description"] = text
    return translated


def _form(form: str, schema: Mapping[str, Any], at: str, depth: int) -> dict[str, Any]:
    if form == "type":
        kind = schema["type"]
        if not isinstance(kind, str) or kind not in _JTD_TYPES:
            raise SchemaInvalid(f"{at}: type {as_json(kind)} is none of {', '.join(_JTD_TYPES)}")
        return dict(_JTD_TYPES[kind])
    if form == "ref":
        return {"$ref": f"#/$defs/{schema['ref']}"}
    if form == "enum":
        return {"enum": schema["enum"]}
    if form == "elements":
        inner = _translate(schema["elements"], f"{at}.elements", depth + 1)
        return {"type": "array", "items": inner}
    if form == "values":
        inner = _translate(schema["values"], f"{at}.values", depth + 1)
        return {"type": "object", "additionalProperties": inner}
    if form == "discriminator":
        return _discriminator(schema, at, depth)
    return _properties(schema, at, depth)


def _properties(schema: Mapping[str, Any], at: str, depth: int) -> dict[str, Any]:
    required = _mapping(schema, "properties", at)
    optional = _mapping(schema, "optionalProperties", at)
    if doubled := sorted(set(required) & set(optional)):
        raise SchemaInvalid(f"{at}: {', '.join(doubled)} cannot be both required and optional")
    return {
        "type": "object",
        "properties": {
            name: _translate(inner, f"{at}.{name}", depth + 1)
            for name, inner in {**required, **optional}.items()
        },
        "required": list(required),
        "additionalProperties": schema.get("additionalProperties") is True,
    }


def _discriminator(schema: Mapping[str, Any], at: str, depth: int) -> dict[str, Any]:
    tag = schema["discriminator"]
    variants = []
    for name, inner in _mapping(schema, "mapping", at).items():
        variant = _translate(inner, f"{at}.mapping.{name}", depth + 1)
        if variant.get("type") != "object" or "properties" not in variant:
            raise SchemaInvalid(f"{at}.mapping.{name}: must be of the properties form")
        variant["properties"] = {tag: {"const": name}, **variant["properties"]}
        variant["required"] = [tag, *variant["required"]]
        variants.append(variant)
    if not variants or not isinstance(tag, str):
        raise SchemaInvalid(f"{at}: discriminator needs a text and a mapping with its variants")
    return {"oneOf": variants}


def _mapping(schema: Mapping[str, Any], key: str, at: str) -> Mapping[str, Any]:
    inner = schema.get(key) or {}
    if not isinstance(inner, Mapping):
        raise SchemaInvalid(f"{at}.{key}: must be an object, found {kind_of(inner)}")
    return inner


def _description(schema: Mapping[str, Any]) -> str:
    metadata = schema.get("metadata")
    text = metadata.get("description") if isinstance(metadata, Mapping) else None
    text = text or schema.get("description")
    return text if isinstance(text, str) else ""
