from __future__ import annotations

from typing import Any

import pytest
import yaml

from runner.agents.yaml12 import MAX_DEPTH, NotOneMapping, Unparsable, load_mapping


def value(text: str) -> Any:
    return load_mapping(f"key: {text}")[0]["key"]


@pytest.mark.parametrize(
    "text",
    "yes no on off y N 2026-01-02 1:30 12:30:45 1_000 0b1 .inf -.inf .nan 1e999 0x 1.2.3".split(),
)
def test_words_that_json_cannot_hold_or_yaml_12_does_not_know_are_text(text: str) -> None:
    assert value(text) == text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("010", 10),
        ("-7", -7),
        ("0o17", 15),
        ("0x1F", 31),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
    ],
)
def test_numbers_booleans_and_null(text: str, read: object) -> None:
    assert value(text) == read
    assert type(value(text)) is type(read)


def test_a_number_with_more_digits_than_python_converts_stays_text() -> None:
    assert value("9" * 5000) == "9" * 5000


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("!!str 5", "5"),
        ("! 5", "5"),
        ("!!int '5'", 5),
        ("!thing 5", 5),
        ("!thing '5'", "5"),
        ("!!python/object/apply:os.system ['true']", ["true"]),
        ("!!set {a, b}", {"a": None, "b": None}),
    ],
)
def test_known_tags_count_and_others_are_ignored_and_run_nothing(text: str, read: object) -> None:
    assert value(text) == read


def test_keys_are_text_in_camel_case_at_every_depth() -> None:
    read = value("{a-b: {1-x: 1}, 2: x, [c]: d, lot-9: e, on: f}")
    assert read == {"aB": {"1X": 1}, "2": "x", '["c"]': "d", "lot-9": "e", "on": "f"}


def test_an_alias_may_be_a_key() -> None:
    assert value("[&a word, {*a : 1}]") == ["word", {"word": 1}]


def test_merge_keys_give_way_to_what_is_written_out() -> None:
    read = value("{<<: [{a: 1, b: 1}, {b: 2, c: 2}], c: 3}")
    assert read == {"a": 1, "b": 1, "c": 3}


@pytest.mark.parametrize("text", ["{<<: 5}", "{<<: [1]}", '{"<<": {a: 1}}'])
def test_a_merge_key_without_a_mapping_is_an_ordinary_key(text: str) -> None:
    assert list(value(text)) == ["<<"]


def test_top_level_keys_that_occur_again_are_told() -> None:
    loaded = load_mapping("a-b: 1\naB: 2\nc: {d: 1, d: 2}")
    assert loaded == ({"aB": 2, "c": {"d": 2}}, ("aB",), {"aB": 1, "c": 2})


def test_an_empty_text_is_an_empty_mapping() -> None:
    assert load_mapping("# nothing\n") == ({}, (), {})


def test_aliases_that_grow_without_bound_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(NotOneMapping, match="aliases"):
        load_mapping("\n".join(lines))


def test_an_alias_into_itself_is_not_yaml() -> None:
    with pytest.raises(Unparsable, match="undefined alias"):
        load_mapping("a: &a [*a]")


def test_deep_nesting_is_refused() -> None:
    depth = MAX_DEPTH + 10
    with pytest.raises(NotOneMapping, match="levels deep"):
        load_mapping(f"a: {'[' * depth}{']' * depth}")


@pytest.mark.parametrize("second", ["...\ntools: x", "...\n--- \nb: c"])
def test_a_second_document_is_refused(second: str) -> None:
    with pytest.raises(NotOneMapping, match="more than one"):
        load_mapping(f"a: b\n{second}")


def test_dots_at_the_very_end_are_fine() -> None:
    assert load_mapping("a: b\n...\n# end\n")[0] == {"a": "b"}


@pytest.mark.parametrize("text", ["a: b: c", "a: [", "\x07", "a: *b", "{", "a: \x00"])
def test_what_is_not_yaml_is_told_with_a_reason(text: str) -> None:
    with pytest.raises(Unparsable) as caught:
        load_mapping(text)
    assert str(caught.value)
    assert isinstance(caught.value.__cause__, yaml.YAMLError)
