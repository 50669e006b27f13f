"""Result schemas of both kinds: read, checked, shown."""

from __future__ import annotations

from typing import Any

import pytest

from runner.work.results.jtd import SchemaInvalid, is_jtd
from runner.work.results.schema import read_schema

REVIEW: dict[str, Any] = {
    "properties": {
        "verdict": {"enum": ["ok", "not ok"]},
        "findings": {
            "elements": {
                "properties": {"file": {"type": "string"}, "line": {"type": "uint32"}},
                "optionalProperties": {"note": {"type": "string", "nullable": True}},
            }
        },
    }
}


def test_a_value_that_fits_a_type_definition_has_no_problems() -> None:
    findings = [{"file": "a.py", "line": 3, "note": None}]

    assert read_schema(REVIEW).problems({"verdict": "ok", "findings": findings}) == []


def test_every_problem_names_its_path() -> None:
    problems = read_schema(REVIEW).problems({"verdict": "ok", "findings": [{"line": -1}]})

    assert '$.findings[0]: "file" is a required property' in problems
    assert any(problem.startswith("$.findings[0].line: -1") for problem in problems)


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"type": "object"}, None, '$: null is not of type "object"'),
        ({"type": ["string", "null"]}, True, '$: true is not of type "string", "null"'),
        ({"enum": [True, None, "a"]}, False, '$: false is not one of [true, null, "a"]'),
        ({"const": {"a": None}}, [None], '$: {"a": null} was expected'),
        ({"type": "array", "maxItems": 1}, [None, True], "$: [null, true] is too long"),
        (
            {"properties": {"a": False}, "type": "object"},
            {"a": None},
            "$: nothing is allowed here, found null",
        ),
        ({"anyOf": [{"type": "string"}]}, [False], "$: [false] is not valid under any"),
    ],
)
def test_problems_speak_json(schema: Any, value: Any, said: str) -> None:
    (problem,) = read_schema(schema).problems(value)

    assert problem.startswith(said)


VARIANTS: dict[str, Any] = {
    "discriminator": "kind",
    "mapping": {
        "a": {"properties": {"n": {"type": "int32"}}},
        "b": {"properties": {"s": {"type": "string", "nullable": True}}},
    },
}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"kind": "a", "n": "x"}, ['$.n: "x" is not of type "integer"']),
        ({"kind": "b", "s": 1}, ["$.s: 1 is not valid under any of the given schemas"]),
        ({"kind": "c"}, ['$.kind: "c" is none of "a", "b"']),
        ({"kind": "b"}, ['$: "s" is a required property']),
        ([], ["$: [] is not valid under any of the given schemas"]),
    ],
)
def test_of_several_shapes_the_nearest_one_says_which_field_is_wrong(
    value: Any, said: list[str]
) -> None:
    assert read_schema(VARIANTS).problems(value) == said


def test_a_field_deep_in_something_that_may_be_null_is_named() -> None:
    inner = {"properties": {"y": {"type": "string"}}, "nullable": True}

    assert read_schema({"properties": {"x": inner}}).problems({"x": {"y": 3}}) == [
        '$.x.y: 3 is not of type "string"'
    ]


def test_a_value_that_fits_two_of_one_of_is_wrong_as_a_whole() -> None:
    schema = {"oneOf": [{"type": "integer"}, {"type": "number"}]}

    (problem,) = read_schema(schema).problems(1)

    assert problem.startswith("$: 1 is valid under each of")


def test_more_problems_than_can_be_read_are_counted() -> None:
    schema = read_schema({"elements": {"type": "string"}})

    assert schema.problems(list(range(9)))[-1] == "and 4 more"


def test_the_shape_reads_like_the_json_it_wants() -> None:
    shape = read_schema(REVIEW).shape()

    assert '"verdict": "ok" | "not ok"' in shape
    assert '"note" (optional): string | null' in shape
    assert shape.endswith('    "note" (optional): string | null\n  }, ...]\n}')


@pytest.mark.parametrize(
    ("schema", "fits", "fits_not"),
    [
        ({"values": {"type": "float64"}}, {"a": 1.5}, {"a": "x"}),
        ({"type": "int8"}, 127, 128),
        ({"type": "timestamp"}, "2026-01-01T00:00:00Z", 3),
        ({"type": "timestamp"}, "1990-12-31T23:59:60.5+01:00", "2026-01-01"),
        ({"type": "string", "format": "date-time"}, "2026-01-01t00:00:00z", "2026-13-01T00:00:00Z"),
        (
            {
                "discriminator": "kind",
                "mapping": {"cat": {"properties": {"lives": {"type": "int8"}}}},
            },
            {"kind": "cat", "lives": 9},
            {"kind": "dog"},
        ),
        (
            {
                "definitions": {"node": {"optionalProperties": {"next": {"ref": "node"}}}},
                "ref": "node",
            },
            {"next": {"next": {}}},
            {"next": 1},
        ),
        ({"optionalProperties": {"a": {"type": "string"}}}, {}, {"b": 1}),
        ({"properties": {}, "additionalProperties": True}, {"b": 1}, 1),
        ({"type": "object", "required": ["a"]}, {"a": 1}, {}),
        ({"$defs": {"a": {"type": "integer"}}, "$ref": "#/$defs/a"}, 1, "x"),
    ],
)
def test_schemas_of_both_kinds_take_what_fits_and_nothing_else(
    schema: dict[str, Any], fits: Any, fits_not: Any
) -> None:
    ready = read_schema(schema)

    assert ready.problems(fits) == []
    assert ready.problems(fits_not)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ("string", "must be an object"),
        ({"type": "flot"}, "flot"),
        ({"elements": {"type": "int64"}}, r'\$.elements: type "int64"'),
        ({"elements": 3}, r"\$.elements: a schema must be an object"),
        ({"elements": {}, "values": {}}, "exclude each other"),
        ({"properties": {"a": {}}, "optionalProperties": {"a": {}}}, "both required and optional"),
        ({"properties": [1], "nullable": True}, "properties: must be an object"),
        ({"discriminator": "kind", "mapping": {}}, "needs a text and a mapping"),
        ({"discriminator": "kind", "mapping": {"a": {"type": "string"}}}, "properties form"),
        ({"ref": "nowhere"}, "leads nowhere"),
        ({"$ref": "https://example.com/schema"}, "leads nowhere"),
        ({"type": "object", "properties": {"a": {"type": "float64"}}}, "float64"),
    ],
)
def test_a_schema_that_is_itself_wrong_is_refused_with_the_place(schema: Any, why: str) -> None:
    with pytest.raises(SchemaInvalid, match=why):
        read_schema(schema)


def test_a_schema_nested_beyond_reason_is_refused() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(80):
        schema = {"elements": schema}

    with pytest.raises(SchemaInvalid, match="deeper than"):
        read_schema(schema)


def test_a_schema_that_refers_to_itself_only_does_not_hang_or_crash_the_check() -> None:
    assert read_schema({"$ref": "#"}).problems(1) == ["$: nested too deeply to be checked"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, False),
        ({"properties": {"a": {"type": "string"}}}, True),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, False),
        ({"properties": {"a": {"type": "integer"}}}, False),
        ({"elements": {"type": "string"}}, True),
        ({"type": ["string", "null"]}, False),
        ({"type": "string"}, False),
    ],
)
def test_the_kind_of_a_schema_is_told_by_its_words(schema: dict[str, Any], expected: bool) -> None:
    assert is_jtd(schema) is expected


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"const": 3}, "3"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"type": "array"}, "[any, ...]"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, '{"<any key>": string}'),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}, "string"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "string | integer"),
        ({"type": "string", "format": "date-time"}, "string (date-time)"),
        ({"type": ["string", "null"], "enum": ["a", None]}, '"a" | null'),
        ({"type": ["array", "null"], "items": {"type": "string"}}, "[string, ...] | null"),
        ({"type": "integer", "minimum": 0, "maximum": 255}, "integer (0 to 255)"),
        ({"type": "integer", "minimum": 0, "maximum": 2**32 - 1}, "integer (at least 0)"),
        ({"type": "number", "maximum": 1.5}, "number (at most 1.5)"),
        ({"type": "string", "minLength": 1, "pattern": "a+"}, "string (a+, at least 1 characters)"),
        ({"type": "array", "maxItems": 3}, "[any, ...] (at most 3 items)"),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, "string"),
        ({"type": "string", "anyOf": [{"minLength": 3}, {"const": ""}]}, 'string and any | ""'),
        (
            {"properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]},
            '{\n  "a" (optional): string\n}',
        ),
        (
            {"type": ["string", "object"], "properties": {"a": {"type": "null"}}},
            'string | {\n  "a" (optional): null\n}',
        ),
        ({}, "any"),
    ],
)
def test_shapes(schema: dict[str, Any], shown: str) -> None:
    assert read_schema(schema).shape() == shown


def test_descriptions_are_shown_beside_their_field_in_one_short_line() -> None:
    field = {"type": "string", "metadata": {"description": "what\nwas found " + "x" * 400}}

    line = read_schema({"properties": {"summary": field}}).shape().splitlines()[1]

    assert line.startswith('  "summary": string   // what was found xxx')
    assert line.endswith("...")
