"""`script/PATH`: replays a YAML file of assistant turns, whose calls are really executed.

    tasks: {"<id>": [turn, ...], "<id>/2": [turns of the second attempt]}
    agents: {NAME: [turn, ...]}
    default: [turn, ...]

A turn is `{text?, calls?: [{TOOL: {args}}], fault?: KIND}`. A subagent gets the turns of its agent
or the default, from the first one on, never those of the task. An attempt that goes on from an
earlier one begins behind the turns of its list that the earlier one has had. It is made for
examples and tests and says so when it runs out of turns; it never pretends to be a model.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

import anyio

from runner.core.ids import key_of
from runner.core.strict_yaml import read_yaml
from runner.core.tool_names import LOOP_TOOLS, NOT_BUILT, TOOLS, canonical
from runner.errors import (
    ConfigError,
    ContextOverflow,
    ModelOverloaded,
    ModelRejected,
)
from runner.work.messages import Asker, ModelReply, ModelRequest, ToolCall
from runner.work.models.exhausted import last_refusal, turns_text

Fault = Literal["overloaded", "rate_limited", "cut_call", "empty", "context_overflow", "hang"]
FAULTS: tuple[str, ...] = get_args(Fault)
RATE_LIMITED_FOR_S = 1.0
_RAISED = frozenset({"overloaded", "rate_limited", "context_overflow"})
_KEYS = frozenset({"text", "calls", "fault"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptTurn:
    """One turn as written: the calls as (tool, arguments), the tools under our names."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    fault: Fault | None = None


Turns = tuple[ScriptTurn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A whole file, checked."""

    file: Path
    tasks: Mapping[str, Turns]
    agents: Mapping[str, Turns]
    default: Turns | None

    def turns_for(self, asker: Asker) -> Turns | None:
        """The turns meant for whoever asks: this attempt, the task, the agent, the default."""
        for key in asker.written_for:
            if key in self.tasks:
                return self.tasks[key]
        return self.agents.get(asker.agent, self.default)

    def replies_before(self, asker: Asker) -> int:
        """How many replies of the list were given before the one asked for."""
        turns = self.turns_for(asker)
        own = asker.turn - sum(replies for _, replies in asker.earlier)
        return own + sum(
            replies
            for attempt, replies in asker.earlier
            if self.turns_for(replace(asker, attempt=attempt)) is turns
        )


class ScriptModel:
    """Answers with the turn whose number is that of the request."""

    def __init__(self, name: str, script: Script) -> None:
        self._name = name
        self._script = script
        self._raised: dict[Asker, int] = {}

    @property
    def name(self) -> str:
        return self._name

    def price_usd(self, input_tokens: int, output_tokens: int) -> float:
        """A script costs nothing."""
        return 0.0

    async def reply(self, request: ModelRequest) -> ModelReply:
        """The next turn. A turn that raises is used up by it: the next try gets the turn after.

        Raises: ModelOverloaded, ContextOverflow, as written; ModelRejected, when there is no turn.
        """
        if request.asker.summary:
            return ModelReply(text="(a script sums up nothing)", usd=0.0)
        asker, attempt = request.asker, replace(request.asker, turn=0)
        turns, replies = self._script.turns_for(asker), self._script.replies_before(asker)
        if attempt not in self._raised:
            self._raised[attempt] = _raised_before(turns or (), replies)
        position = replies + self._raised[attempt]
        if turns is None or position >= len(turns):
            if asker.task is None and asker.subagent is None:
                return ModelReply(text="(the script has no turn for messages)", usd=0.0)
            raise ModelRejected(self._missing(request, turns), status=400)
        turn = turns[position]
        if turn.fault in _RAISED:
            self._raised[attempt] += 1
            _raise_fault(turn.fault, self._script.file)
        if turn.fault == "hang":
            await anyio.sleep_forever()
        return _reply(turn, f"{_place(asker)}_{position}")

    def _missing(self, request: ModelRequest, turns: Turns | None) -> str:
        asker, file = request.asker, self._script.file
        if asker.subagent is None:
            who = f"task {asker.task} (attempt {asker.attempt}, agent {asker.agent})"
            wanted = f'add a list "{asker.task}" under `tasks`'
        else:
            who = f"subagent {asker.subagent} (agent {asker.agent})"
            wanted = f'add a list "{asker.agent}" under `agents`'
        if turns is None:
            return f"{file} has no turns for {who}; {wanted}"
        cause = last_refusal(request) or "; the last one should call submit_result"
        return f"{file} has {turns_text(len(turns))} for {who} and one more was asked for{cause}"


def _raised_before(turns: Turns, replies: int) -> int:
    """How many turns must have raised, in another process, before so many replies were given."""
    raised = 0
    for turn in turns:
        if not replies:
            break
        is_reply = turn.fault not in _RAISED
        raised, replies = raised + (not is_reply), replies - is_reply
    return raised


def _place(asker: Asker) -> str:
    """What the ids of its calls begin with."""
    parts = (asker.task or "message", str(asker.attempt), asker.subagent)
    return "_".join(part for part in parts if part is not None)


def _raise_fault(fault: str | None, file: Path) -> None:
    if fault == "context_overflow":
        raise ContextOverflow(f"{file}: the request does not fit the window (simulated)")
    wait = RATE_LIMITED_FOR_S if fault == "rate_limited" else None
    raise ModelOverloaded(f"{file}: {fault} (simulated)", retry_after_s=wait)


def _reply(turn: ScriptTurn, prefix: str) -> ModelReply:
    if turn.fault == "empty":
        return ModelReply(usd=0.0)
    calls = [
        ToolCall(id=f"{prefix}_{number}", name=name, arguments=arguments, raw=json.dumps(arguments))
        for number, (name, arguments) in enumerate(turn.calls)
    ]
    if turn.fault == "cut_call":
        calls.append(_cut(calls.pop() if calls else None, prefix))
        return ModelReply(text=turn.text, calls=tuple(calls), stop="length", usd=0.0)
    stop: Literal["tool_calls", "end"] = "tool_calls" if calls else "end"
    return ModelReply(text=turn.text, calls=tuple(calls), stop=stop, usd=0.0)


def _cut(call: ToolCall | None, prefix: str) -> ToolCall:
    """The call with the end of its arguments missing."""
    if call is None:
        raw = '{"path": "a.txt", "content": "line 1\\nli'
        return ToolCall(id=f"{prefix}_cut", name="write", arguments=None, raw=raw)
    raw = call.raw[: max(len(call.raw) * 2 // 3, 1)]
    return ToolCall(id=call.id, name=call.name, arguments=None, raw=raw)


def load_script(path: Path) -> Script:
    """Read and check a whole script. Raises: ConfigError."""
    content = read_yaml(path)
    for key in content:
        if key not in ("tasks", "agents", "default"):
            raise ConfigError(path, str(key), content[key], "one of tasks, agents, default")
    default = content.get("default")
    return Script(
        file=path,
        tasks=_read_lists(path, content, "tasks"),
        agents=_read_lists(path, content, "agents"),
        default=None if default is None else _read_turns(path, "default", default),
    )


def _read_lists(path: Path, content: Mapping[Any, Any], key: str) -> dict[str, Turns]:
    lists = content.get(key)
    if lists is None:
        return {}
    if not isinstance(lists, Mapping):
        raise ConfigError(path, key, lists, "a mapping from names to lists of turns")
    return {
        _task_key(str(name)) if key == "tasks" else str(name): _read_turns(
            path, f"{key}.{name}", turns
        )
        for name, turns in lists.items()
    }


def _task_key(written: str) -> str:
    """Ids compare as on the board: `003`, `task_3` and `3` are one."""
    key, slash, attempt = written.partition("/")
    return (key_of(key) or key) + slash + attempt


def _read_turns(path: Path, key: str, turns: Any) -> Turns:
    if not isinstance(turns, list):
        raise ConfigError(path, key, turns, "a list of turns")
    return tuple(_read_turn(path, f"{key}[{at}]", turn) for at, turn in enumerate(turns))


def _read_turn(path: Path, key: str, turn: Any) -> ScriptTurn:
    if not isinstance(turn, Mapping) or not set(turn) <= _KEYS:
        raise ConfigError(path, key, turn, "a mapping with text, calls, fault")
    text, fault = turn.get("text") or "", turn.get("fault")
    if not isinstance(text, str):
        raise ConfigError(path, f"{key}.text", text, "a text")
    if fault is not None and fault not in FAULTS:
        raise ConfigError(path, f"{key}.fault", fault, f"one of {', '.join(FAULTS)}")
    return ScriptTurn(
        text=text,
        calls=_read_calls(path, f"{key}.calls", turn.get("calls") or []),
        fault=cast(Fault | None, fault),
    )


def _read_calls(
    path: Path, key: str, calls: Sequence[Any]
) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    if not isinstance(calls, list):
        raise ConfigError(path, key, calls, "a list of {TOOL: {arguments}}")
    read = []
    for at, call in enumerate(calls):
        if not isinstance(call, Mapping) or len(call) != 1:
            raise ConfigError(path, f"{key}[{at}]", call, "one tool: {TOOL: {arguments}}")
        ((name, arguments),) = call.items()
        tool = _read_tool(path, f"{key}[{at}]", str(name))
        read.append((tool, _read_arguments(path, f"{key}[{at}].{name}", arguments)))
    return tuple(read)


def _read_tool(path: Path, key: str, written: str) -> str:
    """Our name of a tool. A call of one that nobody can have would go wrong unseen."""
    name, known = canonical(written), sorted({*TOOLS, *LOOP_TOOLS})
    if name in known:
        return name
    expected = f"one of the tools {', '.join(known)}"
    if name in NOT_BUILT:
        expected += f" ({name} is not part of this version)"
    elif near := difflib.get_close_matches(name, known, n=1):
        expected += f" (did you mean {near[0]}?)"
    raise ConfigError(path, key, written, expected)


def _read_arguments(path: Path, key: str, arguments: Any) -> Mapping[str, Any]:
    """Arguments as a model would send them: a JSON object."""
    if arguments is None:
        return {}
    try:
        plain = json.loads(json.dumps(arguments))
    except (TypeError, ValueError) as error:
        raise ConfigError(path, key, arguments, "values that JSON has (quote dates)") from error
    if not isinstance(plain, dict):
        raise ConfigError(path, key, arguments, "a mapping of arguments")
    return plain
