"""bash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.errors import ToolError

if TYPE_CHECKING:
    from tests.work.tools.conftest import Bench


async def test_a_command_runs_in_the_workspace(bench: Bench) -> None:
    assert await bench("bash", command="pwd") == f"{bench.root}\n"


async def test_a_command_that_prints_nothing_says_so(bench: Bench) -> None:
    assert await bench("bash", command="true") == "(no output)"
    assert await bench("bash", command="printf '\\n \\n'") == "(no output)"


async def test_a_failure_shows_output_and_status(bench: Bench) -> None:
    assert await bench("bash", command="echo oops >&2; exit 3") == "oops\n[exit status 3]"
    assert await bench("bash", command="printf oops; false") == "oops\n[exit status 1]"


async def test_a_question_fails_fast(bench: Bench) -> None:
    said = await bench("bash", command="read -r answer || echo nobody answers")

    assert said == "nobody answers\n"


async def test_bytes_that_are_not_utf_8_are_replaced(bench: Bench) -> None:
    assert await bench("bash", command=r"printf 'caf\351\n'") == "caf\ufffd\n"


async def test_a_command_that_takes_too_long_is_an_error_with_its_output(bench: Bench) -> None:
    with pytest.raises(ToolError, match=r"begun\n\[stopped: not finished after 1 s\]"):
        await bench("bash", command="echo begun; sleep 60", timeout=1)


async def test_a_background_program_serves_later_commands(bench: Bench) -> None:
    started = "mkfifo ask; (read -r word <ask; echo got $word >said) & echo up"

    assert await bench("bash", command=started) == "up\n"
    await bench("bash", command="echo hello >ask; while [ ! -s said ]; do :; done", timeout=5)

    assert (bench.root / "said").read_text() == "got hello\n"


async def test_long_output_is_cut_and_kept_in_a_file_that_read_takes(bench: Bench) -> None:
    said = await bench("bash", command="seq 20000")

    assert said.startswith("1\n2\n")
    assert said.endswith("19999\n20000\n")
    assert len(said) < 41_000
    file = said.partition("the whole output is in ")[2].partition(" ...]")[0]
    assert (await bench("read", path=file, offset=12_345, limit=1)).startswith("12345\n")


async def test_what_is_kept_holds_no_key(bench: Bench) -> None:
    bench.change(redact=lambda text: text.replace("sk-test-123", "[redacted]"))

    said = await bench("bash", command="echo sk-test-123; seq 20000")

    assert said.startswith("[redacted]\n")
    for file in bench.context.output_dir.iterdir():
        assert "sk-test-123" not in file.read_text()
