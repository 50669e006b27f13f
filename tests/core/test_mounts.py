"""Which file systems are shared with other machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.core.mounts import MOUNTS, shared_file_system


def listed(tmp_path: Path, *mounts: tuple[object, str]) -> Path:
    """A list of mounts as Linux gives it: `(mount point, type)`."""
    lines = [
        f"{number} 1 0:{number} / {str(point).replace(' ', chr(92) + '040')} rw - {kind} dev rw"
        for number, (point, kind) in enumerate(mounts)
    ]
    path = tmp_path / "mountinfo"
    path.write_text("\n".join([*lines, "damaged", ""]), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "virtiofs", "fuse.sshfs"])
def test_a_folder_on_a_network_file_system_is_shared(tmp_path: Path, kind: str) -> None:
    mounts = listed(tmp_path, ("/", "ext4"), (tmp_path, kind))
    assert shared_file_system(tmp_path / "board" / ".tasks", mounts) == kind
    assert shared_file_system(tmp_path.parent, mounts) is None


@pytest.mark.parametrize("kind", ["ext4", "overlay", "tmpfs", "btrfs", "fuseblk"])
def test_a_local_one_is_not(tmp_path: Path, kind: str) -> None:
    assert shared_file_system(tmp_path, listed(tmp_path, ("/", kind))) is None


def test_the_innermost_and_the_last_mount_counts(tmp_path: Path) -> None:
    inner = tmp_path / "in side"
    mounts = listed(tmp_path, (tmp_path, "nfs"), (inner, "autofs"), (inner, "ext4"), ("/", "ext4"))
    assert shared_file_system(inner / "x", mounts) is None
    assert shared_file_system(tmp_path / "in", mounts) == "nfs"


def test_a_link_counts_as_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far")
    mounts = listed(tmp_path, ("/", "ext4"), (tmp_path / "far", "nfs"))
    assert shared_file_system(tmp_path / "near", mounts) == "nfs"


def test_without_a_list_of_mounts_nothing_is_called_shared(tmp_path: Path) -> None:
    assert shared_file_system(tmp_path, tmp_path / "nowhere") is None


@pytest.mark.skipif(not MOUNTS.exists(), reason="the list of mounts is Linux's")
def test_the_list_of_this_machine_can_be_read() -> None:
    assert shared_file_system(Path("/proc")) is None
