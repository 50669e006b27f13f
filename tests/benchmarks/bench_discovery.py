"""Cold and warm discovery over agent files, some of them of plugins; cold and warm.

Run: python -m tests.benchmarks.bench_discovery [--json]
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path

from runner.agents.discovery import discover_agents
from tests.benchmarks.kit import Figures, show

COUNT = 1_000
ROUNDS = 7
PLUGINS = 20
TEXT = """---
name: {name}
description: Looks after part {name} of the house, and says so when something is amiss
tools: [read, grep, bash]
model: small-fast, large-slow
thinkingLevel: low
output:
  properties:
    answer: {{type: string}}
---
""" + ("You look after one part of the house and report what you find.\n" * 30)


def fill(root: Path, count: int, plugins: int) -> Path:
    """`count` files in a project, or spread over that many plugins."""
    folders = [root / "p" / str(number) / "agents" for number in range(plugins)]
    for number, directory in enumerate(folders or [root / ".claude" / "agents"]):
        directory.mkdir(parents=True)
        for file in range(count // max(plugins, 1)):
            path = directory / f"{file:05}.md"
            path.write_text(TEXT.format(name=f"agent-{number}-{file}"), encoding="utf-8")
    registry = root / "home" / ".claude" / "plugins" / "installed_plugins.json"
    registry.parent.mkdir(parents=True)
    entries = {f"{folder}@shop": [{"installPath": str(folder.parent)}] for folder in folders}
    registry.write_text(json.dumps({"version": 2, "plugins": entries}))
    return root


def seconds(root: Path, count: int) -> float:
    start = time.perf_counter()
    found = discover_agents(root, root / "home")
    took = time.perf_counter() - start
    assert sum(agent.source != "bundled" for agent in found.agents) == count
    return took


def cold_and_warm(folder: Path, plugins: int) -> Figures:
    roots = [fill(folder / f"{plugins}-{number}", COUNT, plugins) for number in range(3)]
    time.sleep(0.2)  # noqa: TID251 - what was written this very moment is read twice
    cold = statistics.median(seconds(root, COUNT) for root in roots)
    warm = statistics.median(seconds(roots[0], COUNT) for _ in range(ROUNDS))
    what = f"discovery of {COUNT:,} agent files in {plugins} plugins"
    return {
        f"{what}, cold, ms": 1000 * cold,
        f"{what}, warm, ms": 1000 * warm,
        f"{what}: warm, % of cold (aim 5)": 100 * warm / cold,
    }


def measure() -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        return cold_and_warm(Path(folder), 0) | cold_and_warm(Path(folder), PLUGINS)


if __name__ == "__main__":
    show(measure, __doc__)
