"""Cold and warm discovery over 1,000 agent files; prints the ratio, which should be under 5 %.

Run: python tests/benchmarks/bench_discovery.py [FILES]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from runner.agents.discovery import discover_agents

ROUNDS = 7
TEXT = """---
name: agent-{number}
description: Looks after part {number} of the house, and says so when something is amiss
tools: [read, grep, bash]
model: small-fast, large-slow
thinkingLevel: low
output:
  properties:
    answer: {{type: string}}
---
""" + ("You look after one part of the house and report what you find.\n" * 30)


def fill(root: Path, count: int) -> Path:
    directory = root / ".claude" / "agents"
    directory.mkdir(parents=True)
    for number in range(count):
        path = directory / f"{number:05}.md"
        path.write_text(TEXT.format(number=number), encoding="utf-8")
    return root


def seconds(root: Path) -> float:
    start = time.perf_counter()
    discover_agents(root, root / "home")
    return time.perf_counter() - start


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        roots = [fill(Path(folder) / str(number), count) for number in range(3)]
        time.sleep(0.2)  # noqa: TID251 - what was written this very moment is read twice
        cold = statistics.median(seconds(root) for root in roots)
        warm = statistics.median(seconds(roots[0]) for _ in range(ROUNDS))
    print(
        f"{count} agent files: cold {cold * 1e3:.1f} ms, warm {warm * 1e3:.1f} ms, "
        f"warm is {warm / cold:.1%} of cold"
    )


if __name__ == "__main__":
    main()
