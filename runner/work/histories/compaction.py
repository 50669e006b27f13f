"""Shortening a history that outgrows the model's window, without losing what it is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path

import anyio.to_thread

from runner.errors import BoardError, ContextOverflow, ModelRejected
from runner.work.attempt import Attempt
from runner.work.histories.identity import Identity, with_identity
from runner.work.histories.summary import summary_request, summed_up
from runner.work.histories.turns import turns_as_json
from runner.work.messages import AssistantTurn, ModelReply, ModelRequest, ToolResult, Turn, UserTurn
from runner.work.prompt import letters
from runner.work.tools.base import both_ends, output_file, save_output

MAX_FUTILE = 3
_LIGHT = 0.6  # of the room for turns: more than that is summed up
_NEWEST = 0.25  # of the room for turns: so much stays as it is
_WORTH = 0.05  # of what a request may take: a smaller gain is worth neither a request nor a change
_LEAST_GAIN = 100  # tokens
_SUMMARY_PART = 12  # of what a request may take
_LEAST_SUMMARY, _MOST_SUMMARY = 256, 4_096  # tokens
_SHORT_RESULT = 500  # characters; a shorter one is not worth a placeholder


class NoRoom(Exception):
    """The history cannot be made short enough; the text says what takes the room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """Turns as they may become. `files` keeps what they no longer hold."""

    turns: tuple[Turn, ...]
    how: str
    files: Mapping[Path, str] = field(default_factory=dict)


async def make_room(attempt: Attempt) -> None:
    """Shorten the history if the next request would outgrow its share of the window.

    Raises: NoRoom, when that did not help `MAX_FUTILE` times in a row; BudgetReached and
    ModelError, for reasons that would stop the next turn too.
    """
    limit = attempt.room.limit
    if limit is None:
        return
    if attempt.room.tokens(attempt.request()) <= limit:
        attempt.futile = 0
    else:
        await _Shortening(attempt, limit).carry_out()


async def make_room_after(
    attempt: Attempt, refused: ModelRequest, refusal: ContextOverflow
) -> None:
    """Shorten the history because the model has refused a request as too long.

    Raises: NoRoom, also when nothing could be shortened; BudgetReached, ModelError.
    """
    if attempt.room.refuse(refused):
        return
    shortening = _Shortening(attempt, attempt.room.limit or 0)
    if not await shortening.carry_out():
        raise NoRoom(f"{refusal}; {shortening.why}")


class _Shortening:
    """One try. The cheapest that helps is taken: results go, then a summary, then parts of results.

    `why` says what kept it from more. A cancel or an error on the way changes nothing.
    """

    def __init__(self, attempt: Attempt, limit: int) -> None:
        self._attempt = attempt
        self._request = attempt.request()
        self._limit = limit
        self._most = attempt.room.most or 0
        self._before = self._tokens(self._request.turns)
        share = 0 if self._before >= self._most else int(self._most * _WORTH)
        self._worth = max(share, _LEAST_GAIN)
        self._asked = False
        self.why = "there is nothing in it that could be left out"

    async def carry_out(self) -> bool:
        """Whether the history has become shorter. Raises: NoRoom, BudgetReached, ModelError."""
        turns, assignment = self._request.turns, await _assignment(self._attempt)
        fixed = self._tokens((UserTurn(text=assignment),))
        free = max(self._limit - fixed, 0)
        start = self._start_of_newest(turns, int(free * _NEWEST))

        draft = self._without_old_results(turns, start)
        if self._tokens(draft.turns) > fixed + free * _LIGHT:
            draft = await self._summed_up(draft, start, assignment, free)
        if self._tokens(draft.turns) > self._limit:
            draft = self._without_ends(draft)

        shorter = self._before - self._tokens(draft.turns) >= self._worth
        if shorter:
            await self._adopt(draft)
        self._judge(self._tokens(self._attempt.history.turns), fixed, shorter=shorter)
        return shorter

    def _tokens(self, turns: tuple[Turn, ...]) -> int:
        """What the next request would take with these turns."""
        return self._attempt.room.tokens(replace(self._request, turns=turns))

    def _taken(self, turns: Sequence[Turn]) -> int:
        return self._tokens(tuple(turns)) - self._tokens(())

    def _start_of_newest(self, turns: Sequence[Turn], tokens: int) -> int:
        """Where the newest turns begin that stay: at a model's turn, so before calls and results.

        They take at most so many tokens, but the last reply and what follows it always stay.
        """
        starts = [at for at, turn in enumerate(turns) if isinstance(turn, AssistantTurn)]
        sizes = list(accumulate(self._taken((turn,)) for turn in reversed(turns)))
        fitting = (at for at in starts if sizes[len(turns) - 1 - at] <= tokens)
        return min((*starts[-1:], *fitting), default=0)

    def _without_old_results(self, turns: Sequence[Turn], start: int) -> _Draft:
        """Results before `start` become a line that names the file in which they are."""
        files: dict[Path, str] = {}
        old = tuple(self._emptied(turn, files) for turn in turns[:start])
        return _Draft(turns=(*old, *turns[start:]), how="results", files=files)

    def _emptied(self, turn: Turn, files: dict[Path, str]) -> Turn:
        if isinstance(turn, AssistantTurn) or not any(map(_is_long, turn.results)):
            return turn
        return replace(
            turn, results=tuple(self._placeholder(result, files) for result in turn.results)
        )

    def _placeholder(self, result: ToolResult, files: dict[Path, str]) -> ToolResult:
        if not _is_long(result):
            return result
        file = output_file(self._attempt.means)
        files[file] = result.text
        text = f"[left out to save room: {len(result.text)} characters, which are in {file}]"
        return replace(result, text=text)

    async def _summed_up(self, light: _Draft, start: int, assignment: str, free: int) -> _Draft:
        """A summary in the place of all turns before `start`; `light`, when there is none."""
        old, newest = self._request.turns[:start], light.turns[start:]
        again = "" if _is_told(assignment, newest) else assignment
        unanswered = self._unanswered(newest, free)
        kept = self._taken((UserTurn(text=f"{again}\n\n{unanswered}"),))
        if self._taken(old) - kept < self._worth:
            return light
        reply = await self._ask(old, assignment, kept)
        if reply is None:
            return light
        means = self._attempt.means
        summary = summed_up(
            means.redact(reply.text),
            means.transcript.path,
            assignment=again,
            letters=unanswered,
            working=", ".join(f"{one.id} ({one.agent})" for one in means.children.awaited),
        )
        draft = _Draft(turns=(summary, *newest), how="summary")
        if self._tokens(draft.turns) >= self._tokens(light.turns):
            self.why = "the summary of it is longer than what it should stand for"
            return light
        return draft

    async def _ask(self, old: Sequence[Turn], assignment: str, kept: int) -> ModelReply | None:
        """The summary of the old turns, counted like every reply; None when there is none."""
        attempt, room = self._attempt, self._attempt.room
        taken = self._taken((UserTurn(text=assignment),))
        part = min(self._most // _SUMMARY_PART, (self._taken(old) - kept) // 2)
        request = summary_request(
            attempt.means.system,
            old,
            assignment,
            characters=max(room.characters(self._limit - taken) // 2, 0),
            tokens=min(max(part, _LEAST_SUMMARY), _MOST_SUMMARY),
        )
        self._asked = True
        asker = replace(self._request.asker, summary=True)
        request = replace(request, asker=asker, max_output_tokens=room.reply)
        try:
            reply = await attempt.means.ask(request)
        except (ModelRejected, ContextOverflow) as error:
            if isinstance(error, ModelRejected) and error.is_about_account:
                raise
            self.why = f"the request for a summary of it was refused: {error}"
            return None
        attempt.count(reply)
        if not reply.text.strip() or reply.stop == "refusal":
            self.why = "the model gave no summary of it"
            return None
        return reply

    def _unanswered(self, newest: Sequence[Turn], free: int) -> str:
        """Messages that wait for an answer and are not told in the newest turns; newest first."""
        left = self._attempt.room.characters(int(free * _NEWEST))
        kept: list[str] = []
        for letter in reversed(self._attempt.letters):
            text = self._attempt.means.redact(letters([letter]))
            left -= len(text)
            if left >= 0 and not _is_told(text, newest):
                kept.insert(0, text)
        return "\n".join(kept)

    def _without_ends(self, draft: _Draft) -> _Draft:
        """The newest results get equal shares of the room that is left; the rest goes to files."""
        last = draft.turns[-1]
        if isinstance(last, AssistantTurn) or not any(map(_is_long, last.results)):
            return draft
        files = dict(draft.files)
        before = tuple(self._emptied(turn, files) for turn in draft.turns[:-1])
        bare = replace(last, results=tuple(replace(one, text="") for one in last.results))
        left = self._limit - self._tokens((*before, bare))
        share = max(self._attempt.room.characters(left) // len(last.results), _SHORT_RESULT)
        results = tuple(self._clipped(result, share, files) for result in last.results)
        return _Draft(turns=(*before, replace(last, results=results)), how=draft.how, files=files)

    def _clipped(self, result: ToolResult, share: int, files: dict[Path, str]) -> ToolResult:
        if len(result.text) <= share:
            return result
        file = output_file(self._attempt.means)
        files[file] = result.text
        return replace(result, text=both_ends(result.text, share // 2, file))

    async def _adopt(self, draft: _Draft) -> None:
        """The transcript has it first, so that a history can be made again from there."""
        attempt, means = self._attempt, self._attempt.means
        for file, text in draft.files.items():
            await anyio.to_thread.run_sync(save_output, file, text)
        turns = draft.turns
        if means.subagent is None:  # a subagent is not who the pair says
            turns = with_identity(turns, Identity.of(means.teammate))
        await means.transcript.write("compacted", how=draft.how, turns=turns_as_json(turns))
        messages = len(attempt.history)
        attempt.history.replace(turns)
        means.emit(
            "history.compacted",
            how=draft.how,
            messages=[messages, len(turns)],
            tokens=[self._before, self._tokens(turns)],
        )
        if len(turns) > len(draft.turns):
            means.emit("identity.injected", messages=len(draft.turns))

    def _judge(self, tokens: int, fixed: int, *, shorter: bool) -> None:
        """Count tries that did not help: not enough, or paid for nothing. Raises: NoRoom."""
        attempt = self._attempt
        if tokens <= self._limit or (shorter and tokens <= self._most):
            attempt.futile = 0
        elif self._asked or tokens > self._most:
            attempt.futile += 1
        if attempt.futile >= MAX_FUTILE:
            raise NoRoom(
                f"the history could not be shortened {MAX_FUTILE} times in a row ({self.why}): "
                f"{attempt.means.model.name} takes requests of {self._most} tokens, the next one "
                f"would be of about {tokens}, and system prompt, tools and assignment alone are "
                f"{fixed}"
            )


async def _assignment(attempt: Attempt) -> str:
    """What is to be done, of the open task as the board holds it now."""
    task = attempt.means.task
    if attempt.again is None or task is None:
        return attempt.assignment
    try:
        now = await attempt.means.teammate.board.find(task.id)
    except BoardError:  # only after a lost race: the file is just being written
        return attempt.assignment
    return attempt.means.redact(attempt.again(now))


def _is_told(text: str, turns: Sequence[Turn]) -> bool:
    return any(text in turn.text for turn in turns if isinstance(turn, UserTurn))


def _is_long(result: ToolResult) -> bool:
    return len(result.text) > _SHORT_RESULT
