"""create_task, list_tasks, claim_task, send_message."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from runner.agents.effective import effective_agent
from runner.core.events import read_journal
from runner.errors import ToolError
from runner.testing import make_board

if TYPE_CHECKING:
    from tests.work.tools.conftest import Bench


def task_file(bench: Bench, number: int) -> Any:
    return json.loads((bench.root / f".tasks/task_{number}.json").read_bytes())


def use(bench: Bench, name: str) -> None:
    bench.change(agent=bench.context.find_agent(name))


async def test_a_task_is_created_as_a_file(bench: Bench) -> None:
    use(bench, "chief")
    said = await bench(
        "create_task", subject="Write it", description="All of it", priority=2, verify=["true"]
    )
    await bench("create_task", subject="Test it", blockedBy=[1])

    assert said == "created task #1: Write it"
    first, second = task_file(bench, 1), task_file(bench, 2)
    assert (first["subject"], first["priority"], first["verify"]) == ("Write it", 2, ["true"])
    assert first["status"] == "pending"
    assert "agent" not in first  # its creator may do everything
    assert second["blockedBy"] == [1]


async def test_a_created_task_cannot_run_a_command(bench: Bench) -> None:
    with pytest.raises(ToolError, match="no argument 'run'"):
        await bench("create_task", subject="x", run="rm -rf /")


async def test_only_an_agent_with_bash_may_set_verify(bench: Bench) -> None:
    use(bench, "coder")

    with pytest.raises(ToolError, match="only an agent that has bash"):
        await bench("create_task", subject="x", verify=["true"])


async def test_a_created_task_has_no_more_rights_than_its_creator(bench: Bench) -> None:
    use(bench, "coder")

    with pytest.raises(ToolError, match=r"agent 'task' may use .*bash.*, which you may not"):
        await bench("create_task", subject="x", agent="task")
    with pytest.raises(ToolError, match="the start of further agents"):
        await bench("create_task", subject="x", agent="starter")
    await bench("create_task", subject="x", agent="reader")

    assert task_file(bench, 1)["agent"] == "reader"


async def test_an_agent_with_command_limits_is_limited(bench: Bench) -> None:
    use(bench, "git")

    with pytest.raises(ToolError, match="only an agent that has bash without limits"):
        await bench("create_task", subject="x", verify=["true"])
    with pytest.raises(ToolError, match=r"agent 'task' may use .*commands of every kind"):
        await bench("create_task", subject="x", agent="task")
    await bench("create_task", subject="x", agent="gitlog")
    await bench("create_task", subject="y")

    assert [task_file(bench, number)["agent"] for number in (1, 2)] == ["gitlog", "git"]


async def test_a_subagent_creates_no_task_with_more_rights_than_it_was_left(bench: Bench) -> None:
    definition = bench.context.find_agent("coder").definition
    child = effective_agent(definition, max_depth=2, parent=bench.context.find_agent("reader"))
    bench.change(agent=replace(child, tools=("read", "create_task")))

    with pytest.raises(ToolError, match=r"agent 'coder' may use write, which you may not"):
        await bench("create_task", subject="x")
    await bench("create_task", subject="x", agent="reader")

    assert task_file(bench, 1)["agent"] == "reader"


async def test_a_task_of_a_limited_agent_runs_with_that_agent(bench: Bench) -> None:
    use(bench, "coder")

    await bench("create_task", subject="x")

    assert task_file(bench, 1)["agent"] == "coder"


async def test_a_task_of_an_agent_with_limited_spawns_starts_no_more_than_that(
    bench: Bench,
) -> None:
    for creator in ("task", "picky"):
        use(bench, creator)
        await bench("create_task", subject="x")

    assert [task_file(bench, number)["agent"] for number in (1, 2)] == ["task", "picky"]


async def test_a_task_for_a_role_runs_with_the_agent_of_its_name_if_that_may_no_more(
    bench: Bench,
) -> None:
    for role in ("reader", "starter", "painter"):
        await bench("create_task", subject="x", required_role=role)

    found = [task_file(bench, number)["agent"] for number in (1, 2, 3)]
    assert found == ["reader", "task", "task"]


async def test_no_task_is_created_for_an_agent_that_none_can_use(bench: Bench) -> None:
    with pytest.raises(ToolError, match="no task can use this agent: agent 'lost' can use none"):
        await bench("create_task", subject="x", agent="lost")
    await bench("create_task", subject="x", required_role="lost")

    assert task_file(bench, 1)["agent"] == "task"


async def test_an_unknown_agent_is_refused_with_the_names_there_are(bench: Bench) -> None:
    with pytest.raises(
        ToolError, match=r'Unknown agent "nobody"\. Available: chief, coder, git, gitlog, lost'
    ):
        await bench("create_task", subject="x", agent="nobody")

    assert list((bench.root / ".tasks").glob("task_*")) == []


async def test_names_that_are_paths_are_refused(bench: Bench) -> None:
    for name in ("../../outside", "..", "a/b", "con", "x" * 300):
        with pytest.raises(ToolError, match="is not usable"):
            await bench("create_task", subject="x", owner=name)

    assert list((bench.root / ".tasks").glob("task_*")) == []


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"subject": "one\ntwo"}, "subject: .* expected one line"),
        ({"subject": "red \x1b[31m"}, "subject: .* expected one line"),
        ({"subject": " \n"}, "subject"),
        ({"blockedBy": ["../x"]}, "there is no task"),
        ({"blockedBy": [1, 7, "nine"]}, 'there is no task 7, "nine"'),
        ({"schema": {"type": "flot"}}, 'the schema cannot be used: .*"flot" is not valid'),
        ({"schema": {"elements": {"type": "x"}}}, r'cannot be used: \$.elements: type "x"'),
        ({"priority": "soon"}, "priority: found 'soon'"),
        ({"owner": "a/b"}, "owner"),
    ],
)
async def test_a_task_that_could_not_be_done_as_written_is_not_created(
    bench: Bench, fields: dict[str, Any], why: str
) -> None:
    await bench("create_task", subject="First")

    with pytest.raises(ToolError, match=why):
        await bench("create_task", **{"subject": "x", **fields})

    assert not (bench.root / ".tasks/task_2.json").exists()


async def test_a_created_task_has_a_clean_subject_a_priority_and_its_creator(bench: Bench) -> None:
    await bench("create_task", subject=" Write it\n", priority="high", schema={"type": "string"})

    assert task_file(bench, 1)["subject"] == "Write it"
    (added,) = read_journal(bench.root / ".team/runs/r1.jsonl")
    assert (added["event"], added["teammate"]) == ("task.added", "ann")


async def test_no_subject_forges_a_line_of_the_list(bench: Bench) -> None:
    odd = {"id": 1, "subject": "a\n#2 [ready] b \x1b[2J\u2028", "owner": "bob", "agent": "x\ny"}
    make_board(bench.root, [odd])

    listed = await bench("list_tasks")

    assert listed.startswith(r"#1 [assigned] a\n#2 [ready] b \x1b[2J\u2028 (")
    assert r"agent x\ny" in listed
    assert len(listed.splitlines()) == 1


async def test_tasks_are_listed_with_their_state(bench: Bench) -> None:
    assert await bench("list_tasks") == "[no tasks]"
    await bench("create_task", subject="First", owner="bob", required_role="worker")
    await bench("create_task", subject="Second", blockedBy=[1], agent="reader")

    listed = (await bench("list_tasks")).splitlines()

    assert listed[0].startswith("#1 [assigned] First (owner bob; role worker")
    assert listed[1].startswith("#2 [blocked] Second (agent reader; ")
    assert await bench("list_tasks", state="completed") == "[no tasks]"
    assert (await bench("list_tasks", state="blocked")).startswith("#2 ")


async def test_one_task_is_shown_whole(bench: Bench) -> None:
    await bench("create_task", subject="First", description="All of it")

    assert json.loads(await bench("list_tasks", id="1"))["description"] == "All of it"
    with pytest.raises(ToolError, match="there is no task 7"):
        await bench("list_tasks", id=7)


async def test_a_task_is_claimed_for_after_this_turn(bench: Bench) -> None:
    await bench("create_task", subject="First")

    said = await bench("claim_task", id=1)

    assert said.startswith("task #1 is yours: First.")
    assert task_file(bench, 1)["owner"] == "ann"
    assert bench.context.teammate.next_task is not None


async def test_no_task_is_claimed_while_one_is_open(bench: Bench) -> None:
    await bench("create_task", subject="First")
    await bench("create_task", subject="Second")
    bench.change(task=await bench.context.teammate.claim_task(1))

    with pytest.raises(ToolError, match="task #1 is open; hand in its result first"):
        await bench("claim_task", id=2)
    bench.change(task=None)
    with pytest.raises(ToolError, match="ann has task 1 open"):
        await bench("claim_task", id=2)

    assert task_file(bench, 2)["status"] == "pending"


async def test_what_cannot_be_claimed_is_said(bench: Bench) -> None:
    with pytest.raises(ToolError, match="no task 9"):
        await bench("claim_task", id=9)


async def test_a_message_is_sent(bench: Bench) -> None:
    assert await bench("send_message", to="bob", text="hello") == "sent to bob"
    assert bench.post.sent == [("bob", "hello")]


async def test_a_message_to_nobody_or_of_nothing_is_refused(bench: Bench) -> None:
    with pytest.raises(ToolError, match="nobody is called 'zoe'; members: ann, bob, lead"):
        await bench("send_message", to="zoe", text="hello")
    with pytest.raises(ToolError, match="empty"):
        await bench("send_message", to="bob", text=" \n")


async def test_a_tool_that_the_agent_lacks_is_named(bench: Bench) -> None:
    use(bench, "reader")

    with pytest.raises(ToolError, match="there is no tool 'bash'; yours: read"):
        await bench("bash", command="true")
