"""What transcripts tell: the history that an attempt had, how far it came, how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.core.json_lines import objects_in
from runner.team.message import Message
from runner.work.histories.turns import BadTurns, result_from_json, turn_from_json, turns_from_json
from runner.work.messages import AssistantTurn, ToolCall, ToolResult, Turn, UserTurn

Line = Mapping[str, Any]
NOT_BEGUN = "interrupted before it began: it did not run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One attempt as its transcript tells it.

    `start` and `end` are its lines of these kinds, `end` empty for an attempt that died. `replies`
    counts the model's, those of attempts that it went on from not among them: these stand in
    `earlier`, by their numbers. `letters` are messages that the model has heard and whose senders
    it has written nothing since.
    """

    attempt: int
    file: Path
    start: Line
    end: Line
    replies: int
    earlier: tuple[tuple[int, int], ...]
    letters: tuple[Message, ...]

    @property
    def counted(self) -> tuple[tuple[int, int], ...]:
        """`earlier` for an attempt that goes on from this one."""
        return (*self.earlier, (self.attempt, self.replies))


def last_record(folder: Path, *, before: int) -> Record | None:
    """The latest attempt before this number that has a reply in its transcript in `folder`."""
    numbers = [int(path.stem) for path in folder.glob("*.jsonl") if path.stem.isdecimal()]
    records = (
        _record(number, folder / f"{number}.jsonl")
        for number in sorted(numbers, reverse=True)
        if number < before
    )
    return next((one for one in records if any(replies for _, replies in one.counted)), None)


def _record(number: int, file: Path) -> Record:
    lines = _last_begun(_data(file))
    resumed = next((line for line in lines if line.get("kind") == "resumed"), {})
    return Record(
        attempt=number,
        file=file,
        start=lines[0] if lines and lines[0].get("kind") == "start" else {},
        end=lines[-1] if lines and lines[-1].get("kind") == "end" else {},
        replies=sum(line.get("kind") == "assistant" for line in lines),
        earlier=tuple(_pairs(resumed)),
        letters=_letters(_answered(lines)),
    )


def turns_in(file: Path) -> list[Turn]:
    """The history that stands there, as far as it was written down.

    Turns that were carried into it are read where they were written. A message that the model had
    not answered is left out: it is delivered again. Calls may be without results.
    """
    parts: list[list[Turn]] = []
    place: tuple[Path, int | None] | None = (file, None)
    seen = set()
    while place is not None and place not in seen:
        seen.add(place)
        data = _data(place[0])
        lines = _answered(_last_begun(data if place[1] is None else data[: place[1]]))
        turns, whole = _turns(lines)
        parts.append(turns)
        place = None if whole or not lines else _carried_from(lines[0])
    return [turn for part in reversed(parts) for turn in part]


def last_calls(turns: Sequence[Turn]) -> list[tuple[ToolCall, ToolResult | None]]:
    """The calls of the last reply, each with its result if that is there."""
    results: dict[str, ToolResult] = {}
    for turn in reversed(turns):
        if isinstance(turn, AssistantTurn):
            return [(call, results.get(call.id)) for call in turn.calls]
        results |= {result.call_id: result for result in turn.results}
    return []


def _data(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _last_begun(data: bytes) -> list[Line]:
    """The lines from the last `start` on; message turns of a run share a file."""
    lines: list[Line] = []
    for line in objects_in(data):
        if line.get("kind") == "start":
            lines.clear()
        lines.append(line)
    return lines


def _pairs(line: Line) -> Iterator[tuple[int, int]]:
    for pair in line.get("earlier") or ():
        match pair:
            case [int(attempt), int(replies)]:
                yield attempt, replies


def _letters(lines: Iterable[Line]) -> tuple[Message, ...]:
    """Of the messages in the lines those that no message to their senders follows."""
    letters: list[Message] = []
    addressed: dict[str, str] = {}
    for line in lines:
        letters += [_letter(one) for one in line.get("letters") or () if isinstance(one, dict)]
        match line:
            case {"kind": "call", "name": "send_message", "id": str(call), "arguments": {"to": to}}:
                addressed[call] = str(to)
            case {"kind": "result", "id": str(call), "isError": False} if call in addressed:
                letters = [letter for letter in letters if letter.sender != addressed[call]]
    return tuple(letters)


def _letter(line: Line) -> Message:
    keys = ("id", "type", "from", "content", "timestamp")
    id_, type_, sender, content, timestamp = (str(line.get(key, "")) for key in keys)
    return Message(id=id_, type=type_, sender=sender, content=content, timestamp=timestamp)


def _carried_from(start: Line) -> tuple[Path, int] | None:
    file, size = start.get("carriedFrom"), start.get("carriedBytes")
    return (Path(file), size) if isinstance(file, str) and isinstance(size, int) else None


def _answered(lines: Sequence[Line]) -> Sequence[Line]:
    """Without mail that no reply of the model follows, and what was made of a history with it."""
    heard = max((at for at, line in enumerate(lines) if line.get("kind") == "assistant"), default=0)
    told = next((at for at, line in enumerate(lines) if at > heard and line.get("mail")), None)
    if told is None:
        return lines
    left = [line for line in lines[told:] if not (line.get("mail") or "turns" in line)]
    return [*lines[:told], *left]


def _turns(lines: Iterable[Line]) -> tuple[list[Turn], bool]:
    """The turns, and whether nothing that was before the lines is part of them any more.

    A line with `turns` tells the whole history as it was made anew. Calls that were asked for last
    and never begun are answered so.
    """
    turns: list[Turn] = []
    whole, begun = False, set()
    for line in lines:
        if line.get("kind") == "call":
            begun.add(line.get("id"))
        try:
            if "turns" in line:
                turns, whole = list(turns_from_json(line["turns"])), True
            elif (turn := _turn(line)) is not None:
                turns.append(turn)
        except BadTurns:
            continue
    idle = [call for call, result in last_calls(turns) if result is None and call.id not in begun]
    return [*turns, *(UserTurn(results=(_not_begun(call),)) for call in idle)], whole


def _turn(line: Line) -> Turn | None:
    match line.get("kind"):
        case "user":
            return turn_from_json({**line, "role": "user", "results": []})
        case "assistant":
            return turn_from_json({**line, "role": "assistant"})
        case "result":
            return UserTurn(results=(result_from_json(line),))
        case _:
            return None


def _not_begun(call: ToolCall) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, text=NOT_BEGUN, is_error=True)
