"""File tools stay in the workspace, whatever path a model writes and whatever links lie there."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.errors import ToolError
from runner.work.workspace import CLOSED, Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "root"
    for folder in ("src", ".git", ".tasks", ".team/output", "vendor/.git"):
        (root / folder).mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text("secret")
    return Workspace(root)


def test_relative_and_absolute_paths_inside_are_the_same_file(workspace: Workspace) -> None:
    expected = workspace.root / "src/a.py"

    assert workspace.resolve("src/a.py") == expected
    assert workspace.resolve("./src/../src/a.py") == expected
    assert workspace.resolve(str(expected)) == expected
    assert workspace.resolve(".") == workspace.root


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside/secret.txt",
        "src/../../outside",
        "/etc/passwd",
        "/",
        "../root2",
        "src/../..",
    ],
)
@pytest.mark.parametrize("for_write", [False, True])
def test_paths_outside_are_refused(workspace: Workspace, path: str, for_write: bool) -> None:
    with pytest.raises(ToolError, match="outside the workspace"):
        workspace.resolve(path, for_write=for_write)


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".tasks/task_1.json",
        ".team/inbox/bob.jsonl",
        "vendor/.git/hooks/pre-commit",
        "src/../.git/HEAD",
        ".GIT/config",
        ".git",
        "new/.tasks/task_1.json",
    ],
)
def test_board_state_and_repository_are_closed(workspace: Workspace, path: str) -> None:
    with pytest.raises(ToolError, match="not open to file tools"):
        workspace.resolve(path)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("a\0b", "NUL"),
        ("~/notes.txt", "not expanded"),
        ("a/" + "x" * 300, "too long"),
        ("x/" * 3000, "too long"),
        ("bad\ud83d", "no file name"),
    ],
)
def test_unusable_paths_are_refused_with_a_plain_reason(
    workspace: Workspace, path: str, said: str
) -> None:
    with pytest.raises(ToolError, match=said):
        workspace.resolve(path)


@pytest.mark.parametrize("target", ["../outside", "../outside/secret.txt", "../new-file", "/etc"])
@pytest.mark.parametrize("for_write", [False, True])
def test_a_link_out_is_refused_also_as_the_last_part_and_dangling(
    workspace: Workspace, target: str, for_write: bool
) -> None:
    (workspace.root / "link").symlink_to(target)

    with pytest.raises(ToolError, match="outside the workspace"):
        workspace.resolve("link", for_write=for_write)
    with pytest.raises(ToolError, match="outside the workspace"):
        workspace.resolve("link/x", for_write=for_write)


def test_a_link_to_a_closed_folder_is_closed(workspace: Workspace) -> None:
    (workspace.root / "board").symlink_to(".tasks")

    with pytest.raises(ToolError, match=r"\.tasks is not open"):
        workspace.resolve("board/task_1.json", for_write=True)


def test_a_link_that_stays_inside_is_followed(workspace: Workspace) -> None:
    (workspace.root / "link").symlink_to("src/new.py")

    path = workspace.resolve("link", for_write=True)
    workspace.write(path, b"x = 1\n")

    assert (workspace.root / "src/new.py").read_bytes() == b"x = 1\n"
    assert (workspace.root / "link").is_symlink()
    assert workspace.changed_files == ("src/new.py",)


def test_links_in_a_circle_are_refused(workspace: Workspace) -> None:
    (workspace.root / "one").symlink_to("two")
    (workspace.root / "two").symlink_to("one")

    with pytest.raises(ToolError):
        workspace.write(workspace.resolve("one/x", for_write=True), b"")


def test_a_link_that_appears_after_the_check_is_not_followed(workspace: Workspace) -> None:
    path = workspace.resolve("src/a.py", for_write=True)
    path.symlink_to(workspace.root.parent / "outside/secret.txt")

    with pytest.raises(ToolError), workspace.opened(path):
        pass
    workspace.write(path, b"mine")

    assert (workspace.root.parent / "outside/secret.txt").read_text() == "secret"


def test_a_named_pipe_does_not_hang_a_read(workspace: Workspace) -> None:
    os.mkfifo(workspace.root / "pipe")

    with (
        pytest.raises(ToolError, match="not a regular file"),
        workspace.opened(workspace.resolve("pipe")),
    ):
        pass
    with pytest.raises(ToolError, match="not a regular file"):
        workspace.write(workspace.resolve("pipe", for_write=True), b"")


def test_a_read_only_file_is_refused_and_stays(workspace: Workspace) -> None:
    file = workspace.root / "locked.txt"
    file.write_text("old")
    file.chmod(0o444)

    with pytest.raises(ToolError, match="read-only"):
        workspace.write(workspace.resolve("locked.txt", for_write=True), b"new")

    assert file.read_text() == "old"
    assert workspace.changed_files == ()


def test_a_file_where_a_folder_is_needed_is_said(workspace: Workspace) -> None:
    (workspace.root / "file").write_text("x")

    with pytest.raises(ToolError, match="file/below"):
        workspace.write(workspace.resolve("file/below/x.txt", for_write=True), b"")


def test_further_folders_may_be_read_and_not_written(workspace: Workspace) -> None:
    output = workspace.root / ".team/output"
    (output / "long.txt").write_text("all of it")
    wider = Workspace(workspace.root, readable=(output,))

    # inside the root the closed folder stays closed but for this one
    assert wider.resolve(str(output / "long.txt")) == output / "long.txt"
    with pytest.raises(ToolError):
        wider.resolve(str(output / "long.txt"), for_write=True)
    with pytest.raises(ToolError):
        wider.resolve(".team/id")


_PARTS = st.sampled_from(
    ["..", ".", "a", "b", "in", "out", "up", "loop", "closed", ".git", ".tasks", "", "/", "~", "\0"]
)
_PATHS = st.one_of(st.lists(_PARTS, max_size=8).map("/".join), st.text(max_size=30))
_TARGETS = st.lists(
    st.sampled_from(["..", "a", "b", "in", "out", "up", "loop", ".git", "new"]),
    min_size=1,
    max_size=4,
)


@settings(deadline=None)  # it makes real folders, and the disk may be busy
@given(path=_PATHS, links=st.dictionaries(st.sampled_from("in out up loop".split()), _TARGETS))
def test_no_path_and_no_layout_of_links_escapes(path: str, links: dict[str, list[str]]) -> None:
    base = Path(tempfile.mkdtemp()).resolve()
    try:
        root = base / "root"
        for folder in ("root/a/b", "root/.git", "root/.tasks", "beside"):
            (base / folder).mkdir(parents=True)
        for name, target in links.items():
            (root / name).symlink_to("/".join(target))
            (root / "a" / name).symlink_to("/".join(target))
        before = set(base.rglob("*"))
        workspace = Workspace(root)

        try_to_write(workspace, path)

        made = {created for created in base.rglob("*") if created not in before}
        assert all(created.is_relative_to(root) for created in made)
        assert not any(CLOSED & set(created.relative_to(root).parts) for created in made)
        assert list((base / "beside").iterdir()) == []
    finally:
        shutil.rmtree(base)


def try_to_write(workspace: Workspace, path: str) -> None:
    try:
        resolved = workspace.resolve(path, for_write=True)
        assert resolved.is_relative_to(workspace.root)
        workspace.write(resolved, b"x")
    except ToolError:
        return
    assert resolved.read_bytes() == b"x"
