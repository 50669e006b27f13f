from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from runner.core.layout import Layout, find_layout
from runner.errors import BoardNotFound


def git(folder: Path, *argv: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *who, *argv], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A main checkout with a board, and a linked worktree `linked` beside it."""
    main = tmp_path / "main"
    (main / "sub").mkdir(parents=True)
    (main / "sub" / "file").touch()
    git(main, "init", "-q", "-b", "trunk")
    git(main, "add", ".")
    git(main, "commit", "-qm", "begin")
    git(main, "worktree", "add", "-q", str(tmp_path / "linked"))
    (main / ".tasks").mkdir()
    return main


def test_the_nearest_board_upward_is_found(tmp_path: Path) -> None:
    (tmp_path / ".tasks").mkdir()
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_layout(inner) == Layout(root=tmp_path, workspace=tmp_path)
    (tmp_path / "a" / ".tasks").mkdir()
    assert find_layout(inner).root == tmp_path / "a"


def test_no_board_is_an_error_that_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(BoardNotFound, match="runner init"):
        find_layout(tmp_path)


def test_a_linked_worktree_uses_the_board_of_the_main_checkout(checkout: Path) -> None:
    linked = checkout.parent / "linked"
    assert find_layout(linked) == Layout(root=checkout, workspace=linked)
    assert find_layout(linked / "sub") == Layout(root=checkout, workspace=linked)
    (linked / ".tasks").mkdir()
    assert find_layout(linked).root == checkout, "a copy that git put there is not read"


def test_a_board_in_a_folder_of_the_main_checkout_is_found_from_that_folder(
    checkout: Path,
) -> None:
    (checkout / ".tasks").rmdir()
    (checkout / "sub" / ".tasks").mkdir()
    linked = checkout.parent / "linked"
    found = find_layout(linked / "sub")
    assert found == Layout(root=checkout / "sub", workspace=linked / "sub")


def test_a_worktree_whose_main_checkout_has_no_board_uses_its_own(checkout: Path) -> None:
    (checkout / ".tasks").rmdir()
    linked = checkout.parent / "linked"
    (linked / ".tasks").mkdir()
    assert find_layout(linked) == Layout(root=linked, workspace=linked)


def test_a_worktree_without_any_board_is_an_error(checkout: Path) -> None:
    (checkout / ".tasks").rmdir()
    with pytest.raises(BoardNotFound):
        find_layout(checkout.parent / "linked" / "sub")


def test_a_git_file_of_another_kind_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".tasks").mkdir()
    for content in (b"gitdir: ../.git/modules/x\n", b"\xff\xfe"):
        (tmp_path / ".git").write_bytes(content)
        assert find_layout(tmp_path).root == tmp_path


def test_the_place_stays_and_differs_from_that_of_a_copy(tmp_path: Path) -> None:
    one = Layout(root=tmp_path / "one", workspace=tmp_path)
    two = Layout(root=tmp_path / "two", workspace=tmp_path)
    place = one.place()
    assert place == one.place()
    assert place != two.place()
    assert (one.team / ".gitignore").read_text() == "*\n"
    (one.team / "id").write_text("{")
    assert one.place().endswith(":damaged")


def test_everything_at_run_time_lies_in_the_team_folder(tmp_path: Path) -> None:
    layout = Layout(root=tmp_path, workspace=tmp_path)
    paths = [layout.lock_file, layout.runs, layout.inbox, layout.requests, layout.transcripts]
    paths += [layout.output, layout.config, layout.cli_journal]
    assert all(path.parent == layout.team for path in paths)
