"""read, write, edit, ls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.errors import ToolError

if TYPE_CHECKING:
    from tests.work.tools.conftest import Bench


async def test_a_file_is_read_as_it_is(bench: Bench) -> None:
    (bench.root / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\n  two\r\n\r\n")

    assert await bench("read", path="a.txt") == "one\n  two\n"


async def test_a_long_file_is_read_page_by_page(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))

    first = await bench("read", path="a.txt", limit=2)
    last = await bench("read", path="a.txt", offset=10, limit=2)

    assert first == "line 1\nline 2\n[lines 1-2 of 10; read on with offset 3]"
    assert last == "line 10"


async def test_a_page_is_bounded_in_characters_too(bench: Bench) -> None:
    (bench.root / "a.txt").write_text(("x" * 1_900 + "\n") * 100 + "y" * 5_000)

    page = await bench("read", path="a.txt")
    end = await bench("read", path="a.txt", offset=101)

    assert page.endswith("[lines 1-18 of 101; read on with offset 19]")
    assert end.endswith("y [... 3000 more characters]")


async def test_an_offset_behind_the_end_is_said(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("one\n")

    with pytest.raises(ToolError, match=r"a\.txt has 1 lines; offset 5"):
        await bench("read", path="a.txt", offset=5)


async def test_what_is_no_text_is_said_politely(bench: Bench) -> None:
    (bench.root / "image.png").write_bytes(b"\x89PNG\0\0")
    (bench.root / "empty").touch()
    (bench.root / "latin").write_bytes(b"caf\xe9\n")

    assert "binary file of 6 bytes" in await bench("read", path="image.png")
    assert await bench("read", path="empty") == "[empty is empty]"
    assert await bench("read", path="latin") == "caf\ufffd"


@pytest.mark.parametrize(
    ("path", "said"),
    [("gone.txt", "gone.txt: no such file"), (".", "is a directory; use ls"), ("big", "grep")],
)
async def test_what_cannot_be_read_is_an_error(bench: Bench, path: str, said: str) -> None:
    with (bench.root / "big").open("wb") as stream:
        stream.truncate(60_000_000)

    with pytest.raises(ToolError, match=said):
        await bench("read", path=path)


async def test_a_write_makes_parents_and_is_remembered(bench: Bench) -> None:
    assert await bench("write", path="src/new/a.py", content="é\n") == (
        "created src/new/a.py (3 bytes)"
    )
    assert await bench("write", path="src/new/a.py", content="") == (
        "replaced src/new/a.py (0 bytes)"
    )
    assert (bench.root / "src/new/a.py").read_bytes() == b""
    assert bench.context.workspace.changed_files == ("src/new/a.py",)


async def test_a_write_keeps_the_mode_of_the_file(bench: Bench) -> None:
    script = bench.root / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)

    await bench("write", path="run.sh", content="#!/bin/sh\ntrue\n")

    assert script.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("tool", ["read", "write", "edit", "ls", "find", "grep"])
async def test_every_file_tool_stays_in_the_workspace(bench: Bench, tool: str) -> None:
    arguments = {
        "write": {"content": "x"},
        "edit": {"old_string": "a", "new_string": "b"},
        "find": {"pattern": "*"},
        "grep": {"pattern": "x"},
    }.get(tool, {})

    for path in ("../../outside", "/etc", ".tasks/task_1.json", ".git"):
        with pytest.raises(ToolError, match=r"outside the workspace|not open to file tools"):
            await bench(tool, path=path, **arguments)


async def test_an_edit_replaces_the_one_place(bench: Bench) -> None:
    (bench.root / "a.py").write_text("x = 1\ny = 2\n")

    said = await bench("edit", path="a.py", old_string="x = 1", new_string="x = 3")

    assert said == "edited a.py (1 place)"
    assert (bench.root / "a.py").read_text() == "x = 3\ny = 2\n"


async def test_an_edit_replaces_all_places_when_asked(bench: Bench) -> None:
    (bench.root / "a.py").write_text("a a a")

    said = await bench("edit", path="a.py", old_string="a", new_string="b", replace_all=True)

    assert said == "edited a.py (3 places)"
    assert (bench.root / "a.py").read_text() == "b b b"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("nowhere", "x", "was not found"),
        ("a", "x", "was found 2 times"),
        ("", "x", "old_string is empty"),
        ("a", "a", "the same"),
    ],
)
async def test_an_edit_that_is_not_clear_changes_nothing(
    bench: Bench, old: str, new: str, said: str
) -> None:
    (bench.root / "a.txt").write_text("a a\n")

    with pytest.raises(ToolError, match=said):
        await bench("edit", path="a.txt", old_string=old, new_string=new)

    assert (bench.root / "a.txt").read_text() == "a a\n"
    assert bench.context.workspace.changed_files == ()


async def test_an_edit_keeps_the_line_ends_of_the_file(bench: Bench) -> None:
    (bench.root / "a.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")

    await bench("edit", path="a.txt", old_string="one\ntwo", new_string="1\n2")

    assert (bench.root / "a.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"


async def test_an_edit_of_what_is_not_utf_8_is_refused(bench: Bench) -> None:
    (bench.root / "a.txt").write_bytes(b"caf\xe9 a")

    with pytest.raises(ToolError, match="not UTF-8"):
        await bench("edit", path="a.txt", old_string="a", new_string="b")

    assert (bench.root / "a.txt").read_bytes() == b"caf\xe9 a"


async def test_a_directory_is_listed_without_what_is_closed(bench: Bench) -> None:
    (bench.root / "src").mkdir()
    (bench.root / "a.txt").write_text("12345")
    (bench.root / "link").symlink_to("src")

    assert await bench("ls") == "a.txt (5 bytes)\nlink -> src\nsrc/"
    assert await bench("ls", path="src") == "[empty directory]"


async def test_a_name_that_is_no_unicode_can_be_shown(bench: Bench) -> None:
    (bench.root / "caf\udce9").touch()

    assert await bench("ls") == "caf\ufffd (0 bytes)"
    assert await bench("find", pattern="caf*") == "caf\ufffd"


async def test_what_is_no_directory_cannot_be_listed(bench: Bench) -> None:
    (bench.root / "a.txt").touch()

    with pytest.raises(ToolError, match=r"a\.txt is not a directory; use read"):
        await bench("ls", path="a.txt")
    with pytest.raises(ToolError, match="gone"):
        await bench("ls", path="gone")


async def test_a_huge_directory_is_cut(bench: Bench) -> None:
    for number in range(1_003):
        (bench.root / f"{number:05}").touch()

    assert (await bench("ls")).endswith("00999 (0 bytes)\n[... 3 more entries]")
