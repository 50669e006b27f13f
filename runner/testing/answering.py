"""What a fake server answers: requests are judged, a model is asked, faults are carried out."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio

from runner.errors import ContextOverflow, ModelError, ModelOverloaded, ModelRejected
from runner.testing.asking import asker_of
from runner.testing.bare_http import STREAM, Request, Response, json_response
from runner.testing.faults import Altered, BrokenOff, Cut, Fault, Hanging, HungUp, Refused, Slow
from runner.testing.wires.anthropic import AnthropicWire
from runner.testing.wires.base import BadRequest, Event, Json, Wire, need_unicode, tokens_in
from runner.testing.wires.openai_chat import ChatWire
from runner.testing.wires.openai_responses import ResponsesWire
from runner.work.messages import Asker, Model, ModelReply, ModelRequest

_ENDLESS = 1_000_000_000  # the window that an overflow tells of when none is set
_OVERLOADED = {"anthropic": 529}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it came in. `refused` is why it was not accepted, None if it was."""

    form: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    refused: str | None = None


class Answering:
    """Answers the requests of all connections; it keeps them in `asked`, and tells by `news`."""

    def __init__(self, model: Model, *, window: int | None, api_key: str | None) -> None:
        self.asked: list[Asked] = []
        self.news = threading.Condition()
        self._model, self._window, self._api_key = model, window, api_key
        self._wires: dict[str, Wire] = {
            "/v1/messages": AnthropicWire(),
            "/v1/chat/completions": ChatWire(),
            "/v1/responses": ResponsesWire(),
        }
        self._numbers = itertools.count(1)
        self._silent: Counter[Asker] = Counter()

    async def answer(self, request: Request) -> Response | None:
        """What to send back; None closes the connection."""
        path = request.path.partition("?")[0]
        wire = self._wires.get(path)
        if wire is None or request.method != "POST":
            return self._told_of_itself(path)
        body = request.body if isinstance(request.body, dict) else {}
        refusal = self._refusal(wire, request)
        why = refusal.message if refusal else None
        with self.news:
            self.asked.append(
                Asked(form=wire.form, headers=request.headers, body=body, refused=why)
            )
            self.news.notify_all()
        if refusal is not None:
            return _error(wire, refusal)
        try:
            reply = await self._reply(wire, body)
        except HungUp:
            return None
        except Hanging:
            await anyio.sleep_forever()
        except Fault as fault:
            return self._gone_wrong(wire, body, fault)
        except ModelError as error:
            return _error(wire, self._as_refused(wire, body, error))
        return _sent(wire, body, self._message(wire, body, reply))

    def _told_of_itself(self, path: str) -> Response:
        """How long its window is, as the server of llama.cpp says it; nothing else."""
        if path == "/props" and self._window is not None:
            return json_response(200, {"default_generation_settings": {"n_ctx": self._window}})
        return json_response(404, {"error": {"message": f"no such path: {path}"}})

    def _refusal(self, wire: Wire, request: Request) -> Refused | None:
        """Why a request is not accepted."""
        key = _key(request.headers)
        if not key or (self._api_key is not None and key != self._api_key):
            return Refused(401, message=f"Incorrect API key provided: {key}")
        if not isinstance(request.body, dict):
            return Refused(400, message="The request body is not valid JSON")
        try:
            need_unicode(request.body)
            wire.check(request.body)
        except BadRequest as bad:
            return Refused(400, message=bad.message, code=bad.code)
        tokens = tokens_in(request.body)
        if self._window is not None and tokens > self._window:
            return self._overflow(wire, tokens)
        return None

    def _overflow(self, wire: Wire, tokens: int) -> Refused:
        bad = wire.overflow(tokens, self._window or _ENDLESS)
        return Refused(400, message=bad.message, code=bad.code)

    async def _reply(self, wire: Wire, body: Json) -> ModelReply:
        """What the model says to whoever asks. Raises: Fault, ModelError."""
        heard = wire.heard(body)
        asker = asker_of(heard.system, heard.turns)
        # a reply that says nothing leaves no trace in the history, and is a turn all the same
        attempt = replace(asker, turn=0)
        asker = replace(asker, turn=asker.turn + self._silent[attempt])
        request = ModelRequest(system=heard.system, turns=heard.turns, asker=asker)
        reply = await self._model.reply(request)
        self._silent[attempt] += not (reply.text.strip() or reply.calls)
        return reply

    def _as_refused(self, wire: Wire, body: Json, error: ModelError) -> Refused:
        """An error of the model in the words of the API."""
        match error:
            case ContextOverflow():
                return self._overflow(wire, tokens_in(body))
            case ModelOverloaded(retry_after_s=None):
                return Refused(_OVERLOADED.get(wire.form, 503), message=str(error))
            case ModelOverloaded():
                return Refused(429, message=str(error), retry_after=error.retry_after_s)
            case ModelRejected():
                return Refused(error.status, message=str(error))
        return Refused(500, message=str(error))

    def _gone_wrong(self, wire: Wire, body: Json, fault: Fault) -> Response:
        if isinstance(fault, Refused):
            return _error(wire, fault)
        message = self._message(wire, body, fault.reply)
        match fault:
            case Altered():
                fault.change(message)
                return _sent(wire, body, message)
            case Slow():
                return replace(_sent(wire, body, message), pause_s=fault.pause_s)
            case BrokenOff():
                told = [*_events(wire, body, message)][: fault.events]
                return _streamed([*told, wire.broken_off(fault.message)])
            case Cut():
                return _cut(_sent(wire, body, message), fault)
        raise TypeError(f"{type(fault).__name__} is no fault that can be carried out")

    def _message(self, wire: Wire, body: Json, reply: ModelReply) -> Json:
        return wire.message(reply, body, next(self._numbers))


def _key(headers: Mapping[str, str]) -> str:
    return headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")


def _error(wire: Wire, refused: Refused) -> Response:
    if refused.body is not None:
        data = refused.body.encode()
        return Response(status=refused.status, headers=refused.headers, pieces=(data,))
    body = wire.error(refused.status, refused.message, refused.code)
    return json_response(refused.status, body, refused.headers)


def _sent(wire: Wire, body: Json, message: Json) -> Response:
    if body.get("stream"):
        return _streamed(_events(wire, body, message))
    return json_response(200, wire.whole(message))


def _events(wire: Wire, body: Json, message: Json) -> list[Event]:
    return list(wire.events(message, body))


def _streamed(events: list[Event]) -> Response:
    pieces = tuple(
        (f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode()
        for name, data in events
    )
    return Response(headers={"content-type": STREAM}, pieces=pieces)


def _cut(response: Response, cut: Cut) -> Response:
    pieces = response.pieces[: cut.events]
    if cut.bytes is not None:
        pieces = (b"".join(response.pieces)[: cut.bytes],)
    return replace(response, pieces=pieces, whole=cut.clean)
