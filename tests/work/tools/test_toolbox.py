"""Which tools an agent is offered: those it has, and what was built for it alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runner.core.tool_names import TOOLS
from runner.errors import ToolError
from runner.work.tools import STANDING_TOOLS, toolbox
from runner.work.tools.talk import SEND_MESSAGE
from tests.work.tools.conftest import make_agent

if TYPE_CHECKING:
    from tests.work.tools.conftest import Bench

TASK = replace(SEND_MESSAGE, spec=replace(SEND_MESSAGE.spec, name="task"))


def test_every_name_that_a_file_may_list_has_its_tool() -> None:
    assert {*STANDING_TOOLS, "task"} == set(TOOLS)


def test_an_agent_without_a_list_has_every_tool_in_one_order() -> None:
    box = toolbox(make_agent("helper"), TASK)

    assert list(box.tools) == list(TOOLS)
    assert [spec.name for spec in box.specs] == list(TOOLS)


def test_a_tool_that_nobody_built_is_not_there() -> None:
    assert "task" not in toolbox(make_agent("helper")).tools


def test_what_is_built_is_given_only_to_who_has_it() -> None:
    assert list(toolbox(make_agent("helper", ("read",)), TASK).tools) == ["read"]


async def test_a_tool_that_is_not_offered_is_known_to_who_calls_it(bench: Bench) -> None:
    box = toolbox(make_agent("helper", ("send_message",)))
    hidden = replace(box, tools={"send_message": replace(SEND_MESSAGE, offered=False)})

    assert hidden.specs == ()
    with pytest.raises(ToolError, match="the message is empty"):
        await hidden.run("send_message", {"to": "bob", "text": " "}, bench.context)


def test_bash_tells_an_agent_with_allow_lists_what_it_may_run() -> None:
    limited = make_agent("helper", written_tools=("Bash(git:*)", "Bash(ls)"), tools=("bash",))
    free = make_agent("helper", ("bash",))

    (told,), (plain,) = toolbox(limited).specs, toolbox(free).specs

    assert "allowed (* is any text): git:*; ls." in told.description
    assert "No shell" in told.description
    assert "git:*" not in plain.description
    assert told.parameters == plain.parameters


def test_every_list_of_the_chain_is_told() -> None:
    limited = replace(make_agent("helper", ("bash",)), commands=(("git:*",), ("git log",)))

    (told,) = toolbox(limited).specs

    assert "git:* and in every case allowed (* is any text): git log." in told.description
