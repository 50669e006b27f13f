"""Any schema that is accepted can be shown, and any value can be checked against it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.work.results.contract import Declared, ResultContract, Submitted
from runner.work.results.jtd import SchemaInvalid
from runner.work.results.schema import read_schema

KINDS = st.sampled_from(
    "string integer number boolean null object array int8 uint32 float64 timestamp".split()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abk"), inner),
    max_leaves=8,
)


def some_keys(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(st.sampled_from("abk"), inner, max_size=3)
    several = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(("properties", "optionalProperties", "mapping", "$defs"), named),
            **dict.fromkeys(("anyOf", "oneOf", "allOf"), several),
            **dict.fromkeys(("items", "elements", "values", "additionalProperties"), inner),
            "type": KINDS | st.lists(KINDS, min_size=1, max_size=2, unique=True),
            "required": st.lists(st.sampled_from("abk"), unique=True),
            "enum": st.lists(JSON, min_size=1, max_size=3),
            "const": JSON,
            "discriminator": st.just("k"),
            "nullable": st.booleans(),
            "minimum": st.integers(-5, 5),
            "maxItems": st.integers(0, 3),
            "format": st.sampled_from(["date-time", "email"]),
        },
    )


SCHEMAS = st.recursive(st.fixed_dictionaries({"type": KINDS}), some_keys, max_leaves=8)


@given(SCHEMAS, JSON)
def test_what_is_accepted_is_shown_and_checks_everything(
    written: Mapping[str, Any], value: Any
) -> None:
    try:
        schema = read_schema(written)
    except SchemaInvalid:
        return
    problems = schema.problems(value)
    assert schema.shape().strip()
    assert all(line.startswith(("$", "and ")) for line in problems)
    verdict = ResultContract(schema).judge({"data": value})
    assert not isinstance(verdict, Declared)
    if not problems:
        assert isinstance(verdict, Submitted)


@pytest.mark.parametrize("value", [{"a": []}, {"a": [{"a": [3]}]}])
def test_a_schema_that_holds_itself_is_shown_to_a_depth(value: Any) -> None:
    schema = read_schema(
        {"definitions": {"n": {"properties": {"a": {"elements": {"ref": "n"}}}}}, "ref": "n"}
    )

    assert "any" in schema.shape()
    assert bool(schema.problems(value)) is (value != {"a": []})
