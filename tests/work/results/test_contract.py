"""What counts as a result."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from runner.work.results.contract import (
    MAX_BAD_RESULTS,
    NULL_DATA,
    Declared,
    Refused,
    ResultContract,
    Submitted,
    idle_spec,
)
from runner.work.results.schema import read_schema

SCHEMA = read_schema({"properties": {"summary": {"type": "string"}, "count": {"type": "uint8"}}})


def test_data_that_fits_is_the_result() -> None:
    data = {"summary": "fine", "count": 2}

    assert ResultContract(SCHEMA).judge({"data": data}) == Submitted(data=data)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "$.data: missing"),
        ({"summary": "x", "count": 1}, "`data`; found `summary`, `count` beside it"),
        ({"data": '{"summary": "x", "count": 1}'}, "$.data: a text that holds JSON"),
        ({"data": '{"summary": "x"}'}, 'is not of type "object"'),
        ({"data": "{"}, '$.data: "{" is not of type "object"'),
        ({"data": {"result": {"summary": "x"}}}, '$.data: "summary" is a required property'),
        ({"data": {"summary": "x", "count": "many"}}, '$.data.count: "many" is not of type'),
        ({"data": None}, '$.data: null is not of type "object"'),
        ({"error": 3}, "$.error: must be a text, found integer"),
        ({"data": {"summary": "x", "count": 1}, "error": "no"}, "either `data` or `error`"),
    ],
)
def test_a_bad_result_is_answered_with_what_is_wrong_and_the_shape_expected(
    arguments: dict[str, Any], named: str
) -> None:
    verdict = ResultContract(SCHEMA).judge(arguments)

    assert isinstance(verdict, Refused)
    assert named in verdict.reason
    assert '"count": integer' in verdict.reason


def test_a_schema_that_wants_findings_only_if_there_are_some_gets_none() -> None:
    findings = {"type": "array", "minItems": 1}
    schema = read_schema({"type": "object", "properties": {"findings": findings}})

    assert ResultContract(schema).judge({"data": {}}) == Submitted(data={})


def test_bad_results_are_bounded() -> None:
    contract = ResultContract(SCHEMA)
    for tried in range(MAX_BAD_RESULTS):
        assert not contract.exhausted, tried
        contract.judge({})

    assert contract.exhausted


def test_an_error_declares_the_task_as_not_possible() -> None:
    assert ResultContract(SCHEMA).judge({"error": "no network", "data": None}) == Declared(
        error="no network"
    )


def test_null_data_is_kept_with_a_warning_where_no_schema_forbids_it() -> None:
    assert ResultContract(None).judge({"data": None}) == Submitted(data=None, warnings=(NULL_DATA,))


def test_the_fourth_reminder_is_not_given() -> None:
    contract = ResultContract(None)

    given = [contract.remind() for _ in range(4)]

    assert all(text and "submit_result" in text for text in given[:3])
    assert given[3] is None


@pytest.mark.parametrize(
    "schema",
    [
        None,
        SCHEMA,
        read_schema({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}),
        read_schema({"type": "object", "properties": {"again": {"$ref": "#"}}}),
    ],
)
def test_the_submit_tool_always_has_a_valid_object_schema(schema: Any) -> None:
    parameters = dict(ResultContract(schema).spec().parameters)

    assert parameters["type"] == "object"
    jsonschema.Draft202012Validator.check_schema(parameters)
    assert jsonschema.Draft202012Validator(parameters).is_valid({"data": "text", "error": "x"}) or (
        schema is SCHEMA
    )


def test_idle_says_when_it_may_be_called() -> None:
    assert "Only without an open task" in idle_spec(open_task=True).description
    assert "open task" not in idle_spec(open_task=False).description
