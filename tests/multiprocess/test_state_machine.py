"""Any sequence of verbs, outside edits and deaths leaves a board that keeps its promises."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from runner.board.runs import RunLock
from runner.board.store import Store
from runner.board.task import Claimant, Fence, Task
from runner.core.clock import SystemClock
from runner.core.events import Journal
from runner.core.files import Step
from runner.core.layout import Layout
from runner.testing import STEPS, broken_promises, die_at, make_board

ADA = Claimant(name="ada")
FINISHED = ("completed", "failed", "deleted")


class Clock(SystemClock):
    """The real one, pushed on by tests so that back-offs are past."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


class BoardMachine(RuleBasedStateMachine):
    """`attempts` is a model of what the files may never take back; `held` are ada's claims."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.clock = Clock()
        self.layout = make_board(self.root)
        self.layout.ensure_team()
        self.life = RunLock.start(self.layout, "own")
        self.store = self._store("own")
        self.attempts: dict[int, int] = {}
        self.held: dict[int, Fence] = {}

    def _store(self, run: str) -> Store:
        layout = Layout(root=self.root, workspace=self.root)
        journal = Journal(layout.runs / f"{run}.jsonl", run=run, clock=self.clock)
        return Store(layout, clock=self.clock, journal=journal, run=run)

    def _raw(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.layout.tasks / f"task_{number}.json").read_bytes())
        return found

    def _pick(self, choice: int) -> int:
        return sorted(self.attempts)[choice % len(self.attempts)]

    @initialize()
    def start(self) -> None:
        for _ in range(3):
            self.add([])

    @rule(blockers=st.lists(st.integers(0, 20), max_size=2))
    def add(self, blockers: list[int]) -> None:
        """A task that may wait for tasks before it."""
        ids = sorted({self._pick(one) for one in blockers}) if self.attempts else []
        task = self.store.add({"subject": "new", "blockedBy": ids, "estimate": "x"})
        assert isinstance(task.id, int)
        assert task.id not in self.attempts
        self.attempts[task.id] = 0

    @rule()
    def claim(self) -> None:
        """Only what is free is given, and everything that is free is given."""
        self.clock.ahead += timedelta(hours=2)
        task = self.store.claim_next(ADA)
        snapshot = self.store.scan()
        if task is None:
            assert "ready" not in [snapshot.state(one) for one in snapshot.tasks.values()]
            return
        assert isinstance(task.id, int)
        assert task.id not in self.held
        for blocker in task.blocked_by:
            assert snapshot.tasks[blocker].status in ("completed", "deleted")
        self.held[task.id] = task.fence

    @precondition(lambda self: self.held)
    @rule(choice=st.integers(0, 20), verb=st.sampled_from(["complete", "fail", "release", "fault"]))
    def end(self, choice: int, verb: str) -> None:
        """The holder ends it one way or the other; a second end is refused by the fence."""
        number = sorted(self.held)[choice % len(self.held)]
        fence = self.held.pop(number)
        task = self._end(fence, verb)
        assert (
            task.status
            in {
                "complete": ("completed",),
                "fail": ("failed",),
                "release": ("pending",),
                "fault": ("pending", "failed"),
            }[verb]
        )
        assert not self.store.holds(fence)

    def _end(self, fence: Fence, verb: str) -> Task:
        match verb:
            case "complete":
                return self.store.complete(fence, result={"ok": True}, has_result=True)
            case "fail":
                return self.store.fail(fence, error="no")
            case _:
                return self.store.release(fence, reason="stopped", fault=verb == "fault")

    @rule(choice=st.integers(0, 20), verb=st.sampled_from(["delete", "retry"]))
    def by_hand(self, choice: int, verb: str) -> None:
        """A person, who leaves alone what is held."""
        number = self._pick(choice)
        if number in self.held:
            return
        if verb == "delete":
            self.store.delete(number, force=True)
        elif self._raw(number)["status"] != "pending":
            self.store.retry(number, force=True)

    @rule(choice=st.integers(0, 20), text=st.text(max_size=5))
    def edit_outside(self, choice: int, text: str) -> None:
        """Another program writes the file in place."""
        number = self._pick(choice)
        path = self.layout.tasks / f"task_{number}.json"
        changed = {**self._raw(number), "note": text, "subject": "edited"}
        path.write_text(json.dumps(changed), encoding="utf-8")

    @rule(step=st.sampled_from(STEPS), nth=st.integers(1, 4), complete=st.booleans())
    def die(self, step: Step, nth: int, complete: bool) -> None:
        """Another run claims a task, perhaps completes it, and dies on the way or at the end."""
        child = os.fork()
        if child == 0:
            store = self._store(f"dead-{os.getpid()}")
            die_at(step, nth=nth)
            task = store.claim_next(ADA)
            if task is not None and complete:
                store.complete(task.fence)
            os._exit(0)
        os.waitpid(child, 0)

    @invariant()
    def nothing_is_taken_back(self) -> None:
        """Every file is whole, keeps what others wrote, and never counts backwards."""
        for number, attempts in self.attempts.items():
            raw = self._raw(number)
            assert raw["estimate"] == "x"
            assert raw.get("attempt", 0) >= attempts
            self.attempts[number] = raw.get("attempt", 0)

    @invariant()
    def what_is_held_stays_held(self) -> None:
        for fence in self.held.values():
            assert self.store.holds(fence)

    def teardown(self) -> None:
        faults = broken_promises(self.root)
        self.life.release()
        shutil.rmtree(self.root)
        assert faults == []


BoardMachine.TestCase.settings = settings(
    max_examples=15,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestBoardMachine = BoardMachine.TestCase
