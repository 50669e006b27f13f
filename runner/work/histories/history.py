"""A teammate's messages, and the one place where they are checked before every request.

What always holds for what is sent: it starts and ends with a user turn; roles alternate; every
call has exactly one result in the next turn, in order; call ids are unique; nothing is empty;
all text is valid Unicode.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from runner.core.files import clean_text
from runner.work.json_values import with_texts
from runner.work.messages import AssistantTurn, Native, ToolCall, ToolResult, Turn, UserTurn

INTERRUPTED = "interrupted, may have taken effect"
NO_OUTPUT = "(no output)"
_BEGINNING_GONE = "(the beginning of this conversation is gone)"


class BrokenHistory(AssertionError):
    """A rule of the history does not hold: a fault of the runner, never of the operator."""


class History:
    """The turns of one conversation; every way in keeps the rules, `for_request` checks them.

    Only what is new since the last request is checked, so that a turn costs the same however
    long the history is.
    """

    def __init__(self, turns: Iterable[Turn] = ()) -> None:
        self._turns: list[Turn] = list(mended(turns))
        self._ids = {call.id for call in _calls(self._turns)}
        self._checked = 0

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(self._turns)

    def tell(self, text: str, results: Sequence[ToolResult] = ()) -> None:
        """Add to the user's side; joins the last turn if that is the user's too."""
        _add(self._turns, _clean_user(UserTurn(results=tuple(results), text=text)))

    def hear(
        self, text: str, calls: Sequence[ToolCall], native: Native | None = None
    ) -> AssistantTurn:
        """Add a model's turn. Gives it back as it is kept: with unique ids of calls.

        A turn with neither text nor calls leaves no trace. `native` is kept word for word or, if
        it does not say what the turn says, not at all.
        """
        asked = AssistantTurn(text=text, calls=tuple(calls), native=native)
        turn = _clean_assistant(asked, self._ids)
        _add(self._turns, turn)
        return turn

    def for_request(self) -> tuple[Turn, ...]:
        """All turns, checked. Raises: BrokenHistory."""
        start = max(self._checked - 2, 0)
        check(self._turns[start:], continues=start > 0)
        self._checked = len(self._turns)
        return tuple(self._turns)

    def replace(self, turns: Iterable[Turn]) -> None:
        """Put others in the place of all turns; ids that were used are not given again."""
        self._turns = list(mended(turns))
        self._ids.update(call.id for call in _calls(self._turns))
        self._checked = 0

    def settle(self) -> None:
        """Make it whole after an end of any kind: calls without a result get one that says so."""
        results: tuple[ToolResult, ...] = ()
        at = len(self._turns) - 1
        if at > 0 and isinstance(last := self._turns[at], UserTurn):
            results, at = last.results, at - 1
        asked = self._turns[at] if at >= 0 else None
        if isinstance(asked, AssistantTurn):
            self.tell("", [interrupted(call) for call in asked.calls[len(results) :]])


def check(turns: Sequence[Turn], *, continues: bool = False) -> None:
    """Check every rule on `turns`, or on the end of a history whose rest was checked before.

    Such an end begins with an assistant's turn.

    Raises: BrokenHistory, naming the rule and the turn.
    """
    if not turns or not isinstance(turns[-1], UserTurn):
        raise BrokenHistory("a request must end with a user turn")
    if not continues and not isinstance(turns[0], UserTurn):
        raise BrokenHistory("a history must start with a user turn")
    seen: set[str] = set()
    open_calls: tuple[ToolCall, ...] = ()
    for index, turn in enumerate(turns):
        if index and type(turn) is type(turns[index - 1]):
            raise BrokenHistory(f"turn {index}: roles must alternate")
        _check_content(index, turn)
        if isinstance(turn, AssistantTurn):
            _check_ids(index, turn, seen)
            open_calls = turn.calls
        else:
            _check_results(index, turn, open_calls)
            open_calls = ()


def _check_content(index: int, turn: Turn) -> None:
    parts = turn.results if isinstance(turn, UserTurn) else turn.calls
    if not parts and not turn.text.strip():
        raise BrokenHistory(f"turn {index}: empty content")
    texts = [turn.text]
    if isinstance(turn, UserTurn):
        if any(not result.text.strip() for result in turn.results):
            raise BrokenHistory(f"turn {index}: an empty tool result")
        texts += [result.text for result in turn.results]
    elif any(call.arguments is None for call in turn.calls):
        raise BrokenHistory(f"turn {index}: a call whose arguments are not an object")
    elif any(with_texts(call.arguments, clean_text) != call.arguments for call in turn.calls):
        raise BrokenHistory(f"turn {index}: arguments that JSON in UTF-8 cannot hold")
    if turn.text and not turn.text.strip():
        raise BrokenHistory(f"turn {index}: a blank text")
    if any(clean_text(text) != text for text in texts):
        raise BrokenHistory(f"turn {index}: text that is not valid Unicode")
    if isinstance(turn, AssistantTurn) and not _is_valid(turn.native):
        raise BrokenHistory(f"turn {index}: a native form that JSON in UTF-8 cannot hold")


def _check_ids(index: int, turn: AssistantTurn, seen: set[str]) -> None:
    for call in turn.calls:
        if not call.id or call.id in seen:
            raise BrokenHistory(f"turn {index}: call id {call.id!r} is empty or was used before")
        seen.add(call.id)


def _check_results(index: int, turn: UserTurn, calls: tuple[ToolCall, ...]) -> None:
    wanted = [call.id for call in calls]
    found = [result.call_id for result in turn.results]
    if wanted != found:
        raise BrokenHistory(f"turn {index}: results {found} do not answer the calls {wanted}")


def mended(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Any turns made legal: the way in for histories that were cut, carried or saved.

    A call without a result gets an error result that says so, a result without its call is
    dropped, doubled ids are renamed together with their results, empty things go, neighbours
    of one role become one turn. The last turn may still be an assistant's without calls.
    """
    whole: list[Turn] = []
    taken: set[str] = set()
    pending: list[tuple[str, ToolCall]] = []  # id as written, call as kept
    for turn in _neighbours_joined(turns):
        if isinstance(turn, UserTurn):
            _add(whole, _answering(turn, pending))
            pending = []
            continue
        _add(whole, _answering(UserTurn(), pending))
        kept = _clean_assistant(turn, taken)
        pending = [(asked.id, call) for asked, call in zip(turn.calls, kept.calls, strict=True)]
        _add(whole, kept)
    _add(whole, _answering(UserTurn(), pending))
    if whole and isinstance(whole[0], AssistantTurn):
        whole.insert(0, UserTurn(text=_BEGINNING_GONE))
    return tuple(whole)


def _neighbours_joined(turns: Iterable[Turn]) -> list[Turn]:
    """Blank texts gone, then neighbours of one role joined."""
    joined: list[Turn] = []
    for turn in turns:
        _add(joined, replace(turn, text=_clean_block(turn.text)))
    return joined


def _answering(turn: UserTurn, pending: list[tuple[str, ToolCall]]) -> UserTurn:
    """`turn` with exactly one result for each pending call, in their order."""
    given = list(turn.results)
    results = []
    for written, call in pending:
        match = next((result for result in given if result.call_id == written), None)
        if match is None:
            results.append(interrupted(call))
        else:
            given.remove(match)
            results.append(replace(match, call_id=call.id))
    return _clean_user(UserTurn(results=tuple(results), text=turn.text))


def interrupted(call: ToolCall) -> ToolResult:
    """The result of a call that was cut short by something else than itself."""
    return ToolResult(call_id=call.id, name=call.name, text=INTERRUPTED, is_error=True)


def _add(whole: list[Turn], turn: Turn) -> None:
    """Put a turn behind the others; joins the last one of its role, and nothing adds nothing."""
    parts = turn.results if isinstance(turn, UserTurn) else turn.calls
    if not parts and not turn.text:
        return
    if whole and (joined := _joined(whole[-1], turn)) is not None:
        whole[-1] = joined
    else:
        whole.append(turn)


def _joined(first: Turn, second: Turn) -> Turn | None:
    """Two neighbours of one role as one turn; None for different roles."""
    text = "\n\n".join(part for part in (first.text, second.text) if part)
    if isinstance(first, UserTurn) and isinstance(second, UserTurn):
        return UserTurn(results=first.results + second.results, text=text)
    if isinstance(first, AssistantTurn) and isinstance(second, AssistantTurn):
        # no API gave this turn, so there is no native form of it
        return AssistantTurn(text=text, calls=first.calls + second.calls)
    return None


def _calls(turns: Iterable[Turn]) -> Iterable[ToolCall]:
    return (call for turn in turns if isinstance(turn, AssistantTurn) for call in turn.calls)


def _clean_user(turn: UserTurn) -> UserTurn:
    results = tuple(
        replace(result, text=_clean_block(result.text) or NO_OUTPUT) for result in turn.results
    )
    return UserTurn(results=results, text=_clean_block(turn.text))


def _clean_assistant(turn: AssistantTurn, taken: set[str]) -> AssistantTurn:
    """The turn as it may be sent again; the ids of its calls join `taken`."""
    calls = tuple(_clean_call(call, taken) for call in turn.calls)
    fits = [call.name for call in calls] == [call.name for call in turn.calls]
    native = turn.native if fits and _is_valid(turn.native) else None
    return AssistantTurn(text=_clean_block(turn.text), calls=calls, native=native)


def _is_valid(native: Native | None) -> bool:
    """Whether JSON in UTF-8 can hold it as it is: word for word or not at all."""
    blocks = native.blocks if native else ()
    return all(with_texts(block, clean_text) == block for block in blocks)


def _clean_call(call: ToolCall, taken: set[str]) -> ToolCall:
    """The call as it may be sent again: arguments that are an object, an id that is new.

    The id joins `taken`.
    """
    name = call.name or "unnamed"
    wanted = clean_text(call.id) or f"call_{len(taken) + 1}"
    fresh, number = wanted, 2
    while fresh in taken:
        fresh, number = f"{wanted}_{number}", number + 1
    taken.add(fresh)
    return ToolCall(
        id=fresh,
        name=clean_text(name),
        arguments=with_texts(call.arguments or {}, clean_text),
        raw=clean_text(call.raw),
    )


def _clean_block(text: str) -> str:
    """Valid Unicode; blank text is no text."""
    text = clean_text(text)
    return text if text.strip() else ""
