"""A model whose every word a test has written down."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from runner.core.ids import key_of
from runner.errors import ModelRejected
from runner.work.messages import Asker, ModelReply, ModelRequest, Native, Stop, ToolCall
from runner.work.models.exhausted import last_refusal, turns_text

Step = ModelReply | BaseException
"""One turn of a script: a reply, or an exception that is raised instead."""


def say(text: str, *, stop: Stop = "end") -> ModelReply:
    """A turn of text without calls. `stop="length"` makes it one that was cut off."""
    return ModelReply(text=text, stop=stop, usd=0.0)


def call(tool: str, /, **arguments: Any) -> ModelReply:
    """A turn that calls one tool: `call("write", path="a.txt", content="A")`."""
    made = ToolCall(id=f"call_{tool}", name=tool, arguments=arguments, raw=json.dumps(arguments))
    return ModelReply(calls=(made,), stop="tool_calls", usd=0.0)


def calls(*turns: ModelReply) -> ModelReply:
    """Several turns as one, with all their calls side by side."""
    texts = [turn.text for turn in turns if turn.text]
    made = [
        replace(one, id=f"{one.id}_{number}")
        for number, one in enumerate(one for turn in turns for one in turn.calls)
    ]
    stop: Stop = "tool_calls" if made else "end"
    return ModelReply(text="\n".join(texts), calls=tuple(made), stop=stop, usd=0.0)


def submit(data: Any) -> ModelReply:
    """A turn that hands in a result."""
    return call("submit_result", data=data)


def give_up(error: str) -> ModelReply:
    """A turn that declares the task as not possible."""
    return call("submit_result", error=error)


def think(thinking: str, reply: ModelReply) -> ModelReply:
    """A turn with thinking in front. Only a `FakeServer` shows it, in the form of its API."""
    block = {"thinking": thinking}
    return replace(reply, native=Native(form="thinking", model="", blocks=(block,)))


class ScriptExhausted(ModelRejected):
    """More turns were asked for than the script has; the attempt fails with this text.

    `cause` is what the last tool result says, if that was an error.
    """

    def __init__(self, key: str, given: int, cause: str = "") -> None:
        super().__init__(
            f"the scripted model was asked for turn {given + 1} of {key!r} "
            f"and has {turns_text(given)}{cause}",
            status=400,
        )


class ScriptedModel:
    """A fake model for tests of teams and loops. One instance serves a whole team.

    `turns` serves everybody; `tasks` (by task id as text, or `"<id>/<attempt>"`) and `agents` (by
    agent name) go before it, in this order. Each list is used up from its beginning, so two tasks
    of one agent share the agent's list. Every request is kept in `requests`. A call beyond the
    script fails the attempt and is reported again by `assert_exhausted`, as are leftovers. A
    summary of a long history is no turn and uses up no step.
    """

    def __init__(
        self,
        turns: Sequence[Step] | None = None,
        *,
        tasks: Mapping[str, Sequence[Step]] | None = None,
        agents: Mapping[str, Sequence[Step]] | None = None,
        name: str = "scripted/test",
    ) -> None:
        self.requests: list[ModelRequest] = []
        self._name = name
        self._lists: dict[str, list[Step]] = {}
        self._used: dict[str, int] = {}
        self._overrun: list[str] = []
        for prefix, lists in (("task", tasks), ("agent", agents)):
            for key, steps in (lists or {}).items():
                self._lists[f"{prefix} {key}"] = list(steps)
        if turns is not None:
            self._lists["turns"] = list(turns)

    @property
    def name(self) -> str:
        return self._name

    def price_usd(self, input_tokens: int, output_tokens: int) -> float:
        """Costs nothing, unless a written reply says otherwise."""
        return 0.0

    async def reply(self, request: ModelRequest) -> ModelReply:
        """The next step of the list that fits best.

        Raises: ScriptExhausted, and whatever exception stands in the script.
        """
        self.requests.append(request)
        if request.asker.summary:
            return say("(what was done before)")
        key = self._key(request.asker)
        used = self._used.get(key, 0)
        steps = self._lists.get(key, [])
        if used >= len(steps):
            error = ScriptExhausted(key, len(steps), last_refusal(request))
            self._overrun.append(str(error))
            raise error
        self._used[key] = used + 1
        step = steps[used]
        if isinstance(step, BaseException):
            raise step
        return step

    def requests_of(self, task: str | int) -> list[ModelRequest]:
        """The requests made for one task, in order."""
        return [request for request in self.requests if request.asker.task == key_of(task)]

    def assert_exhausted(self) -> None:
        """Every step was used and none was missing. Raises: AssertionError."""
        left = [
            f"{key}: {len(steps) - self._used.get(key, 0)} of {turns_text(len(steps))} not used"
            for key, steps in self._lists.items()
            if self._used.get(key, 0) < len(steps)
        ]
        if problems := self._overrun + left:
            raise AssertionError("; ".join(problems))

    def _key(self, asker: Asker) -> str:
        wanted = [f"task {key}" for key in asker.written_for] + [f"agent {asker.agent}"]
        return next((key for key in wanted if key in self._lists), "turns")
