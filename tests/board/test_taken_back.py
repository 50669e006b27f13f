"""A claim that somebody took out of the file, by a checkout say, while its run lives."""

from __future__ import annotations

import pytest

from runner.board.store import Store
from runner.errors import NotClaimable
from tests.board.conftest import ADA, BO, Desk


def let_see(desk: Desk, holder: Store, other: Store) -> None:
    """The holder claims, the other looks, and the file goes back to what it was."""
    committed = desk.path(1).read_bytes()
    holder.claim(1, ADA)
    other.scan()
    desk.path(1).unlink()
    other.scan()
    desk.path(1).write_bytes(committed)


def test_another_run_leaves_it_to_the_one_that_puts_it_back(desk: Desk) -> None:
    desk.put({}, {})
    with desk.live("r1") as holder, desk.live("r2") as other:
        let_see(desk, holder, other)
        with pytest.raises(NotClaimable, match="held by ada of run r1, which may put its claim"):
            other.claim(1, BO)
        task = other.claim_next(BO)
        assert task is not None
        assert task.id == 2
        assert holder.claim_next(ADA) is None, "puts it back"
        assert desk.raw(1)["status"] == "in_progress"
    assert len(desk.events("task.claimed")) == 3


def test_it_is_free_again_after_a_while(desk: Desk) -> None:
    desk.put({})
    with desk.live("r1") as holder, desk.live("r2") as other:
        let_see(desk, holder, other)
        assert other.claim_next(BO) is None
        desk.clock.later(9)
        assert other.claim_next(BO) is None
        desk.clock.later(1)
        assert other.claim_next(BO) is not None


def test_it_is_free_at_once_when_its_run_has_died(desk: Desk) -> None:
    desk.put({})
    with desk.live("r2") as other:
        with desk.live("r1") as holder:
            let_see(desk, holder, other)
            assert other.claim_next(BO) is None
        assert other.claim_next(BO) is not None


@pytest.mark.parametrize("reopened", [False, True])
def test_what_was_given_back_or_reopened_by_us_is_free_at_once(desk: Desk, reopened: bool) -> None:
    desk.put({})
    with desk.live("r1") as holder, desk.live("r2") as other:
        fence = holder.claim(1, ADA).fence
        other.scan()
        if reopened:
            holder.retry(1, force=True)
        else:
            holder.release(fence, reason="stopped")
        assert other.claim_next(BO) is not None


def test_a_claim_by_hand_that_was_taken_out_is_nobodys(desk: Desk) -> None:
    desk.put({})
    with desk.live("r2") as other:
        let_see(desk, desk.store(), other)
        assert other.claim_next(BO) is not None


def test_a_run_does_not_wait_for_itself(desk: Desk) -> None:
    desk.put({})
    with desk.live("r1") as store:
        committed = desk.path(1).read_bytes()
        fence = store.claim(1, ADA).fence
        desk.change(1, status="failed")
        assert not store.holds(fence)
        desk.path(1).write_bytes(committed)
        assert store.claim(1, BO).fence != fence
