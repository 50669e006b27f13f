"""The result contract: what `submit_result` takes, and what is answered to a bad one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.work.json_values import kind_of
from runner.work.messages import ToolSpec
from runner.work.results.findings import FINDINGS, Finding, with_findings
from runner.work.results.schema import ResultSchema

SUBMIT = "submit_result"
IDLE = "idle"
MAX_BAD_RESULTS = 3
MAX_REMINDERS = 3
NO_SUBMIT = "SYSTEM WARNING: Subagent exited without calling submit_result tool after 3 reminders."
NULL_DATA = "SYSTEM WARNING: Subagent called submit_result with null data."
LEFT_OUT = "the schema of the result has no place for {} reported finding(s); see the transcript"
_MISSING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A result that fits. `warnings` go with it into the record of the task."""

    data: Any
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The agent says that it could not do the task."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Not a result; `reason` says what is wrong and what was expected."""

    reason: str


class ResultContract:
    """What counts as the result of one attempt. Counts the bad ones and the reminders."""

    def __init__(self, schema: ResultSchema | None) -> None:
        self.schema = schema
        self.bad = 0
        self.reminders = 0

    @property
    def exhausted(self) -> bool:
        """No further try after `MAX_BAD_RESULTS` bad ones."""
        return self.bad >= MAX_BAD_RESULTS

    def judge(
        self, arguments: Mapping[str, Any], findings: Sequence[Finding] = ()
    ) -> Submitted | Declared | Refused:
        """Read the arguments of one `submit_result` call; `findings` were reported before it."""
        data = arguments.get("data", _MISSING)
        error = arguments.get("error")
        if error is not None and not isinstance(error, str):
            return self.refuse([f"$.error: must be a text, found {kind_of(error)}"])
        if error and data not in (_MISSING, None):
            return self.refuse(["give either `data` or `error`, not both"])
        if error:
            return Declared(error=error)
        if data is _MISSING:
            beside = ", ".join(f"`{name}`" for name in arguments if name != "error")
            found = f"; found {beside} beside it" if beside else ""
            return self.refuse([f"$.data: missing; the whole result goes into `data`{found}"])
        return self._judge_data(data, findings)

    def _judge_data(self, data: Any, findings: Sequence[Finding]) -> Submitted | Refused:
        warnings = (NULL_DATA,) if data is None else ()
        joins = bool(findings) or (self.schema is not None and self.schema.has_field(FINDINGS))
        whole = with_findings(data, findings) if joins else data
        problems = self._problems(whole)
        if not problems:
            return Submitted(data=whole, warnings=warnings)
        alone = self._problems(data)
        if alone:
            # what the model sent is what it can mend
            return self.refuse(problems if isinstance(data, Mapping) else alone)
        if findings:
            warnings = (*warnings, LEFT_OUT.format(len(findings)))
        return Submitted(data=data, warnings=warnings)

    def _problems(self, data: Any) -> list[str]:
        if self.schema is None:
            return []
        problems = [one.replace("$", "$.data", 1) for one in self.schema.problems(data)]
        if problems and isinstance(data, str) and self._fits_as_json(data):
            return ["$.data: a text that holds JSON; give the value itself"]
        return problems

    def _fits_as_json(self, text: str) -> bool:
        try:
            return not self.schema.problems(json.loads(text)) if self.schema else False
        except (ValueError, RecursionError):
            return False

    def remind(self) -> str | None:
        """The next reminder; None when all were given."""
        if self.reminders >= MAX_REMINDERS:
            return None
        self.reminders += 1
        return (
            f"Your task is still open (reminder {self.reminders} of {MAX_REMINDERS}). "
            f"Go on working, or end it by calling {SUBMIT}: with `data` for the result, or with "
            "`error` and the reason if it cannot be done."
        )

    def shape(self) -> str:
        """The expected `data`, readable."""
        return self.schema.shape() if self.schema else "any JSON value"

    def spec(self) -> ToolSpec:
        """The tool as offered to the model; a valid object schema with or without a schema."""
        data, definitions = _embedded(self.schema)
        return ToolSpec(
            name=SUBMIT,
            description="Hand in the result of your task, once, when everything is done. "
            "Give `data`, or `error` if the task cannot be done.",
            parameters={
                "type": "object",
                "properties": {
                    "data": {"description": "The result.", **data},
                    "error": {"type": "string", "description": "Why the task cannot be done."},
                },
                **definitions,
            },
        )

    def refuse(self, problems: Iterable[str]) -> Refused:
        """Count a bad result; `problems` say what is wrong, each with its place."""
        self.bad += 1
        listed = "\n".join(f"- {problem}" for problem in problems)
        return Refused(
            reason=f"The result was not accepted ({self.bad} of {MAX_BAD_RESULTS} tries):\n"
            f"{listed}\nExpected in `data`:\n{self.shape()}"
        )


def _embedded(schema: ResultSchema | None) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """(the schema as a property, the definitions its references need at the root)."""
    if schema is None:
        return {}, {}
    hoisted = {"$defs", "definitions"}
    data = {key: value for key, value in schema.definition.items() if key not in hoisted}
    data.pop("$schema", None)
    local = ("#/$defs/", "#/definitions/")
    if not all(reference.startswith(local) for reference in schema.references()):
        return {"description": f"The result:\n{schema.shape()}"}, {}
    return data, {key: schema.definition[key] for key in hoisted & set(schema.definition)}


def idle_spec(*, open_task: bool) -> ToolSpec:
    """The tool by which a model says that it has nothing to do."""
    when = f"Only without an open task; yours ends by {SUBMIT}." if open_task else ""
    return ToolSpec(
        name=IDLE,
        description=f"Say that you have nothing more to do now. {when}".strip(),
        parameters={"type": "object", "properties": {}},
    )
