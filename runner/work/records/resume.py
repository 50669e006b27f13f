"""Going on with a task where an attempt that was cut short has left it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.board.task import Task
from runner.core.layout import Layout
from runner.work.acceptance import submit
from runner.work.attempt import Attempt, Means
from runner.work.histories.history import History
from runner.work.histories.identity import Identity, with_identity
from runner.work.histories.turns import turns_as_json
from runner.work.messages import ToolCall, ToolResult, Turn, UserTurn
from runner.work.prompt import reminder
from runner.work.records.earlier import earlier_end
from runner.work.records.record import Record, last_calls, last_record, turns_in
from runner.work.records.transcript import task_transcript
from runner.work.results.contract import SUBMIT
from runner.work.tools.files import READ

# ends that say nothing about the work; a limit other than the budget does
_CUT_SHORT = frozenset({"HandedBack", "Faulted", "Lost"})
_JUDGED_LATER = "The runner ended before it had judged this result; it judges it now."
_GOES_ON = (
    "You go on with it: what was done is above, and the task is told here as the board has it now. "
    "A call whose result says `interrupted` may have taken effect, so look before you repeat it."
)
_SUBAGENTS_GONE = (
    " Subagents have ended with that attempt: start those again whose result you were not told."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """What an attempt goes on from: the `record` of one that was cut short, and its history.

    `handed_in` is a result that is not on the board yet.
    """

    record: Record
    history: History
    handed_in: ToolCall | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What was before an attempt: what the model is told of it, and what it goes on from."""

    words: str = ""
    resumed: Resumed | None = None


def look_back(layout: Layout, means: Means) -> Past:
    """The last attempt at the task before this one, if there was any. One thread hop."""
    task = means.task
    if task is None or task.attempt < 2:
        return Past()
    record = last_record(task_transcript(layout, task).parent, before=task.attempt)
    resumed = _resumed(record, task, means) if record else None
    words = [earlier_end(layout, task), _words(record, means, resumed) if record else ""]
    return Past(words="\n".join(word for word in words if word), resumed=resumed)


def _resumed(record: Record, task: Task, means: Means) -> Resumed | None:
    """None for an attempt that came to an end, or would not fit here.

    It fits the same agent, model and workspace, whoever the teammate is.
    """
    if not (_was_cut_short(record, task) and _fits(record, means)):
        return None
    turns = turns_in(record.file)
    handed_in, later = _handed_in(turns)
    history = History([*turns, *later])
    return Resumed(
        record=record,
        history=History(with_identity(history.turns, Identity.of(means.teammate))),
        handed_in=handed_in,
    )


def _was_cut_short(record: Record, task: Task) -> bool:
    """It has no end, or one that does not count, or the board was never told of it."""
    untold = f"attempt {record.attempt}: " in (task.error or "")
    over_budget = record.end.get("limit") == "budget"
    return untold or over_budget or not record.end or record.end.get("outcome") in _CUT_SHORT


def _fits(record: Record, means: Means) -> bool:
    then = tuple(record.start.get(key) for key in ("agent", "model", "workspace"))
    return then == (means.agent.name, means.model.name, str(means.workspace.root))


def _handed_in(turns: Sequence[Turn]) -> tuple[ToolCall | None, tuple[Turn, ...]]:
    """The result that the last reply handed in and nobody refused; its answer, if it has none."""
    for call, result in last_calls(turns):
        if call.name == SUBMIT and (result is None or not result.is_error):
            later = ToolResult(call_id=call.id, name=call.name, text=_JUDGED_LATER)
            return call, () if result else (UserTurn(results=(later,)),)
    return None, ()


def _words(record: Record, means: Means, resumed: Resumed | None) -> str:
    """What the model has to know of the attempt before, besides how that ended."""
    if resumed is None:
        can_read = READ.spec.name in means.toolbox.tools
        return f"What it did is written down in {record.file}." if can_read else ""
    had_subagents = any(record.file.parent.glob(f"{record.attempt}-*.jsonl"))
    return _GOES_ON + _SUBAGENTS_GONE * had_subagents


async def take_up(means: Means, resumed: Resumed) -> Attempt:
    """The attempt that goes on; its transcript holds all that it goes on from."""
    record, history = resumed.record, resumed.history
    turn = sum(replies for _, replies in record.counted)
    means.transcript.turn = turn
    await means.transcript.write(
        "resumed",
        attempt=record.attempt,
        file=str(record.file),
        earlier=record.counted,
        letters=[letter.to_json() for letter in record.letters],
        turns=turns_as_json(history.turns),
    )
    means.emit("history.resumed", from_attempt=record.attempt, messages=len(history), turns=turn)
    return Attempt(
        means=means,
        history=history,
        earlier=record.counted,
        turn=turn,
        letters=list(record.letters),
        handed_in=resumed.handed_in,
    )


async def judge_again(attempt: Attempt, handed_in: ToolCall) -> None:
    """Judge a result once more that the board was not told of; the model does not send it again."""
    contract = attempt.means.contract
    if contract is None:
        raise AssertionError("unreachable: only an attempt at a task is resumed")
    result = await submit(attempt, handed_in, contract)
    if attempt.ended is None:
        await attempt.tell(reminder(result.text))
