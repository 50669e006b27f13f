"""find and grep in a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.errors import ToolError
from runner.work.tools.scan import Query
from runner.work.tools.search import FIND_LIMIT, grep_lines

if TYPE_CHECKING:
    from tests.work.tools.conftest import Bench


def fill(bench: Bench) -> None:
    (bench.root / "src/deep").mkdir(parents=True)
    (bench.root / "src/a.py").write_text("def one():\n    return 1\n")
    (bench.root / "src/deep/b.py").write_text("ONE = 1\n")
    (bench.root / "notes.md").write_text("one\n")


async def test_files_are_found_by_glob(bench: Bench) -> None:
    fill(bench)

    assert await bench("find", pattern="*.py") == "src/a.py\nsrc/deep/b.py"
    assert await bench("find", pattern="*.py", path="src/deep") == "src/deep/b.py"
    assert await bench("find", pattern="deep") == "src/deep/"
    assert await bench("find", pattern="*.rs") == "[nothing matches *.rs]"


async def test_the_number_of_found_files_is_bounded(bench: Bench) -> None:
    for number in range(FIND_LIMIT + 1):
        (bench.root / f"{number}.txt").touch()

    found = (await bench("find", pattern="*")).splitlines()

    assert len(found) == FIND_LIMIT + 1
    assert found[-1] == "[stopped here; narrow the pattern or the path]"


async def test_a_path_that_is_not_there_is_said(bench: Bench) -> None:
    for tool in ("find", "grep"):
        with pytest.raises(ToolError, match="gone: no such file or directory"):
            await bench(tool, pattern="x", path="gone")


async def test_lines_are_found_with_paths_that_read_takes(bench: Bench) -> None:
    fill(bench)

    assert await bench("grep", pattern="one") == "notes.md:1: one\nsrc/a.py:1: def one():\n"
    assert await bench("grep", pattern=r"on\w", path="src") == "src/a.py:1: def one():\n"
    assert await bench("grep", pattern="1$", path="src/a.py") == "src/a.py:2:     return 1\n"


async def test_a_search_can_be_narrowed_and_widened(bench: Bench) -> None:
    fill(bench)

    found = await bench("grep", pattern="one", glob="*.py", ignore_case=True, context=1)

    assert found.splitlines() == [
        *("src/a.py:1: def one():", "src/a.py-2-     return 1"),
        "src/deep/b.py:1: ONE = 1",
    ]


async def test_no_line_is_an_answer_and_no_error(bench: Bench) -> None:
    assert await bench("grep", pattern="nowhere") == "[no line matches]"


async def test_a_bad_pattern_is_explained(bench: Bench) -> None:
    with pytest.raises(ToolError, match=r"not a regular expression: .*unterminated"):
        await bench("grep", pattern="[a")


async def test_the_board_cannot_be_searched(bench: Bench) -> None:
    (bench.root / ".tasks/task_1.json").write_text('{"id": 1, "subject": "secret"}')

    assert await bench("grep", pattern="secret") == "[no line matches]"


async def test_a_pattern_that_never_ends_is_stopped(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("a" * 40 + "!")
    query = Query(path=str(bench.root), label="", pattern="(a+)+$")

    with pytest.raises(ToolError, match=r"grep took over 0\.3 s"):
        await grep_lines(query, bench.context, timeout_s=0.3)

    assert bench.context.teammate.processes.groups == frozenset()
