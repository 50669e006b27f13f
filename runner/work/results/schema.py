"""Schemas of results: JSON Schema, or JSON Type Definition (RFC 8927) translated into it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runner.work.json_values import kind_of
from runner.work.results.jtd import SchemaInvalid, from_jtd, is_jtd
from runner.work.results.problems import in_json, problems_of
from runner.work.results.shape import shape, shortened

_SHOWN_ERRORS = 5
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSchema:
    """A schema that can be used, as JSON Schema, with the way it is shown to a model."""

    definition: Mapping[str, Any]

    def problems(self, value: Any) -> list[str]:
        """What is wrong with `value`, as `$.path: reason`; empty when it fits."""
        try:
            lines = problems_of(_validator(self.definition).iter_errors(value))
        except RecursionError:
            return ["$: nested too deeply to be checked"]
        more = len(lines) - _SHOWN_ERRORS
        return lines[:_SHOWN_ERRORS] + ([f"and {more} more"] if more > 0 else [])

    def has_field(self, name: str) -> bool:
        """Whether it names a field of this name for a whole value that is an object."""
        fields = self.definition.get("properties")
        return isinstance(fields, Mapping) and name in fields

    def shape(self) -> str:
        """The expected shape in a form that reads like the JSON itself."""
        return shape(self.definition)

    def references(self) -> tuple[str, ...]:
        """Every `$ref` in it."""
        return tuple(_references(self.definition))


def read_schema(written: Any) -> ResultSchema:
    """A schema of either kind, ready for use. Raises: SchemaInvalid."""
    if not isinstance(written, Mapping):
        raise SchemaInvalid(f"a schema must be an object, found {kind_of(written)}")
    definition = from_jtd(written) if is_jtd(written) else dict(written)
    _check_definition(definition)
    return ResultSchema(definition=definition)


def _check_definition(definition: Mapping[str, Any]) -> None:
    import jsonschema
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    try:
        validator_for(definition, default=jsonschema.Draft202012Validator).check_schema(
            dict(definition)
        )
    except jsonschema.SchemaError as error:
        raise SchemaInvalid(f"{error.json_path}: {shortened(in_json(error))}") from error
    resource = DRAFT202012.create_resource(definition)
    registry: Any = Registry().with_resource("", resource)
    for reference in _references(definition):
        try:
            registry.resolver().lookup(reference)
        except Unresolvable as error:
            raise SchemaInvalid(f"$ref {reference!r} leads nowhere inside the schema") from error


def _validator(definition: Mapping[str, Any]) -> Any:
    """A validator that never fetches anything: an outside `$ref` leads nowhere."""
    import jsonschema
    from jsonschema.validators import validator_for
    from referencing import Registry

    formats = jsonschema.FormatChecker(formats=())
    formats.checks("date-time")(_is_moment)
    kind: Any = validator_for(definition, default=jsonschema.Draft202012Validator)
    return kind(definition, registry=Registry(), format_checker=formats)


def _is_moment(value: object) -> bool:
    """Whether a text is a time as RFC 3339 writes it; the type is checked elsewhere."""
    if not isinstance(value, str):
        return True
    if not _MOMENT.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value.upper().replace(":60", ":59"))  # a leap second is none there
    except ValueError:
        return False
    return True


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "$ref" and isinstance(inner, str):
                yield inner
            else:
                yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)
