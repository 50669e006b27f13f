"""One attempt (or message turn) in progress: what it works with and what it has done so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from runner.board.task import Task
from runner.team.message import Message
from runner.team.outcome import Outcome, Usage
from runner.team.types import Mail
from runner.work.checkout import Checkout
from runner.work.children import Child, Children
from runner.work.deadline import Deadline
from runner.work.histories.history import History
from runner.work.histories.sizes import Room, most_of_a_result, window_of
from runner.work.histories.turns import turn_as_json
from runner.work.json_values import with_texts
from runner.work.ledger import Ledger
from runner.work.messages import (
    Asker,
    Model,
    ModelReply,
    ModelRequest,
    Native,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from runner.work.prompt import letters
from runner.work.records.transcript import Transcript
from runner.work.repeats import Repeats
from runner.work.results.contract import ResultContract, idle_spec
from runner.work.retry import Gate, ask
from runner.work.tags import SUBAGENT_RESULT, neutralised, tagged
from runner.work.tools.base import OUTPUT_LIMIT, Toolbox, ToolContext, presentable
from runner.work.tools.subagent import result

CALL_LIMIT_S = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Means(ToolContext):
    """What an attempt works with. `contract` is None in a message turn.

    `subagent` is the id of a subagent within its attempt or message turn, `1-2`, and None for the
    teammate itself. A subagent has the `task` and the `deadline` of who started it, and a
    `teammate` who gets no mail.
    """

    model: Model
    gate: Gate
    ledger: Ledger
    toolbox: Toolbox
    contract: ResultContract | None
    checkout: Checkout
    transcript: Transcript
    children: Children
    deadline: Deadline
    system: str
    max_turns: int
    verify_timeout_s: float
    subagent: str | None = None
    call_limit_s: float = CALL_LIMIT_S

    @property
    def output_limit(self) -> int:
        """No result takes more than its part of the model's window."""
        return most_of_a_result(window_of(self.model), OUTPUT_LIMIT)

    async def ask(self, request: ModelRequest) -> ModelReply:
        """One reply, within the budget. Raises: BudgetReached, ModelError."""
        async with self.ledger.reserve(self.model, request) as room:
            room.reply = await ask(self.model, request, self.gate, waiting=self._wait)
            return room.reply

    def _wait(self, seconds: float) -> None:
        """Before a wait for the provider: tell it, since nothing else happens meanwhile."""
        self.deadline.extend(seconds)
        reason = f"asked again in {seconds:.0f} s: {self.gate.why}"
        self.emit("model.waits", seconds=round(seconds, 1), reason=self.redact(reason))

    def emit(self, event: str, **facts: Any) -> None:
        """A line in the journal about this attempt."""
        who = {} if self.subagent is None else {"subagent": self.subagent}
        self.teammate.emit(event, self.task, **who, **facts)


@dataclass(slots=True, kw_only=True)
class Attempt:
    """The state of one attempt. `ended` is set by the call that ends it.

    `cut_replies` counts in a row; `unanswered` is mail that the model was told and has not
    answered yet, `letters` the messages to whose senders it has written nothing since. `assignment`
    and `again` are what `assign` was given; `futile` counts in a row how often the history could
    not be shortened enough. `turn` counts those of `earlier` attempts too, as `Asker` has them;
    `handed_in` is a result of theirs that the board was not told of.
    """

    means: Means
    history: History
    assignment: str = ""
    again: Callable[[Task], str] | None = None
    earlier: tuple[tuple[int, int], ...] = ()
    handed_in: ToolCall | None = None
    turn: int = 0
    cut_replies: int = 0
    failed_checks: int = 0
    force_call: bool = False
    ended: Outcome | None = None
    unanswered: list[Mail] = field(default_factory=list)
    letters: list[Message] = field(default_factory=list)
    futile: int = 0
    repeats: Repeats = field(default_factory=Repeats)
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    started: float = 0.0
    warnings: tuple[str, ...] = ()
    room: Room = field(init=False)

    def __post_init__(self) -> None:
        self.room = Room(self.means.model)

    def request(self) -> ModelRequest:
        """The next request; the rules of the history are checked here, for every provider."""
        means, task = self.means, self.means.task
        return ModelRequest(
            system=means.system,
            turns=self.history.for_request(),
            tools=self._tools(),
            tool_choice="required" if self.force_call else "auto",
            thinking_level=means.agent.thinking_level,
            max_output_tokens=self.room.reply,
            asker=Asker(
                teammate=means.teammate.name,
                agent=means.agent.name,
                task=task.key if task else None,
                attempt=task.attempt if task else 0,
                turn=self.turn,
                subagent=means.subagent,
                earlier=self.earlier,
            ),
        )

    def _tools(self) -> tuple[ToolSpec, ...]:
        contract = self.means.contract
        own = (contract.spec(),) if contract else ()
        return (*self.means.toolbox.specs, *own, idle_spec(open_task=contract is not None))

    async def assign(self, text: str, *, again: Callable[[Task], str] | None = None) -> None:
        """Tell what is to be done; it is repeated whenever the history is shortened.

        `again` words it for the open task as the board then holds it.
        """
        self.assignment, self.again = self.means.redact(text), again
        await self.tell(self.assignment)

    async def tell(self, text: str, **facts: Any) -> None:
        """Put words of the runner into the next user turn; `facts` go to the transcript."""
        self.history.tell(text)
        await self.means.transcript.write("user", text=text, **facts)

    async def tell_arrivals(self) -> None:
        """Put what has arrived into the next user turn: results of subagents, then mail."""
        for child in self.means.children.take_ended():
            await self._tell_result(child)
        if (mail := await self.means.teammate.new_mail()) is not None:
            await self.tell_mail(mail)

    async def _tell_result(self, child: Child) -> None:
        text = neutralised(await presentable(result(child), self.means))
        await self.tell(tagged(SUBAGENT_RESULT, text, id=child.id), subagent=child.id)

    async def tell_mail(self, mail: Mail) -> None:
        """Put messages into the next user turn.

        They count as read when the model has answered: a death before that delivers them again.
        """
        transcript = self.means.transcript
        await mail.announce(transcript.path, transcript.size)
        text = self.means.redact(letters(mail.messages))
        await self.tell(
            text,
            mail=[message.id for message in mail.messages],
            letters=[message.to_json() for message in mail.messages],
        )
        self.unanswered.append(mail)
        self.letters.extend(mail.messages)

    def written_to(self, name: object) -> None:
        """The model has sent a message to this one: what it got from there is answered."""
        self.letters = [letter for letter in self.letters if letter.sender != name]

    async def hear(self, reply: ModelReply) -> tuple[ToolCall, ...]:
        """Record a reply and count it; its calls as they stand in the history.

        Keys are taken out here, so that no tool can carry one on: not to a task, an inbox, a file.
        """
        redact = self.means.redact
        asked = [_redacted(call, redact) for call in reply.calls]
        turn = self.history.hear(redact(reply.text), asked, _without_keys(reply.native, redact))
        await self.means.transcript.write(
            "assistant",
            **turn_as_json(turn),
            stop=reply.stop,
            inputTokens=reply.input_tokens,
            outputTokens=reply.output_tokens,
            usd=reply.usd,
        )
        while self.unanswered:
            await self.unanswered.pop(0).commit()
        self.turn += 1
        self.means.transcript.turn = self.turn
        self.means.teammate.progress.turn = self.turn
        self.count(reply)
        self.means.emit(
            "turn.ended",
            turn=self.turn,
            calls=[call.name for call in turn.calls],
            inputTokens=reply.input_tokens,
            outputTokens=reply.output_tokens,
        )
        return turn.calls

    def count(self, reply: ModelReply) -> None:
        """What a reply has used, a turn or not."""
        self.input_tokens += reply.input_tokens
        self.output_tokens += reply.output_tokens
        known = self.usd is not None and reply.usd is not None
        self.usd = (self.usd or 0.0) + (reply.usd or 0.0) if known else None

    def result(self, call: ToolCall, text: str, *, is_error: bool = False) -> ToolResult:
        """The answer to a call; foreign text is made harmless here, on its way in."""
        text = neutralised(self.means.redact(text))
        return ToolResult(call_id=call.id, name=call.name, text=text, is_error=is_error)

    def usage(self) -> Usage:
        """What was used up to now, by subagents too."""
        return self.means.children.usage(
            Usage(
                turns=self.turn - sum(replies for _, replies in self.earlier),
                tool_calls=self.tool_calls,
                input_tokens=self.input_tokens,
                output_tokens=self.output_tokens,
                usd=self.usd,
                seconds=self.means.teammate.clock.monotonic() - self.started,
                changed_files=self.means.workspace.changed_files,
                warnings=self.warnings,
            )
        )


def _without_keys(native: Native | None, redact: Callable[[str], str]) -> Native | None:
    """What holds a key is not kept: changed, it would not be what the API gave."""
    blocks = native.blocks if native else ()
    return native if all(with_texts(block, redact) == block for block in blocks) else None


def _redacted(call: ToolCall, redact: Callable[[str], str]) -> ToolCall:
    return replace(
        call,
        id=redact(call.id),
        name=redact(call.name),
        arguments=with_texts(call.arguments, redact),
        raw=redact(call.raw),
    )
