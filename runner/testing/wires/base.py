"""What the APIs have in common: a request that is judged, a reply that becomes JSON and events."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from runner.work.messages import AssistantTurn, ModelReply, ToolCall, ToolResult, Turn, UserTurn

Json = dict[str, Any]
Event = tuple[str | None, str]
"""A server-sent event: its name, where the API has names, and its data."""

PIECE = 24  # characters of text or arguments in one event
_CHARACTERS_PER_TOKEN = 4
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class BadRequest(Exception):
    """What the API does not accept, in its words. `code` is its short name, where it has one."""

    def __init__(self, message: str, *, code: str | None = None) -> None:
        self.message, self.code = message, code
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A request in no API's form."""

    system: str
    turns: tuple[Turn, ...]


class Wire(Protocol):
    """One API. It keeps what it has said, so that it can tell whether that comes back unchanged."""

    @property
    def form(self) -> str:
        """`anthropic`, `openai-chat`, `openai-responses`."""
        ...

    def check(self, body: Json) -> None:
        """Judge a request as the vendor does. Raises: BadRequest."""
        ...

    def heard(self, body: Json) -> Heard:
        """What a request that was accepted says."""
        ...

    def message(self, reply: ModelReply, body: Json, number: int) -> Json:
        """The whole answer to the request `body`; `number` makes its ids unique."""
        ...

    def events(self, message: Json, body: Json) -> Iterator[Event]:
        """The same answer as a stream."""
        ...

    def whole(self, message: Json) -> Json:
        """The same answer in one piece."""
        ...

    def error(self, status: int, message: str, code: str | None = None) -> Json:
        """The body of an error."""
        ...

    def overflow(self, tokens: int, window: int) -> BadRequest:
        """What is said of a request that is longer than the window."""
        ...

    def broken_off(self, message: str) -> Event:
        """An error in the middle of a stream."""
        ...


def need(holds: object, message: str, *, code: str | None = None) -> None:
    """Raises: BadRequest, unless it holds."""
    if not holds:
        raise BadRequest(message, code=code)


def need_keys(value: object, where: str, known: Iterable[str], required: Iterable[str]) -> Json:
    """An object with all of `required` and nothing beside `known`."""
    if not isinstance(value, dict):
        raise BadRequest(f"{where}: Input should be an object")
    missing = [key for key in required if key not in value]
    need(not missing, f"{where}: Missing required parameter: {', '.join(missing)}")
    extra = sorted(set(value) - set(known))
    need(not extra, f"{where}: Extra inputs are not permitted: {', '.join(extra)}")
    return value


def need_text(value: object, where: str) -> str:
    """A text that says something."""
    if not isinstance(value, str):
        raise BadRequest(f"{where}: Input should be a valid string")
    need(value.strip(), f"{where}: text must be non-empty and contain non-whitespace text")
    return value


def need_name(name: object, where: str) -> str:
    """The name of a tool."""
    if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
        raise BadRequest(f"{where}.name: String should match pattern '{_TOOL_NAME.pattern}'")
    return name


def need_tool(name: object, schema: object, where: str, taken: set[str]) -> None:
    """A tool's name, which joins `taken`, and the schema of its arguments."""
    named = need_name(name, where)
    need(named not in taken, f"{where}: Tool names must be unique: {named}")
    taken.add(named)
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise BadRequest(f"{where}: schema must be a JSON Schema of 'type: \"object\"'")
    if fault := _fault_of(json.dumps(schema)):
        raise BadRequest(f"{where}: Invalid schema for {named!r}: {fault}")


@cache
def _fault_of(schema: str) -> str:
    """What is wrong with a JSON Schema; every request of a conversation has the same ones."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(json.loads(schema))
    except SchemaError as error:
        return str(error.message)
    return ""


def need_unicode(body: object) -> None:
    """Raises: BadRequest, when a text has half of a surrogate pair."""
    for text in _texts(body):
        need(text.isascii() or _encodes(text), "The request body is not valid JSON: lone surrogate")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner)


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def seal(*parts: str) -> str:
    """What stands for a signature or for encrypted content: it fits these very texts only."""
    return hashlib.sha256("\0".join(("boardrunner", *parts)).encode()).hexdigest()


def thoughts(reply: ModelReply) -> list[str]:
    """The thinking that `think` has put in front of a reply."""
    return [block["thinking"] for block in reply.native.blocks] if reply.native else []


def raw_arguments(call: ToolCall) -> str:
    """The arguments as text, also when they are cut or broken."""
    return call.raw or ("" if call.arguments is None else json.dumps(dict(call.arguments)))


def tokens_in(body: Json) -> int:
    """An estimate of the tokens of a request."""
    said = {
        key: body[key]
        for key in ("system", "instructions", "messages", "input", "tools")
        if key in body
    }
    return max(len(json.dumps(said, ensure_ascii=False)) // _CHARACTERS_PER_TOKEN, 1)


def tokens_out(reply: ModelReply) -> int:
    """An estimate of the tokens of a reply."""
    said = reply.text + "".join(raw_arguments(call) for call in reply.calls)
    return max(len(said) // _CHARACTERS_PER_TOKEN, 1)


def pieces(text: str) -> Iterator[str]:
    """A text as it comes in, bit by bit."""
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


class TurnsBuilder:
    """Joins what an API has as separate messages to turns of alternating roles."""

    def __init__(self) -> None:
        self._turns: list[Turn] = []
        self._names: dict[str, str] = {}

    def told(self, text: str = "", results: Sequence[ToolResult] = ()) -> None:
        """Something of the user's side."""
        last = UserTurn()
        if self._turns and isinstance(before := self._turns[-1], UserTurn):
            last = before
            self._turns.pop()
        joined = "\n\n".join(part for part in (last.text, text) if part)
        self._turns.append(UserTurn(results=(*last.results, *results), text=joined))

    def said(self, text: str = "", calls: Sequence[ToolCall] = ()) -> None:
        """Something of the model's side."""
        last = AssistantTurn()
        if self._turns and isinstance(before := self._turns[-1], AssistantTurn):
            last = before
            self._turns.pop()
        joined = "\n\n".join(part for part in (last.text, text) if part)
        self._turns.append(AssistantTurn(text=joined, calls=(*last.calls, *calls)))
        self._names.update((call.id, call.name) for call in calls)

    def name_of(self, call_id: str) -> str:
        """The tool that was called under this id."""
        return self._names[call_id]

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(self._turns)
