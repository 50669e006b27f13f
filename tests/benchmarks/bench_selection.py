"""What choosing an agent costs at every claim: 10,000 open tasks, 100 agent files.

Run: python -m tests.benchmarks.bench_selection [--json]

Claims without any admission, with one whose tasks name no agent, with one whose tasks name each a
different agent, and with a board whose first half is refused; each as a multiple of the first,
or of a claim past as many tasks for another role. Then one look over the whole board for 3 and for
500 teammates, as a drain does it at its end.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from runner.agents.discovery import discover_agents
from runner.board.outlook import RefusesFor, outlook
from runner.board.store import Store
from runner.board.task import Claimant
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.layout import Layout
from runner.core.settings import Settings
from runner.testing import ScriptedModel
from runner.work.admission import Admission
from runner.work.models import Models
from tests.benchmarks.kit import Figures, median_ms, show

TASKS = 10_000
AGENTS = 100
CLAIMS = 100
ME = Claimant(name="me", role="worker")
AGENT = """---
name: agent-{number}
description: Looks after part {number} of the house
tools: [read, grep, edit, "bash(git:*, make:*)"]
spawns: explore, agent-1
output:
  properties:
    answer: {{type: string}}
---
You look after one part of the house and report what you find.
"""

Fields = Callable[[int], dict[str, str]]


def measure() -> Figures:
    with tempfile.TemporaryDirectory(prefix="bench-selection-") as folder:
        return _measure(Path(folder), TASKS)


def _measure(root: Path, tasks: int) -> Figures:
    plain = _board(root / "plain", tasks, lambda number: {})
    named = _board(root / "named", tasks, lambda number: {"agent": f"agent-{number % AGENTS}"})
    gone = _board(
        root / "gone", tasks, lambda number: {"agent": "gone"} if number <= tasks // 2 else {}
    )
    role = _board(
        root / "role", tasks, lambda number: {"required_role": "x"} if number <= tasks // 2 else {}
    )
    time.sleep(0.2)  # noqa: TID251 - what was written this very moment is read twice
    bare, past = _claim_ms(plain, None), _claim_ms(role, None)
    figures = {"a claim without admission, ms": bare, "the same past half of the board, ms": past}
    for what, layout, base in (
        ("no agent named", plain, bare),
        ("every task names one of the agents", named, bare),
        ("half of the board is refused", gone, past),
    ):
        took = _claim_ms(layout, _admission(layout).refuses_for)
        figures |= {f"a claim, {what}, ms": took, f"a claim, {what}: times without": took / base}
    figures["one warm discovery, ms"] = _discovery_ms(named)
    for count in (3, 500):
        figures[f"one look for {count} teammates, ms"] = _look_ms(gone, count)
    return figures


def _claim_ms(layout: Layout, refuses_for: RefusesFor | None) -> float:
    """The median of claims, each followed by its release, which is not counted."""
    store = _store(layout)
    store.scan()
    took = []
    for _ in range(CLAIMS):
        start = time.perf_counter()
        task = store.claim_next(ME, refuses_for=refuses_for)
        took.append(time.perf_counter() - start)
        assert task is not None
        store.release(task.fence, reason="measured")
    return statistics.median(took) * 1e3


def _look_ms(layout: Layout, count: int) -> float:
    team = [Claimant(name=f"w{number}", role="worker") for number in range(count)]
    snapshot, admission = _store(layout).scan(), _admission(layout)
    return median_ms(lambda: outlook(snapshot, team, admission.refuses_for))


def _discovery_ms(layout: Layout) -> float:
    return median_ms(lambda: discover_agents(layout.workspace, layout.root / "home"))


def _board(root: Path, count: int, fields: Fields) -> Layout:
    layout = Layout(root=root, workspace=root)
    layout.tasks.mkdir(parents=True)
    agents = root / ".claude" / "agents"
    agents.mkdir(parents=True)
    for number in range(AGENTS):
        text = AGENT.format(number=number)
        (agents / f"agent-{number}.md").write_text(text, encoding="utf-8")
    for number in range(1, count + 1):
        task = {"id": number, "subject": "s", "status": "pending", **fields(number)}
        (layout.tasks / f"task_{number}.json").write_text(json.dumps(task), encoding="utf-8")
    layout.ensure_team()
    return layout


def _store(layout: Layout) -> Store:
    clock = SystemClock()
    journal = Journal(layout.runs / "r1.jsonl", run="r1", clock=clock)
    return Store(layout, clock=clock, journal=journal, run="r1")


def _admission(layout: Layout) -> Admission:
    models = Models(Settings(), base_dir=layout.root, given=ScriptedModel())
    return Admission(layout, Settings(), models, home=layout.root / "home")


if __name__ == "__main__":
    show(measure, __doc__)
