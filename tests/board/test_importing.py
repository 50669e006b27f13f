"""From what another tool has to new tasks: ids, blockers, parts, owners; nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runner.board.importing import Entry, Found, Skipped
from tests.board.importing_kit import about, blockers, planned


def entry(task_id: int | str | None, **told: Any) -> Entry:
    return Entry(id=task_id, where=f"at {task_id}", subject=f"Task {task_id}", **told)


def found(*entries: Entry, part: str | None = None) -> Found:
    return Found(tool="beads", entries=entries, part=part)


def test_ids_are_kept_as_written_where_they_are_free() -> None:
    made = planned(found(entry(7), entry("08"), entry("bd-a1.2"), entry(None)))
    assert [new.id for new in made.new] == [7, "08", "bd-a1.2", 9]
    assert [new.notes for new in made.new] == [(), (), (), ()]


def test_an_id_that_is_taken_or_unfit_becomes_a_number_above_all_and_links_follow() -> None:
    made = planned(
        found(entry(1), entry(40, waits_for=(1, "a/b")), entry("a/b"), entry("X")),
        {"id": 1},
        taken={"x"},
    )
    assert [new.id for new in made.new] == [41, 40, 42, 43]
    assert blockers(made)[40] == [41, 42]
    assert made.new[0].notes == ("id 1 is taken here: it becomes 41",)
    assert made.new[2].notes == ("id a/b cannot be an id here: it becomes 42",)
    assert about(made, 42)["id"] == "a/b"


def test_blockers_are_found_whatever_the_case_and_the_form_of_the_id() -> None:
    made = planned(found(entry("BACK-1"), entry(2), entry(3, waits_for=("back-1", "002"))))
    assert blockers(made)[3] == ["BACK-1", 2]


def test_a_second_entry_of_one_id_is_named_and_skipped() -> None:
    made = planned(found(entry("a"), replace(entry("A"), where="line 9")))
    assert [new.id for new in made.new] == ["a"]
    assert made.skipped == (
        Skipped(where="line 9", reason="id A is also that of at a, which is the one meant"),
    )


def test_a_blocker_that_the_source_lacks_holds_the_task_for_a_person() -> None:
    made = planned(found(entry(1, waits_for=(5,)), entry(2, waits_for=(5,), status="completed")))
    first, second = made.new
    assert (first.fields["owner"], first.fields["blockedBy"]) == ("lead", [])
    assert first.notes == ("held for you, since it waits for 5, which the source does not have",)
    assert (second.fields["owner"], second.notes) == (None, ())
    assert about(made, 1)["waitsFor"] == about(made, 2)["waitsFor"] == [5]


def test_a_blocker_of_the_board_with_the_same_number_is_not_meant() -> None:
    made = planned(found(entry(1, waits_for=(5,))), {"id": 5})
    assert made.new[0].fields["blockedBy"] == []


def test_what_was_imported_before_is_known_and_new_tasks_wait_for_it() -> None:
    origin = {"from": "beads", "source": "their/file", "id": "bd-1"}
    before = {"id": 30, "metadata": {"imported": origin}}
    others = [
        {"id": 31, "metadata": {"imported": {**origin, "source": "other"}}},
        {"id": 32, "metadata": {"imported": {**origin, "part": "tag"}}},
        {"id": 33, "metadata": {"imported": {**origin, "id": None}}},
        {"id": 34, "metadata": {"imported": "by hand"}},
        {"id": 35, "metadata": "text"},
    ]
    source = found(entry("bd-1"), entry("bd-2", waits_for=("bd-1",), parent="bd-1"))
    made = planned(source, before, *others)
    assert [(known.entry.id, known.task.id) for known in made.known] == [("bd-1", 30)]
    assert blockers(made) == {"bd-2": [30]}
    told = "a part of 30, which is here already and does not wait for it"
    assert made.new[0].notes == (told,)


def test_tags_of_one_file_are_told_apart() -> None:
    origin = {"from": "beads", "source": "their/file", "part": "next", "id": 1}
    made = planned(found(entry(1), part="next"), {"id": 9, "metadata": {"imported": origin}})
    assert (made.new, made.known[0].task.id) == ((), 9)
    assert about(planned(found(entry(1), part="next")), 1)["part"] == "next"


def test_the_whole_waits_for_its_parts_and_they_for_what_it_waits_for() -> None:
    made = planned(
        found(
            entry(1),
            entry(2, waits_for=(1, "2.1")),
            entry("2.1", parent=2),
            entry("2.2", parent=2, waits_for=("2.1",)),
            entry("2.2.1", parent="2.2"),
        )
    )
    assert blockers(made) == {
        1: [],
        2: [1, "2.1", "2.2"],
        "2.1": [1],
        "2.2": ["2.1", "2.2.1", 1],
        "2.2.1": ["2.1", 1],
    }
    assert about(made, "2.1")["parent"] == 2


def test_parts_never_make_a_ring() -> None:
    made = planned(
        found(
            entry(1, parent=2),
            entry(2, parent=1),
            entry(3, parent=3),
            entry(4, parent=9),
            entry(5),
            entry(6, parent=5, waits_for=(5,)),
            entry(7, waits_for=(9, 8)),
            entry(8, parent=7),
            entry(9, waits_for=(8,)),
        )
    )
    assert blockers(made) == {
        1: [],
        2: [1],
        3: [],
        4: [8],
        5: [],
        6: [5],
        7: [9, 8],
        8: [],
        9: [8, 4],
    }


def test_a_part_of_what_is_not_to_be_worked_on_is_held() -> None:
    made = planned(
        found(
            entry(1, status="deleted"),
            entry(2, parent=1),
            entry(3, parent=1, status="completed"),
            entry(4, held="it is a draft"),
            entry(5, parent=4),
            entry(6, held="pinned is set", status="completed"),
        )
    )
    held = {new.id: new.fields["metadata"]["imported"].get("held") for new in made.new}
    assert held == {
        1: None,
        2: "it is a part of 1, which is deleted",
        3: None,
        4: "it is a draft",
        5: "it is a part of 4, which is held",
        6: None,
    }
    assert made.new[-1].fields["owner"] is None


def test_only_a_member_becomes_the_owner() -> None:
    made = planned(
        found(
            entry(1, assignee="alice"),
            entry(2, assignee="zoe"),
            entry(3, assignee="zoe", status="completed"),
            entry(4, assignee="alice", held="it is a draft"),
        )
    )
    assert [new.fields["owner"] for new in made.new] == ["alice", None, None, "lead"]
    assert made.new[1].notes == ("anybody may take it: zoe is no member of the team",)
    assert [about(made, n).get("assignee") for n in (1, 2, 3, 4)] == [None, "zoe", "zoe", "alice"]


def test_free_data_and_fields_without_a_place_are_kept() -> None:
    made = planned(
        found(entry(1, metadata={"a": 1, "imported": "theirs"}, fields={"labels": ["x"]}))
    )
    assert made.new[0].fields["metadata"] == {
        "a": 1,
        "imported": {
            "from": "beads",
            "source": "their/file",
            "id": 1,
            "fields": {"labels": ["x"]},
            "metadata": "theirs",
        },
    }


def test_what_no_task_can_hold_is_named_and_skipped() -> None:
    deep: Any = 1
    for _ in range(120):
        deep = [deep]
    made = planned(found(entry(1, fields={"x": deep}), entry(2, waits_for=(1,))))
    assert [new.id for new in made.new] == [2]
    assert made.skipped[0].where == "at 1"
    assert "nested more than 100 levels deep" in made.skipped[0].reason
