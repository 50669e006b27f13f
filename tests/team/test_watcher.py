"""Files are watched: who is idle wakes at once, and what is not told is seen by the poll."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import AsyncIterator, Callable, Collection
from pathlib import Path

import anyio
import pytest

from runner.board.task import Task
from runner.core.clock import SystemClock
from runner.core.layout import Layout
from runner.core.mounts import MOUNTS
from runner.core.settings import Limits, Settings
from runner.team.outcome import Done, Outcome
from runner.team.pulse import Pulse
from runner.team.types import Assignment, Mail, Teammate
from runner.team.watcher import Watcher
from runner.testing.board import make_board
from runner.testing.clock import FakeClock
from runner.testing.team import running_team
from tests.team.helpers import finish, on_disk, write

PATIENCE_S = 15.0
# nothing here is seen by a poll
NO_POLL = Settings(limits=Limits(poll_interval_s=3600, idle_timeout_s=36_000))


class Ear:
    """What a watcher has told, and a way to wait for it."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.mail: set[str] = set()
        self.live: list[bool] = []
        self._pulse = Pulse(SystemClock())

    def heard(self, files: Collection[str], mail: Collection[str]) -> None:
        self.files.update(files)
        self.mail.update(mail)
        self._pulse.beat()

    def on_live(self, live: bool) -> None:
        self.live.append(live)
        self._pulse.beat()

    async def waits_for(self, holds: Callable[[], bool]) -> None:
        await self._pulse.wait_until(holds, PATIENCE_S)
        assert holds()


@contextlib.asynccontextmanager
async def watching(layout: Layout, *, mounts: Path = MOUNTS) -> AsyncIterator[Ear]:
    ear = Ear()
    watcher = Watcher(
        layout, clock=SystemClock(), heard=ear.heard, on_live=ear.on_live, mounts=mounts
    )
    async with anyio.create_task_group() as group:
        group.start_soon(watcher.keep)
        yield ear
        group.cancel_scope.cancel()


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = make_board(tmp_path, [{}, {}, {}])
    layout.ensure_team()
    return layout


async def test_replaced_edited_new_and_deleted_task_files_are_told_and_nothing_else(
    layout: Layout,
) -> None:
    async with watching(layout) as ear:
        await ear.waits_for(lambda: ear.live == [True])
        temporary = layout.tasks / ".task_1.json.abc.tmp"
        temporary.write_text("{}")
        temporary.replace(layout.tasks / "task_1.json")
        (layout.tasks / "task_2.json").write_text("{}")
        (layout.tasks / "task_3.json").unlink()
        (layout.tasks / "notes.json").write_text("{}")
        (layout.tasks / "deeper").mkdir()
        (layout.tasks / "deeper" / "task_9.json").write_text("{}")
        (layout.tasks / "task_4.json").write_text("{}")
        await ear.waits_for(lambda: "task_4.json" in ear.files)
    assert ear.files == {f"task_{number}.json" for number in (1, 2, 3, 4)}
    assert (ear.mail, ear.live) == (set(), [True, False])


async def test_new_mail_is_told_by_the_name_of_its_reader(layout: Layout) -> None:
    async with watching(layout) as ear:
        await ear.waits_for(lambda: ear.live == [True])
        write(layout, "ann", "hello")
        await ear.waits_for(lambda: bool(ear.mail))
    assert (ear.files, ear.mail) == (set(), {"ann"})


async def test_a_folder_that_was_replaced_is_watched_again(layout: Layout) -> None:
    async with watching(layout) as ear:
        await ear.waits_for(lambda: ear.live == [True])
        layout.tasks.rename(layout.root / "old")
        await ear.waits_for(lambda: ear.live == [True, False])
        layout.tasks.mkdir()
        await ear.waits_for(lambda: ear.live[-1])
        (layout.tasks / "task_7.json").write_text("{}")
        await ear.waits_for(lambda: ear.files == {"task_7.json"})
        other = make_board(layout.root / "other").tasks
        layout.tasks.rename(layout.root / "older")
        other.rename(layout.tasks)
        await ear.waits_for(lambda: ear.live == [True, False, True, False, True])


async def test_a_folder_behind_a_link_is_watched(tmp_path: Path) -> None:
    far = make_board(tmp_path / "far")
    layout = Layout(root=tmp_path / "near", workspace=tmp_path)
    layout.ensure_team()
    layout.tasks.symlink_to(far.tasks)
    async with watching(layout) as ear:
        await ear.waits_for(lambda: ear.live == [True])
        make_board(far.root, [{}])
        await ear.waits_for(lambda: ear.files == {"task_1.json"})


async def test_a_network_file_system_is_not_watched_which_is_said_once(
    layout: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    mounts = layout.root / "mounts"
    mounts.write_text(f"1 1 0:1 / / rw - ext4 d rw\n2 1 0:2 / {layout.root} rw - nfs4 d rw\n")
    ear = Ear()
    await Watcher(
        layout, clock=SystemClock(), heard=ear.heard, on_live=ear.on_live, mounts=mounts
    ).keep()
    (said,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert said["event"] == "files_not_watched"
    assert said["reason"] == f"{layout.tasks} lies on a network file system (nfs4)"
    assert ear.live == []


async def test_what_cannot_be_watched_ends_the_watching_with_the_reason(
    layout: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    layout.inbox.rmdir()
    layout.inbox.symlink_to(layout.inbox)
    ear = Ear()
    await Watcher(layout, clock=SystemClock(), heard=ear.heard, on_live=ear.on_live).keep()
    (said,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert (said["event"], str(layout.inbox) in said["reason"]) == ("files_not_watched", True)
    assert ear.live == []


class Desk:
    """A work that is done at once and hands on what it was given."""

    def __init__(self) -> None:
        self._put, self._got = anyio.create_memory_object_stream[Assignment](math.inf)

    async def __call__(self, assignment: Assignment, mate: Teammate) -> Outcome:
        if isinstance(assignment, Mail):
            await assignment.commit()
        self._put.send_nowait(assignment)
        return Done()

    async def next(self) -> Assignment:
        with anyio.fail_after(PATIENCE_S):
            return await self._got.receive()

    async def next_id(self) -> int | str:
        task = await self.next()
        assert isinstance(task, Task)
        return task.id

    async def __aenter__(self) -> Desk:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._put.close()
        self._got.close()


async def test_new_tasks_and_mail_wake_who_is_idle_though_the_poll_is_an_hour_away(
    tmp_path: Path,
) -> None:
    layout = make_board(tmp_path)
    async with Desk() as desk, running_team(layout, work=desk, members=["ann"], settings=NO_POLL):
        # the first may be there at the first look, the others come to somebody idle
        for number in (1, 2, 3):
            make_board(tmp_path, [{"id": number}])
            assert await desk.next_id() == number
        write(layout, "ann", "hello")
        mail = await desk.next()
        assert isinstance(mail, Mail)
        assert mail.messages[0].content == "hello"


async def test_an_edit_in_place_and_a_replaced_file_wake_who_is_idle(tmp_path: Path) -> None:
    layout = make_board(tmp_path, [{}, {"owner": "somebody"}, {"id": 3, "required_role": "nobody"}])
    async with Desk() as desk, running_team(layout, work=desk, members=["ann"], settings=NO_POLL):
        assert await desk.next_id() == 1
        edited = layout.tasks / "task_2.json"
        edited.write_text(edited.read_text().replace("somebody", "ann"))
        assert await desk.next_id() == 2
        checked_out = layout.tasks / "checked-out"
        checked_out.write_text('{"id": 3, "subject": "as git writes it"}')
        checked_out.rename(layout.tasks / "task_3.json")
        assert await desk.next_id() == 3


async def test_what_a_run_writes_itself_wakes_nobody(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock) as team:
        await clock.settle()
        looks = team.looks_taken
        state = team._state
        assert state is not None
        state.on_files({"task_1.json"}, {"ann", "nobody"})
        await clock.settle()
        assert (on_disk(layout, 1)["status"], team.looks_taken) == ("completed", looks)
        write(layout, "ann", "hello")
        state.on_files(set(), {"ann"})
        await clock.settle()
        assert team.looks_taken > looks


async def test_a_drain_does_not_end_before_it_has_looked_for_what_nobody_told(
    tmp_path: Path,
) -> None:
    layout, clock = make_board(tmp_path, [{}]), FakeClock()

    async def work(assignment: Assignment, mate: Teammate) -> Outcome:
        if not (layout.tasks / "task_2.json").exists():
            mate.board.store.observer.rely(3600)
            await mate.board.scan()
            make_board(tmp_path, [{"id": 2}])
        return Done()

    async with running_team(layout, work=work, members=["ann"], clock=clock, drain=True) as team:
        report = await team.finished()
    assert (report.exit_code, [task.id for task in report.tasks]) == (0, [1, 2])


async def test_with_a_clock_of_its_own_a_run_is_woken_by_that_clock_only(tmp_path: Path) -> None:
    layout, clock = make_board(tmp_path), FakeClock()
    async with running_team(layout, work=finish, members=["ann"], clock=clock) as team:
        await clock.settle()
        looks = team.looks_taken
        async with watching(layout) as ear:
            await ear.waits_for(lambda: ear.live == [True])
            make_board(tmp_path, [{}])
            await ear.waits_for(lambda: bool(ear.files))
        assert (team.looks_taken, on_disk(layout, 1)["status"]) == (looks, "pending")
        await clock.advance(5)
        assert on_disk(layout, 1)["status"] == "completed"
