"""Whatever lies in the directories: no crash, one answer, and never two agents of one name."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.agents.discovery import Discovery, discover_agents

PLACES = [
    "home/.xcsh/agent/agents",
    "home/.claude/agents",
    "home/.codex/agents",
    "work/.xcsh/agents",
    "work/.claude/agents",
    "work/sub/.claude/agents",
    "work/sub/.gemini/agents",
    "plugin/agents",
]
REGISTRIES = [
    "home/.claude/plugins/installed_plugins.json",
    "home/.xcsh/plugins/installed_plugins.json",
    "work/.xcsh/plugins/installed_plugins.json",
]
names = st.sampled_from(
    ["a.md", "b.md", "c.toml", "-.md", ".md", "\udcff.md", "é.md", "x", "sub/a.md"]
)
contents = st.binary(max_size=40) | st.builds(
    lambda name, tools: f"---\nname: {name}\ndescription: d\n{tools}\n---\nx\n".encode(),
    st.sampled_from(["one", "two", "task", "5", "~"]),
    st.sampled_from(["", "tools: read", "tools: [", "tools:\ntools:", "spawns: {a: b}"]),
)
registries = st.sampled_from(
    [
        {"version": 1, "plugins": {"p@s": [{"installPath": "{ROOT}/plugin", "scope": "project"}]}},
        {"version": 1, "plugins": {"p@s": [{"installPath": "{ROOT}/plugin", "enabled": False}]}},
        {"version": 1, "plugins": {"p@s": [{"installPath": "{ROOT}/work/.claude"}, None]}},
        {"version": 1, "plugins": {"p@s": 5, "q": [{}], "": []}},
        {"version": "1", "plugins": []},
        5,
    ]
).map(lambda value: json.dumps(value).encode())
files = st.tuples(st.sampled_from(PLACES), names, contents)
links = st.tuples(
    st.sampled_from([*PLACES, *(f"{place}/link.md" for place in PLACES), *REGISTRIES]),
    st.sampled_from([*PLACES, f"{PLACES[1]}/a.md", "home", "nowhere", "."]),
)
registry_files = st.tuples(st.sampled_from(REGISTRIES), registries | st.binary(max_size=20))


@contextmanager
def tree(
    found: list[tuple[str, str, bytes]],
    linked: list[tuple[str, str]],
    registered: list[tuple[str, bytes]],
) -> Iterator[Path]:
    """A directory with these links, files and registries, as far as they fit together."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "work" / "sub").mkdir(parents=True)
        for link, target in linked:
            with suppress(OSError):  # another link is in the way
                (root / link).parent.mkdir(parents=True, exist_ok=True)
                (root / link).symlink_to(root / target)
        for place, name, data in found:
            put(root / place / name, data)
        for name, data in registered:
            put(root / name, data.replace(b"{ROOT}", os.fsencode(root)))
        yield root


def put(path: Path, data: bytes) -> None:
    with suppress(OSError):  # a link of the tree is in the way
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def facts(discovery: Discovery) -> tuple[object, ...]:
    return discovery.agents, discovery.files, discovery.warnings, discovery.registries


@given(
    st.lists(files, max_size=6),
    st.lists(links, max_size=3),
    st.lists(registry_files, max_size=3),
    st.sampled_from(["work/sub", "work", "home", ".", "nowhere"]),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_tree_has_one_answer_in_which_every_file_is_explained(
    found: list[tuple[str, str, bytes]],
    linked: list[tuple[str, str]],
    registered: list[tuple[str, bytes]],
    cwd: str,
) -> None:
    with tree(found, linked, registered) as root:
        discovery = discover_agents(root / cwd, root / "home")
        assert facts(discovery) == facts(discover_agents(root / cwd, root / "home"))
    names = [agent.name for agent in discovery.agents]
    assert len(names) == len(set(names))
    used = {agent.file for agent in discovery.agents}
    for file in discovery.files:
        if file.parsed.definition is None:
            assert file.parsed.reason
        elif file.state == "shadowed":
            assert file.shadowed_by in used
    for registry in discovery.registries:
        warned = any(warning.startswith(f"{registry.file}: ") for warning in discovery.warnings)
        assert warned is (registry.problem is not None)
        assert all(one.reason for one in registry.plugins if one.state != "used")
