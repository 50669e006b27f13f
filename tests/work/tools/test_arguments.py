"""Arguments are checked before a tool runs, and the error names the argument."""

from __future__ import annotations

from typing import Any

import pytest

from runner.errors import ToolError
from runner.work.tools import STANDING_TOOLS
from runner.work.tools.arguments import checked_arguments


def check(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return checked_arguments(tool, STANDING_TOOLS[tool].spec.parameters, arguments)


def test_good_arguments_pass_unchanged() -> None:
    arguments = {"path": "a.txt", "offset": 2}

    assert check("read", arguments) == arguments


def test_null_for_an_optional_argument_is_not_given() -> None:
    assert check("read", {"path": "a.txt", "limit": None}) == {"path": "a.txt"}


def test_a_whole_float_is_an_integer_and_stays_a_number() -> None:
    assert check("read", {"path": "a", "offset": 3.0}) == {"path": "a", "offset": 3}
    assert check("bash", {"command": "true", "timeout": 1.5})["timeout"] == 1.5


def test_a_lone_surrogate_is_replaced_on_the_way_in() -> None:
    assert check("write", {"path": "a", "content": "x\ud83d"})["content"] == "x\ufffd"


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("write", {"path": "a.txt"}, "write: the argument 'content' is missing"),
        ("write", {"path": None, "content": ""}, "the argument 'path' is missing"),
        ("write", {"path": "a", "content": "", "mode": 1}, "there is no argument 'mode'"),
        ("write", {"path": 5, "content": ""}, "'path' must be string, not integer"),
        ("read", {"path": "a", "offset": 0}, "'offset' must be at least 1"),
        ("read", {"path": "a", "offset": "1"}, "'offset' must be integer, not string"),
        ("read", {"path": "a", "offset": True}, "'offset' must be integer, not boolean"),
        ("create_task", {"subject": "x", "blockedBy": [None]}, "string, not null"),
        ("claim_task", {"id": 1.5}, "'id' must be integer or string, not number"),
        ("list_tasks", {"state": "done"}, "'state' must be one of ready, assigned"),
        ("create_task", {"subject": "x", "blockedBy": "5"}, "must be array, not string"),
        ("create_task", {"subject": "x", "blockedBy": [1, {}]}, "item 2 must be integer or string"),
        ("create_task", {"subject": "x", "run": "rm -rf /"}, "there is no argument 'run'"),
    ],
)
def test_what_does_not_fit_is_named(tool: str, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolError) as error:
        check(tool, arguments)

    assert said in str(error.value)


def test_a_refusal_shows_the_arguments_that_there_are() -> None:
    with pytest.raises(ToolError, match=r"arguments: path, old_string, new_string, replace_all\?"):
        check("edit", {"file": "a"})
