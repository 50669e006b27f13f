"""What the project says of itself is true: public names, layers, pages, commands."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import runner

ROOT = Path(__file__).resolve().parent.parent
MARKDOWN = sorted(
    path for folder in (ROOT, ROOT / "docs", ROOT / "tasks_example") for path in folder.glob("*.md")
)


def typed_names() -> set[str]:
    """The names that a type checker sees in `runner/__init__.py`."""
    tree = ast.parse(Path(str(runner.__file__)).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.name for node in imports for alias in node.names}


def test_all_public_names_are_visible_and_nothing_else_is() -> None:
    for name in runner.__all__:
        getattr(runner, name)

    visible = {
        name
        for name, value in vars(runner).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert visible - {"TYPE_CHECKING"} == set(runner.__all__)
    assert typed_names() == set(runner.__all__)
    assert set(runner.__all__) <= set(dir(runner))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing_like_it'"):
        _ = runner.nothing_like_it


def test_importing_the_package_loads_nothing_and_makes_no_file(tmp_path: Path) -> None:
    code = "import sys; before = set(sys.modules); import runner; print(set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=15,
        check=True,
    )

    assert done.stdout.strip() == "{'runner'}"
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_imports_go_downward_only() -> None:
    pytest.importorskip("importlinter", reason="comes with the dev extra")
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=18,
        check=False,
    )

    assert done.returncode == 0, done.stdout


def test_ci_runs_the_very_commands_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^ *(python3 -m venv .*)$", readme, re.MULTILINE)
    done = subprocess.run(
        ["bash", ROOT / ".ci" / "run", "commands"],
        capture_output=True,
        text=True,
        timeout=15,
        check=True,
    )

    assert len(shown) == 2
    assert done.stdout.splitlines() == shown


def test_the_page_for_agents_is_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) < 100


def test_the_license_is_there() -> None:
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        found = page.parent / path if path else page
        assert found.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(found), f"{page.name}: {target}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts form them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_test_that_a_page_names_exists() -> None:
    named = {
        name
        for page in MARKDOWN
        for name in re.findall(r"`(test_\w+)`", page.read_text(encoding="utf-8"))
    }
    defined = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))
    }
    assert named <= defined


def test_the_example_board_keeps_the_form_of_a_saved_task() -> None:
    for path in sorted((ROOT / "tasks_example" / ".tasks").iterdir()):
        text = path.read_text(encoding="utf-8")
        assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


def python_blocks(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)


def run_python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=18,
        check=False,
    )


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_the_examples_of_the_testing_kit_pass_as_they_stand(number: int, tmp_path: Path) -> None:
    (tmp_path / "test_team.py").write_text(python_blocks("docs/testing.md")[number])
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
    )

    done = run_python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_team.py")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_the_python_of_the_readme_runs_two_tasks(tmp_path: Path) -> None:
    (code,) = python_blocks("README.md")

    done = run_python(tmp_path, "-c", code)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "0 [(1, 'completed'), (2, 'completed')]"
    assert len([line for line in code.splitlines() if line.strip()]) <= 15


def timeless(line: str) -> str:
    """A line of a run without the two things that may differ: when, and which of the two coders."""
    return re.sub(r"^\d\d:\d\d:\d\d (ada|ben) ", "coder ", re.sub(r"^\S+ cleo ", "cleo ", line))


@pytest.mark.slow
def test_the_output_in_the_readme_is_what_the_demo_prints(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"^```text\n(.*?)^```", readme, re.S | re.M)

    done = run_python(tmp_path, "-m", "runner", "demo", str(tmp_path / "demo"))

    assert done.returncode == 0, done.stderr
    printed = {timeless(line) for line in (done.stdout + done.stderr).splitlines()}
    assert {timeless(line) for line in shown.splitlines() if line != "..."} <= printed


@pytest.mark.slow
def test_the_tutorial_works_as_it_stands(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    (tmp_path / ".tasks").mkdir()
    (tmp_path / ".xcsh" / "agents").mkdir(parents=True)
    for name, block in re.findall(r"`([\w./]+)`:\n\n```\w+\n(.*?)^```", text, re.S | re.M):
        (tmp_path / name).write_text(block)

    done = run_python(tmp_path, "-m", "runner", "run", "--drain")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "verify failed" in done.stdout
    assert len((tmp_path / "haiku.txt").read_text().splitlines()) == 3


def test_what_the_tutorial_adds_in_a_shell_is_on_the_board_as_it_reads(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    [line] = re.findall(r"^runner (tasks add .*)$", text, re.M)
    (tmp_path / ".tasks").mkdir()
    (tmp_path / ".xcsh" / "agents").mkdir(parents=True)
    [writer] = re.findall(r"`\.xcsh/agents/writer\.md`:\n\n```\w+\n(.*?)^```", text, re.S | re.M)
    (tmp_path / ".xcsh" / "agents" / "writer.md").write_text(writer)

    shell = f"{sys.executable} -m runner {line}"
    subprocess.run(["sh", "-c", shell], cwd=tmp_path, check=True, timeout=18)

    task = json.loads((tmp_path / ".tasks" / "task_1.json").read_bytes())
    assert (task["agent"], task["verify"]) == ("writer", ["test $(wc -l < limerick.txt) -eq 5"])
