"""Names that are paths, at every door of the command line (field case J1)."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli

ODD = ("../../outside", "..", "a/b", "C:x", "x" * 300, "con", "x\0y", "")


@pytest.mark.parametrize(
    "argv",
    [
        ["tasks", "show", "?"],
        ["tasks", "claim", "--owner", "ann", "?"],
        ["tasks", "done", "?", "--owner", "ann"],
        ["tasks", "fail", "?", "--owner", "ann", "--error", "e"],
        ["tasks", "release", "?"],
        ["tasks", "retry", "?"],
        ["tasks", "edit", "?", "--set", "priority=1"],
        ["tasks", "delete", "?"],
        ["team", "inbox", "?"],
        ["team", "send", "?", "hello"],
        ["team", "stop", "?"],
    ],
    ids=lambda argv: "-".join(argv[:2]),
)
@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_no_name_becomes_a_path_at_any_door(cli: Cli, argv: list[str], name: str) -> None:
    cli.board({"id": 1})
    before = cli.path(1).read_bytes()
    around = sorted(cli.layout.root.parent.iterdir())
    answer = cli(*(name if word == "?" else word for word in argv))
    assert answer.code != 0
    assert "internal error" not in answer.err
    assert [path.name for path in cli.layout.tasks.iterdir()] == ["task_1.json"]
    assert cli.path(1).read_bytes() == before
    assert sorted(cli.layout.root.parent.iterdir()) == around
    if argv[0] == "team":
        assert not cli.layout.team.exists()
    assert not list(cli.layout.team.glob("inbox/*"))
    assert not list(cli.layout.team.glob("requests/*"))
