"""`runner tasks graph`: the drawing, its other forms, and what it says below."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli


def diamond(cli: Cli) -> None:
    cli.board(
        {"id": 1, "subject": "Parse"},
        {"id": 2, "subject": "Test", "blockedBy": [1]},
        {"id": 3, "subject": "Document", "blockedBy": [1]},
        {"id": 4, "subject": "Ship", "blockedBy": [2, 3]},
        {"id": 5, "subject": "After", "blockedBy": [4, 99]},
        {"id": 6, "subject": "Gone", "status": "deleted"},
    )


def test_each_task_is_drawn_under_its_first_blocker(cli: Cli) -> None:
    diamond(cli)
    assert cli("tasks", "graph").out.splitlines() == [
        "1 Parse [ready]",
        "├─ 2 Test [blocked]",
        "│  └─ 4 Ship [blocked]",
        "│     └─ 5 After [blocked] (waits for 99: not on the board)",
        "└─ 3 Document [blocked]",
        "   └─ 4 Ship [blocked] (see above)",
        "",
        "critical path: 1 -> 2 -> 4 -> 5 (4 of 5 open tasks)",
    ]


def test_the_data_has_nodes_edges_the_critical_path_and_no_advice(cli: Cli) -> None:
    diamond(cli)
    data = cli("tasks", "graph", "--json").json
    assert data["nodes"][0] == {"id": 1, "subject": "Parse", "state": "ready"}
    assert {"from": 3, "to": 4} in data["edges"]
    assert {"from": "99", "to": 5} in data["edges"]
    assert (data["criticalPath"], data["advice"]) == ([1, 2, 4, 5], None)


def test_the_order_of_work_that_is_done_stays_visible(cli: Cli) -> None:
    cli.board({"run": "true"}, {"run": "true", "blockedBy": [1]})
    cli("run", "--drain", "--members", "1")
    assert cli("tasks", "graph").out.splitlines() == [
        "1 Task 1 [completed]",
        "└─ 2 Task 2 [completed]",
    ]
    assert "t1 -.-> t2" in cli("tasks", "graph", "--mermaid").out
    assert "t1 -> t2 [style=dotted];" in cli("tasks", "graph", "--dot").out


def test_rings_and_long_chains_end(cli: Cli) -> None:
    chain = [{"id": 1}] + [{"id": n, "blockedBy": [n - 1]} for n in range(2, 1200)]
    cli.board(*chain, {"id": "a", "blockedBy": ["b"]}, {"id": "b", "blockedBy": ["a"]})
    lines = cli("tasks", "graph").out.splitlines()
    assert len(lines) == 1199 + 3 + 2
    assert lines[-3].endswith("a Task a [blocked] (see above)")
    assert lines[-1].endswith("-> 18 -> ... -> 1199 (1199 of 1201 open tasks)")


def test_one_line_of_tasks_brings_the_advice_that_a_team_will_not_help(cli: Cli) -> None:
    cli.board({"id": 1}, *({"id": n, "blockedBy": [n - 1]} for n in range(2, 6)))
    message = "5 tasks wait for one another in one line: no faster with a team"
    assert cli("tasks", "graph").out.splitlines()[-1] == f"advice: {message}"
    assert cli("tasks", "graph", "--json").json["advice"] == message


def test_a_deleted_blocker_is_neither_drawn_nor_missing(cli: Cli) -> None:
    cli.board({"id": 1, "status": "deleted"}, {"id": 2, "blockedBy": [1]})
    assert cli("tasks", "graph").out.splitlines() == ["2 Task 2 [ready]"]
    assert cli("tasks", "graph", "--json").json["edges"] == []


def test_mermaid_has_thick_arrows_for_the_critical_path(cli: Cli) -> None:
    diamond(cli)
    lines = cli("tasks", "graph", "--mermaid").out.splitlines()
    assert lines[0] == "flowchart TD"
    assert '    t1["1 Parse"]:::ready' in lines
    assert '    t6["99 #40;not on the board#41;"]:::missing' in lines
    assert "    t1 ==> t2" in lines
    assert "    t1 --> t3" in lines
    assert "    t6 --> t5" in lines


def test_dot_has_bold_arrows_for_the_critical_path(cli: Cli) -> None:
    diamond(cli)
    lines = cli("tasks", "graph", "--dot").out.splitlines()
    assert (lines[0], lines[-1]) == ("digraph board {", "}")
    assert '    t1 [label="1 Parse\\nready", fillcolor="#ffffff"];' in lines
    assert "    t1 -> t2 [style=bold];" in lines
    assert "    t1 -> t3;" in lines


def test_text_of_a_task_cannot_leave_its_label(cli: Cli) -> None:
    cli.board({"id": "a-1", "subject": 'x"]\n    evil <b>`\\" ' + "long " * 40})
    [node] = [line for line in cli("tasks", "graph", "--mermaid").out.splitlines() if "t1[" in line]
    assert node.startswith('    t1["a-1 x#34;#93; evil #60;b#62;#96;#92;#34; long')
    assert node.endswith('…"]:::ready')
    [node] = [line for line in cli("tasks", "graph", "--dot").out.splitlines() if "t1 [" in line]
    assert node.startswith('    t1 [label="a-1 x\\"] evil <b>`\\\\\\" long')


@pytest.mark.parametrize("form", ["--mermaid", "--dot"])
def test_two_forms_at_once_are_refused(cli: Cli, form: str) -> None:
    assert cli("tasks", "graph", form, "--json").code == 2
    assert cli("tasks", "graph", form).code == 0


def test_two_drawings_at_once_are_refused(cli: Cli) -> None:
    answer = cli("tasks", "graph", "--dot", "--mermaid")
    assert (answer.code, answer.out) == (2, "")
    assert "--mermaid and --dot: one form at a time" in answer.err
