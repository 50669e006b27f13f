"""Which file systems are shared with other machines, whose writes nobody here is told of."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")

_SHARED = frozenset(
    "9p acfs afs beegfs ceph cifs coda davfs drvfs fuse gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 "
    "ocfs2 orangefs prl_fs pvfs2 smb3 smbfs vboxsf virtiofs vmhgfs".split()
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


def shared_file_system(folder: Path, mounts: Path = MOUNTS) -> str | None:
    """The type of the file system of `folder` if other machines may write to it; else None.

    Any `fuse.*` counts as shared: what serves it tells nobody. None too where the system has no
    list of mounts like Linux.
    """
    try:
        # bytes that are no UTF-8 may stand in a path
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    place, found, depth = folder.resolve(), "", 0
    for line in lines:
        # 36 35 98:0 /root/in/it /mount\040point rw,noatime [tags] - ext4 /dev/sda1 rw
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.partition(" ")[0]
        if len(fields) < 5 or not kind:
            continue
        point = Path(_ESCAPED.sub(lambda code: chr(int(code[1], 8)), fields[4]))
        # a later mount on the same point hides the earlier one
        if place.is_relative_to(point) and len(point.parts) >= depth:
            found, depth = kind, len(point.parts)
    return found if found in _SHARED or found.startswith("fuse.") else None
