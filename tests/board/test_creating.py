"""New tasks: ids that nobody ever had, files put in place whole, nothing outside `.tasks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runner.board.task import Task
from runner.errors import UnsafeName, UsageError
from tests.board.conftest import ADA

if TYPE_CHECKING:
    from tests.board.conftest import Desk


def test_a_new_task_has_the_usual_fields_first(desk: Desk) -> None:
    task = desk.store().add({"labels": ["x"], "blockedBy": [7], "title": "Paint", "owner": None})
    assert task.id == 1
    assert list(desk.raw(1).items()) == [
        ("id", 1),
        ("subject", "Paint"),
        ("status", "pending"),
        ("blockedBy", [7]),
        ("labels", ["x"]),
    ]
    (line,) = desk.events("task.added")
    assert (line["task"], line["subject"]) == (1, "Paint")


def test_ids_are_above_every_name_every_inner_id_and_the_highest_ever(desk: Desk) -> None:
    desk.put({"id": 3}, {"id": "3fa9c1"}, {"id": "task_1755000000_0042"})
    desk.path(7).write_text("{half")
    store = desk.store()
    assert store.add({"subject": "a"}).id == 8
    desk.path(3).write_text('{"id": 20, "subject": "inner"}')
    assert store.add({"subject": "b"}).id == 21
    desk.path(21).unlink()
    assert desk.store().add({"subject": "c"}).id == 22
    (desk.layout.team / "ids.json").write_text("damaged")
    assert desk.store().add({"subject": "d"}).id == 23


def test_an_own_id_is_kept_as_written_and_counts(desk: Desk) -> None:
    store = desk.store()
    assert store.add({"id": "40", "subject": "a"}).id == "40"
    assert store.add({"id": "login", "subject": "b"}).file == "task_login.json"
    assert store.add({"subject": "c"}).id == 41


@pytest.mark.parametrize("taken", [1, "1", "task_1", "001", "x"], ids=repr)
def test_an_id_that_is_there_is_refused(desk: Desk, taken: object) -> None:
    desk.put({"id": 1}, {"id": "x"})
    with pytest.raises(UsageError, match="is there already, in task_"):
        desk.store().add({"id": taken, "subject": "s"})


@pytest.mark.parametrize(
    "bad", ["../../outside", "..", "a/b", "C:x", "", "x" * 300, "con", "x\0y", True], ids=ascii
)
def test_an_id_that_is_a_path_makes_no_file_anywhere(desk: Desk, bad: object) -> None:
    store = desk.store()
    before = sorted(desk.layout.root.rglob("*"))
    with pytest.raises(UnsafeName):
        store.add({"id": bad, "subject": "s"})
    assert sorted(desk.layout.root.rglob("*")) == before


def refused(desk: Desk, fields: dict[str, Any], kind: type[UsageError], said: str) -> None:
    """The fields are refused in a new task and in an edit, and nothing is written."""
    desk.put({"id": 1})
    before = desk.path(1).read_bytes()
    with pytest.raises(kind, match=said):
        desk.store().add({"subject": "s"} | fields)
    with pytest.raises(kind, match=said):
        desk.store().edit(1, fields)
    assert desk.path(1).read_bytes() == before
    assert [path.name for path in desk.layout.tasks.iterdir()] == ["task_1.json"]


@pytest.mark.parametrize("field", ["owner", "claimed_by", "blockedBy", "blocked_by", "blocks"])
def test_what_becomes_a_path_has_to_be_a_safe_name(desk: Desk, field: str) -> None:
    refused(desk, {field: "../../outside"}, UnsafeName, "outside")


@pytest.mark.parametrize("field", ["subject", "agent", "required_role", "claim_role"])
@pytest.mark.parametrize("value", ["", " ", "a\nb", "a\x1b[2J", "a\u2028b", "\ud800", 7, ["a"]])
def test_subjects_agents_and_roles_are_one_line_of_printable_text(
    desk: Desk, field: str, value: object
) -> None:
    refused(desk, {field: value}, UsageError, f"{field}: found .*one line of printable text")


@pytest.mark.parametrize("value", ["zz", [1], True, "", float("nan")])
def test_a_priority_that_means_nothing_is_refused(desk: Desk, value: object) -> None:
    refused(desk, {"priority": value}, UsageError, "priority: found .*a whole number, or urgent")


def test_a_long_value_is_shortened_in_the_refusal(desk: Desk) -> None:
    with pytest.raises(UsageError) as caught:
        desk.store().add({"subject": "s", "priority": "x" * 10_000})
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", ["リレー", "12:30", "Plan B", "../../outside", "👩\u200d💻"])
def test_agents_and_roles_are_looked_up_and_need_not_be_safe_names(desk: Desk, name: str) -> None:
    desk.put({"id": 1})
    added = desk.store().add({"subject": name, "agent": name, "required_role": name})
    assert (added.agent, added.required_role) == (name, name)
    assert desk.store().edit(1, {"agent": name}).agent == name


def test_a_subject_is_not_taken_away(desk: Desk) -> None:
    desk.put({"id": 1, "title": "s"})
    with pytest.raises(UsageError, match="subject: a task needs one line"):
        desk.store().edit(1, {"subject": None})


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"subject": " "},
        {"subject": 5},
        {"subject": "s", "run": []},
        {"subject": "s", "attempt": 1},
        {"subject": "s", "status": "doing"},
        {"subject": "s", "status": "simmering"},
    ],
    ids=repr,
)
def test_bad_fields_make_no_task(desk: Desk, fields: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        desk.store().add(fields)
    assert desk.bytes() == {}


def test_a_new_task_is_entered_in_the_blocks_of_its_blockers(desk: Desk) -> None:
    desk.put({"id": 1, "blocks": []}, {"id": 2})
    desk.store().add({"subject": "s", "blockedBy": [1, 2]})
    assert desk.raw(1)["blocks"] == [3]
    assert "blocks" not in desk.raw(2)


def test_a_name_taken_by_a_link_is_passed_over(desk: Desk) -> None:
    desk.path(1).symlink_to(desk.layout.root / "elsewhere")
    assert desk.store().add({"subject": "s"}).id == 2


def test_numbers_too_long_to_be_counted_up_to_do_not_set_the_next_id(desk: Desk) -> None:
    for name in ("9" * 64, "9" * 15, "1" + "0" * 15, "\u00b2"):
        (desk.layout.tasks / f"task_{name}.json").write_text('{"subject": "odd"}')
    desk.put({"id": 10**17})
    store = desk.store()
    assert store.add({"subject": "new"}).id == 10**15 + 1
    (desk.layout.tasks / f"task_{'9' * 15}.json").unlink()
    assert store.add({"subject": "new"}).id != 10**15 + 1


def test_the_journal_says_which_teammate_added_a_task(desk: Desk) -> None:
    desk.store().add({"subject": "new"}, by="ada")
    desk.store().add({"subject": "new"})
    assert [line["teammate"] for line in desk.events("task.added")] == ["ada", None]


def test_a_task_file_with_a_long_name_can_be_written(desk: Desk) -> None:
    name = "\U0001f600" * 58
    (desk.layout.tasks / f"task_{name}.json").write_text('{"id": 1, "subject": "x"}')
    store = desk.store()
    assert store.complete(store.claim(1, ADA).fence).status == "completed"


def test_many_are_added_in_one_hold_and_each_that_cannot_be_is_told(desk: Desk) -> None:
    desk.put({"id": 1, "blocks": []})
    first, taken, unsafe, nameless, last = desk.store().add_each(
        [
            {"id": 5, "subject": "a", "blockedBy": [1]},
            {"id": "005", "subject": "b"},
            {"id": "a/b", "subject": "c"},
            {"id": 6},
            {"subject": "d"},
        ]
    )
    assert isinstance(first, Task)
    assert isinstance(last, Task)
    assert (first.id, last.id, desk.raw(1)["blocks"]) == (5, 6, [5])
    assert "there already, in task_5.json" in str(taken)
    assert isinstance(unsafe, UnsafeName)
    assert "subject: a task needs one line" in str(nameless)
    assert [line["task"] for line in desk.events("task.added")] == [5, 6]


def test_keys_that_are_taken_are_those_of_names_and_those_inside(desk: Desk) -> None:
    desk.put({"id": 3})
    desk.path("04").write_text('{"id": "x", "subject": "inner"}')
    desk.path("y").write_text("broken")
    desk.path("  ").write_text("broken")
    store = desk.store()
    store.scan()
    assert store.next_id() == 5
    assert store.taken() == {"3", "4", "x", "y", "task_y", "task_"}
