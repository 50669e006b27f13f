"""Bytes around the fence, and the line parser on broken descriptions."""

from __future__ import annotations

import pytest

from runner.agents.definition import AgentDefinition, parse_agent
from runner.agents.frontmatter import MAX_BYTES, read_front_matter
from runner.errors import AgentFileInvalid

GOOD = "---\nname: a\ndescription: d\ntools: Read\n---\nOne.\n\n---\nTwo.\n"


def agent(data: bytes) -> AgentDefinition:
    parsed = parse_agent(data, "f", "user")
    assert parsed.definition is not None, parsed.reason
    return parsed.definition


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        "\n" + GOOD,
        "  \n\t\n" + GOOD,
        "<!-- ours -->\n" + GOOD,
        GOOD.replace("Read\n---", "Read\n--- "),
        GOOD.rstrip("\n"),
    ],
    ids=["bom", "crlf", "cr", "blank", "blanks", "comment", "space", "no newline"],
)
def test_the_same_file_saved_in_another_way_is_the_same_agent(text: str) -> None:
    assert agent(text.encode()) == agent(GOOD.encode())


def test_a_rule_in_the_body_stays_and_an_indented_fence_does_not_close() -> None:
    text = "---\nname: a\ndescription: |\n  one\n  ---\n  two\n---\nBody\n\n---\nmore"
    found = agent(text.encode())
    assert found.description == "one\n---\ntwo\n"
    assert found.system_prompt == "Body\n\n---\nmore"


def test_bytes_that_are_not_utf8_are_replaced_with_a_warning() -> None:
    parsed = parse_agent(GOOD.encode().replace(b"One", b"\xe9n"), "f", "user")
    assert parsed.definition is not None
    assert parsed.definition.system_prompt.startswith("\ufffdn.")
    assert any("UTF-8" in warning for warning in parsed.warnings)


def test_a_replacement_character_that_the_author_typed_is_no_damage() -> None:
    assert parse_agent(GOOD.replace("One", "\ufffd").encode(), "f", "user").warnings == ()


@pytest.mark.parametrize("data", [b"", b"# Notes\n\n```yaml\n---\nname: x\n---\n```\n", b" ---\n"])
def test_a_file_that_does_not_start_with_a_fence_does_not_pretend_to_be_an_agent(
    data: bytes,
) -> None:
    parsed = parse_agent(data, "f", "user")
    assert parsed.definition is None
    assert not parsed.has_front_matter


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (GOOD.encode("utf-16"), "UTF-16"),
        (GOOD.encode() + b"x" * MAX_BYTES, "larger than"),
        (b"---\n---\nbody", "`name` is missing"),
        (b"---\n- a\n---\n", "a list"),
        (b"---\njust words\n---\n", "plain text"),
    ],
)
def test_the_reason_names_what_is_wrong_with_the_whole_file(data: bytes, part: str) -> None:
    assert part in (parse_agent(data, "f", "user").reason or "")


def test_a_strict_reader_does_not_guess() -> None:
    with pytest.raises(AgentFileInvalid, match="line 3"):
        read_front_matter(b"---\nname: a\ndescription: b: c\n---\n", "f", strict=True)


def test_many_unclosed_comments_are_read_in_one_go() -> None:
    text = GOOD.replace("One.", "<!-- " * 100_000)
    assert agent(text.encode()).system_prompt.startswith("<!-- <!--")


def test_a_sentence_with_a_colon_keeps_its_whole_text_and_the_tools() -> None:
    text = (
        "---\nname: page-checker\n"
        'description: Use after an edit. Examples: <example>user: "is it ok?"</example>\n'
        "tools: Read, Grep\n---\nYou check pages.\n"
    )
    parsed = parse_agent(text.encode(), "f", "user")
    assert parsed.definition is not None
    assert parsed.fallback
    assert parsed.definition.description == (
        'Use after an edit. Examples: <example>user: "is it ok?"</example>'
    )
    assert parsed.definition.tools == ("read", "grep", "submit_result")
    assert len(parsed.warnings) == 1


def test_example_lines_that_look_like_keys_make_the_file_ambiguous() -> None:
    text = (
        "---\nname: doc-tester\ndescription: Checks guides. Examples:\n<example>\n"
        'Context: a new guide\nuser: "test it"\nname: Robin\nmodel: the-cheap-one\ntools: Bash\n'
        "</example>\ntools: Read\nmodel: main-model\n---\nx\n"
    )
    parsed = parse_agent(text.encode(), "f", "user")
    assert parsed.definition is None
    assert "`name`, `tools`, `model`" in (parsed.reason or "")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('"a \\"b\\" c"', 'a "b" c'),
        ('"a" and "b"', '"a" and "b"'),
        ('"C:\\path"', "C:\\path"),
        ("'it''s'", "it's"),
        ("|\n  one\n  two", "one\ntwo\n"),
        ('"', '"'),
    ],
)
def test_quotes_and_blocks_around_a_whole_value_keep_their_meaning(written: str, read: str) -> None:
    text = f"---\nbroken: x: y\nname: a\ndescription: {written}\n---\nx\n"
    assert agent(text.encode()).description == read


def test_a_block_in_a_broken_file_that_cannot_be_read_is_no_description() -> None:
    text = b"---\nbroken: x: y\nname: a\ndescription: |\n    one\n  two\n---\nx\n"
    parsed = parse_agent(text, "f", "user")
    assert "`description` is not readable" in (parsed.reason or "")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("---\nname: 5\ndescription: d\n---\n", 2),
        ("\n \n---\nname: a\ndescription: 5\n---\n", 5),
        ("<!-- one\ntwo -->\n---\nname: a\ndescription: 5\n---\n", 5),
        ("---\nname: a\n# <!-- x\n-->\n# <!-- y --> z\ndescription: 5\n---\n", 6),
        ("---\r\nname: a\r\n\r\ndescription: 5\r\n---\r\n", 4),
        ("---\nname: a\ndescription: d\nname: b\n---\n", 4),
        ("---\nx: y: z\nname: a\ndescription: d\ntools:\nprose\n---\n", 5),
        ("---\nname: a\ndescription: d\n'tools' : {a: b}\n---\n", 4),
        ("---\n{name: a,\n description: 5}\n---\n", 3),
        ("---\n# c\n- a\n---\n", 2),
        ("---\nname: 'a\u2028b\x85c'\ndescription: 5\n---\n", 3),
        ("---\na: b\n...\nc: d\n---\n", 4),
        ("\n---\nname: a\n", 2),
        ("---\nname: a\nx: " + "[" * 200 + "]" * 200 + "\n---\n", 3),
    ],
)
def test_the_reason_names_the_line_of_the_file(text: str, line: int) -> None:
    parsed = parse_agent(text.encode(), "f", "user")
    assert parsed.line == line
    assert (parsed.reason or "").startswith(f"line {line}: ")


@pytest.mark.parametrize(
    "text", ["---\nname: a\n---\n", "---\n---\n", "prose", "---\n<<: {name: 5}\n---\n"]
)
def test_what_stands_in_no_line_names_none(text: str) -> None:
    parsed = parse_agent(text.encode(), "f", "user")
    assert parsed.reason is not None
    assert parsed.line is None
    assert "line " not in parsed.reason.removesuffix("does not start with ---")


def test_the_warning_about_broken_yaml_names_the_line_of_the_file() -> None:
    text = "<!-- a\nb -->\n---\nname: a\ndescription: b: c\n---\nx\n"
    (warning,) = parse_agent(text.encode(), "f", "user").warnings
    assert warning.startswith("line 5: not YAML: ")
    (warning,) = parse_agent(b"---\nname: a\ndescription: [d\n---\nx", "f", "user").warnings
    assert warning.startswith("line 3: not YAML: ")


def test_broken_yaml_without_a_place_names_no_line() -> None:
    (warning,) = parse_agent(b"---\nname: a\ndescription: *d\n---\nx", "f", "user").warnings
    assert warning == "not YAML: undefined alias *d; read line by line instead"


def test_a_colon_in_a_plain_value_is_explained() -> None:
    (warning,) = parse_agent(b"---\nname: a\ndescription: b: c\n---\nx", "f", "user").warnings
    assert warning.startswith("line 3: not YAML: ")
    assert warning.endswith("put a value that has a colon in it in quotes")


@pytest.mark.parametrize(
    ("line", "warned"),
    [
        ("description: for C # code", True),
        ("description: 'for C' # code", False),
        ("description: for C#code", False),
        ("description: 'for C # code'", False),
        ("description: > # folded\n  for C # code", False),
    ],
)
def test_prose_that_ends_at_a_hash_is_warned_about(line: str, warned: bool) -> None:
    parsed = parse_agent(f"---\nname: a\n{line}\n---\nx".encode(), "f", "user")
    assert parsed.definition is not None
    assert any("put it in quotes" in warning for warning in parsed.warnings) is warned
