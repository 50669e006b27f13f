"""`runner agents parse`: any file is valid or explained, in one process for all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runner.agents.fields import THINKING_LEVELS
from tests.cli.agent_shapes import damaged
from tests.cli.agents_call import CASES, KEYS, agent, call, call_json, write

EXPECTED: dict[str, Any] = json.loads((CASES / "agents" / "expected.json").read_bytes())["cases"]
FIELDS = ("name", "description", "tools", "spawns", "model", "thinkingLevel", "blocking")
COUNT = 2000


def as_expected(one: dict[str, Any]) -> dict[str, Any]:
    """An object of `parse` in the words of expected.json."""
    if not one["valid"]:
        return {"valid": False, "line_parser": one["fallback"]}
    has_output = "output" in one
    return {
        "valid": True,
        "line_parser": one["fallback"],
        **{key: one[key] for key in FIELDS},
        "output": {"present": True, "value": one["output"]} if has_output else {"present": False},
        "body_first_40": one["body"][:40],
        "body_length": len(one["body"]),
    }


def process(root: Path, paths: Sequence[str], *argv: str) -> subprocess.CompletedProcess[bytes]:
    """A child process that gets the paths on standard input."""
    return subprocess.run(
        [sys.executable, "-m", "runner", "agents", "parse", "-", *argv],
        cwd=root,
        env=os.environ | {"HOME": str(root)},
        input="".join(f"{path}\n" for path in paths).encode(),
        capture_output=True,
        check=False,
    )


def test_every_case_file_is_read_as_expected_by_one_process(tmp_path: Path) -> None:
    done = process(tmp_path, [str(CASES / "agents" / name) for name in EXPECTED], "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    for name, one in zip(EXPECTED, json.loads(done.stdout), strict=True):
        expected = EXPECTED[name]
        assert as_expected(one).items() <= expected.items(), name
        assert Path(one["path"]).name == name
        assert (one["reason"] is None) == one["valid"]


def test_two_thousand_damaged_files_are_valid_or_explained(tmp_path: Path) -> None:
    shapes = [(CASES / "agents" / name).read_bytes() for name in EXPECTED]
    for number, data in enumerate(damaged(shapes, COUNT)):
        (tmp_path / f"{number}.md").write_bytes(data)
    done = process(tmp_path, [f"{number}.md" for number in range(COUNT)], "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    parsed = json.loads(done.stdout)
    assert [one["path"] for one in parsed] == [f"{number}.md" for number in range(COUNT)]
    valid = [one for one in parsed if one["valid"]]
    assert COUNT / 4 < len(valid) < COUNT
    for one in valid:
        assert one["name"].strip()
        assert one["description"].strip()
        assert one["tools"] is None or "submit_result" in one["tools"]
        assert one["thinkingLevel"] in (None, *THINKING_LEVELS)
        assert one["reason"] is None
    for one in parsed:
        if not one["valid"]:
            assert one["reason"], one["path"]
            assert one["name"] is None


def test_damaged_files_are_read_the_same_again_and_as_lines(tmp_path: Path) -> None:
    shapes = [(CASES / "agents" / name).read_bytes() for name in EXPECTED]
    names = []
    for number, data in enumerate(damaged(shapes, 300)):
        (tmp_path / f"{number}.md").write_bytes(data)
        names.append(f"{number}.md")
    stdin = "\n".join(names).encode()
    first = call_json(tmp_path, "parse", "-", stdin=stdin)
    assert call_json(tmp_path, "parse", "-", stdin=stdin) == first
    lines = call(tmp_path, "parse", "-", stdin=stdin)[1].splitlines()
    verdicts = [line for line in lines if not line.startswith("  ")]
    assert [line.partition(": ")[0] for line in verdicts] == names
    said = [line.partition(": ")[2].startswith("agent ") for line in verdicts]
    assert said == [one["valid"] for one in first]


def test_the_keys_are_those_of_list_and_its_own(tmp_path: Path) -> None:
    write(tmp_path, "a.md", agent("a"))
    write(tmp_path, "b.md", agent("b", "output: {type: object}"))
    plain, schema = call_json(tmp_path, "parse", "a.md", "b.md")
    own = ["path", "valid", "fallback", "reason", "body"]
    assert list(plain) == [key for key in KEYS if key != "output"] + own
    assert list(schema) == [*KEYS, *own]
    assert (plain["path"], plain["file"]) == ("a.md", str(tmp_path / "a.md"))
    assert plain["body"] == "Work."


def test_a_codex_agent_in_toml_is_read(tmp_path: Path) -> None:
    text = 'name = "t"\ndescription = "d"\ndeveloper_instructions = "Work."\n'
    write(tmp_path, "t.toml", text)
    (one,) = call_json(tmp_path, "parse", "t.toml")
    assert (one["valid"], one["name"], one["body"]) == (True, "t", "Work.")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (b"missing.md", "cannot be read: No such file or directory"),
        (b"\xff.md", "cannot be read: No such file or directory"),
        (b"nul\0.md", "cannot be read: embedded null byte"),
        (b"folder", "not a regular file"),
        (b"pipe.md", "not a regular file"),
        (b"/dev/zero", "not a regular file"),
        (b"x" * 5000, "cannot be read: File name too long"),
        (b"loop.md", "cannot be read: Too many levels of symbolic links"),
        (b"gone.md", "cannot be read: No such file or directory"),
        (b"folder/../a.md/b", "cannot be read: Not a directory"),
        (b"big.md", "larger than 1,000,000 bytes"),
        (b"empty.md", "no front matter: the file does not start with ---"),
    ],
)
def test_what_is_no_file_to_read_has_its_reason(tmp_path: Path, path: bytes, reason: str) -> None:
    write(tmp_path, "a.md", agent("a"))
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "loop.md").symlink_to("loop.md")
    (tmp_path / "gone.md").symlink_to("nowhere")
    (tmp_path / "empty.md").touch()
    with (tmp_path / "big.md").open("wb") as sparse:
        sparse.truncate(3_000_000_000)
    odd, good = call_json(tmp_path, "parse", "-", stdin=path + b"\r\n\na.md")
    assert (odd["valid"], odd["reason"], odd["body"]) == (False, reason, None)
    assert good["valid"]


def test_a_megabyte_of_keys_is_read_in_time_that_grows_with_its_size(tmp_path: Path) -> None:
    lines = [f"k{number}:" for number in range(110_000)]
    write(tmp_path, "keys.md", agent("keys", *lines))
    (one,) = call_json(tmp_path, "parse", "keys.md")
    assert (one["valid"], one["fallback"]) == (True, False)


def test_file_names_of_every_kind_are_named_in_the_answer(tmp_path: Path) -> None:
    names = ["-.md", "--json.md", " a .md", "tab\t.md", "[bold].md", "日本.md", "$(id).md"]
    for name in names:
        write(tmp_path, name, agent("odd"))
    stdin = "\n".join(names).encode()
    parsed = call_json(tmp_path, "parse", "-", stdin=stdin)
    assert [(one["path"], one["valid"]) for one in parsed] == [(name, True) for name in names]
    assert len(call(tmp_path, "parse", "-", stdin=stdin)[1].splitlines()) == len(names)


def test_text_of_a_file_cannot_forge_lines_of_the_answer(tmp_path: Path) -> None:
    write(tmp_path, "a.md", agent('"x\\n/etc/b.md: agent \\e[31m"'))
    out = call(tmp_path, "parse", "a.md")[1]
    assert len(out.splitlines()) == 1
    assert "\x1b" not in out


def test_lines_tell_the_verdict_and_the_warnings(tmp_path: Path) -> None:
    write(tmp_path, "odd.md", "---\nname: odd\ndescription: d: e\n---\nx\n")
    write(tmp_path, "README.md", "# Agents\n")
    code, out, _ = call(tmp_path, "parse", "odd.md", "README.md")
    assert code == 0
    assert out.splitlines()[0] == "odd.md: agent 'odd'"
    assert out.splitlines()[1].startswith("  warning: ")
    assert "not YAML" in out.splitlines()[1]
    assert out.splitlines()[2].startswith("README.md: no agent: no front matter")


def test_a_reader_that_goes_away_ends_nothing_with_an_error(tmp_path: Path) -> None:
    write(tmp_path, "a.md", agent("a", body="x" * 50_000))
    command = f"yes a.md | head -50 | {sys.executable} -m runner agents parse - --json"
    done = subprocess.run(
        ["bash", "-c", f'({command}; echo "exit $?" >&2) | head -c 10'],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.stderr == b"exit 0\n"


def test_closed_standard_input_is_no_paths(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m runner agents parse - --json <&-"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"[]\n", b"")


def test_no_file_at_all_is_a_usage_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "runner", "agents", "parse"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"FILE" in done.stderr


def test_a_limit_that_is_not_read_is_told_and_the_file_stays_valid(tmp_path: Path) -> None:
    write(tmp_path, "a.md", agent("a", "Tools: Read"))
    (parsed,) = call_json(tmp_path, "parse", "a.md")
    assert (parsed["valid"], parsed["reason"], parsed["tools"]) == (True, None, None)
    assert (
        "no task can use it: line 4: `Tools` limits nothing" in call(tmp_path, "parse", "a.md")[1]
    )
