"""read, write, edit, ls: files of the workspace. Each call is one thread hop."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from runner.core.files import clean_text
from runner.errors import ToolError
from runner.work.messages import ToolSpec
from runner.work.tools.base import Tool, in_thread, parameters
from runner.work.workspace import CLOSED, Workspace

READ_LINES = 2_000
READ_CHARACTERS = 36_000  # below what a result may hold, so that a page is never cut in the middle
_LINE_CHARACTERS = 2_000
_LARGEST_FILE = 50_000_000  # bytes
_SNIFF = 8_192
_LS_ENTRIES = 1_000
_BOM = "\ufeff"

_PATH = {"type": "string", "description": "Path of the file, relative to the workspace."}


def read_page(workspace: Workspace, path: str, offset: int = 1, limit: int = READ_LINES) -> str:
    """Lines `offset` (from 1) to `offset + limit - 1`, and a note if there are more."""
    file = workspace.resolve(path)
    data = _load(workspace, file)
    name = workspace.name(file)
    if b"\0" in data[:_SNIFF]:
        return f"[{name} is a binary file of {len(data)} bytes; it cannot be shown as text]"
    if not data:
        return f"[{name} is empty]"
    lines = data.decode("utf-8", "replace").removeprefix(_BOM).replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    if offset > len(lines):
        raise ToolError(f"{name} has {len(lines)} lines; offset {offset} is behind its end")
    page = _page(lines[offset - 1 : offset - 1 + limit])
    last = offset - 1 + len(page)
    if last < len(lines):
        page.append(f"[lines {offset}-{last} of {len(lines)}; read on with offset {last + 1}]")
    return "\n".join(page)


def _page(lines: list[str]) -> list[str]:
    page: list[str] = []
    size = 0
    for line in lines:
        if len(line) > _LINE_CHARACTERS:
            line = f"{line[:_LINE_CHARACTERS]} [... {len(line) - _LINE_CHARACTERS} more characters]"
        size += len(line) + 1
        if page and size > READ_CHARACTERS:
            break
        page.append(line)
    return page


def _load(workspace: Workspace, path: Path) -> bytes:
    with workspace.opened(path) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > _LARGEST_FILE:
            name = workspace.name(path)
            raise ToolError(f"{name} has {size} bytes, too much to read; search in it with grep")
        with open(descriptor, "rb", closefd=False) as stream:
            return stream.read()


def write_file(workspace: Workspace, path: str, content: str) -> str:
    """Make the file `path`, or replace it whole. Raises: ToolError."""
    file = workspace.resolve(path, for_write=True)
    data = content.encode()
    existed = file.exists()
    workspace.write(file, data)
    verb = "replaced" if existed else "created"
    return f"{verb} {workspace.name(file)} ({len(data)} bytes)"


def edit_file(
    workspace: Workspace, path: str, old_string: str, new_string: str, replace_all: bool = False
) -> str:
    """Replace `old_string`, which must occur exactly once unless `replace_all`.

    Raises: ToolError.
    """
    file = workspace.resolve(path, for_write=True)
    name = workspace.name(file)
    old, new = old_string, new_string
    if not old:
        raise ToolError("old_string is empty; use write to make a new file")
    if old == new:
        raise ToolError("old_string and new_string are the same; nothing would change")
    try:
        text = _load(workspace, file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolError(f"{name} is not UTF-8 text; an edit would damage it") from error
    if old not in text and "\r\n" in text:
        # read shows such a file with plain line ends, so that is how the model writes them
        old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
    count = text.count(old)
    if count == 0:
        raise ToolError(f"{name}: old_string was not found; read the file and copy it exactly")
    if count > 1 and not replace_all:
        raise ToolError(
            f"{name}: old_string was found {count} times; add lines around it, or set replace_all"
        )
    workspace.write(file, text.replace(old, new).encode())
    return f"edited {name} ({count} {'place' if count == 1 else 'places'})"


def list_directory(workspace: Workspace, path: str = ".") -> str:
    """The names in a directory, one a line; folders end in a slash. Raises: ToolError."""
    folder = workspace.resolve(path)
    try:
        with os.scandir(folder) as entries:
            names = sorted(_entry(entry) for entry in entries if entry.name.lower() not in CLOSED)
    except NotADirectoryError as error:
        raise ToolError(f"{workspace.name(folder)} is not a directory; use read") from error
    except OSError as error:
        raise ToolError(f"{workspace.name(folder)}: {error.strerror}") from error
    if not names:
        return "[empty directory]"
    if len(names) > _LS_ENTRIES:
        names = [*names[:_LS_ENTRIES], f"[... {len(names) - _LS_ENTRIES} more entries]"]
    return "\n".join(names)


def _entry(entry: os.DirEntry[str]) -> str:
    name = clean_text(entry.name)
    if entry.is_symlink():
        return f"{name} -> {clean_text(str(Path(entry.path).readlink()))}"
    if entry.is_dir():
        return f"{name}/"
    return f"{name} ({_size(entry)})"


def _size(entry: os.DirEntry[str]) -> str:
    """The size in bytes, or what it is if it is no regular file."""
    status = entry.stat(follow_symlinks=False)
    return f"{status.st_size} bytes" if stat.S_ISREG(status.st_mode) else "special file"


READ = Tool(
    read_only=True,
    run=in_thread(read_page),
    spec=ToolSpec(
        name="read",
        description=(
            "Read a text file. Without offset and limit: the first 2000 lines. A note at the end "
            "says where to read on."
        ),
        parameters=parameters(
            "path",
            path=_PATH,
            offset={"type": "integer", "minimum": 1, "description": "First line, from 1."},
            limit={"type": "integer", "minimum": 1, "description": "Number of lines."},
        ),
    ),
)

WRITE = Tool(
    run=in_thread(write_file),
    spec=ToolSpec(
        name="write",
        description="Create a file or replace it whole. Missing parent directories are made.",
        parameters=parameters("path content", path=_PATH, content={"type": "string"}),
    ),
)

EDIT = Tool(
    run=in_thread(edit_file),
    spec=ToolSpec(
        name="edit",
        description=(
            "Replace one exact piece of text in a file. old_string must be copied exactly, with "
            "its indentation, and occur once; with replace_all every occurrence is replaced."
        ),
        parameters=parameters(
            "path old_string new_string",
            path=_PATH,
            old_string={"type": "string"},
            new_string={"type": "string"},
            replace_all={"type": "boolean", "description": "Default false."},
        ),
    ),
)

LS = Tool(
    read_only=True,
    run=in_thread(list_directory),
    spec=ToolSpec(
        name="ls",
        description="List a directory (default: the workspace). Directories end in a slash.",
        parameters=parameters("", path={"type": "string", "description": "The directory."}),
    ),
)
