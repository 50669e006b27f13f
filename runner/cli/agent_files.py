"""What became of each file that may define an agent, as JSON objects and as lines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict
from typing import Any

from runner.agents.availability import nearest, unknown_disabled
from runner.agents.definition import AgentDefinition, ParsedAgent
from runner.agents.discovery import Discovery, FoundFile
from runner.agents.effective import EffectiveAgent
from runner.agents.places import RepeatedPlace
from runner.cli import output
from runner.cli.agent_setting import SWITCHED_OFF, AgentSetting, ChosenModel
from runner.cli.agent_use import obstacle
from runner.core.tool_names import is_known

_EMPTY = AgentDefinition(name="", description="", system_prompt="", source="project", file="")
_NOTE = " " * 12
NAME_LENGTH = 40
"""So much of a name is shown: a very long one leaves the rest of its line readable."""


def parsed_object(path: str, parsed: ParsedAgent) -> dict[str, Any]:
    """The object of `agents parse`: that of `list`, with `output` only if the file has it."""
    agent = parsed.definition
    fields = agent.to_json() if agent else dict.fromkeys(_EMPTY.to_json())
    if agent is None or not agent.has_output:
        del fields["output"]
    return {
        **fields,
        "source": None,
        "file": parsed.file,
        "shadows": None,
        "path": path,
        "valid": agent is not None,
        "fallback": parsed.fallback,
        "reason": parsed.reason,
        "body": parsed.body,
    }


def checked(discovery: Discovery, setting: AgentSetting) -> dict[str, Any]:
    """The object of `agents check`: all that was looked at, in the order of looking."""
    files = [_file(found, discovery.names, setting) for found in discovery.files]
    return {
        "files": files,
        "repeated": [_repeated(place) for place in discovery.repeated],
        "registries": [asdict(registry) for registry in discovery.registries],
        "warnings": [
            *unknown_disabled(discovery.names, setting.settings.disabled_agents),
            *(_without_model(files) if setting.knows_models else ()),
        ],
    }


def _without_model(files: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Bundled agents name aliases that nobody has to set, so all of them are one warning."""
    idle = [file["name"] for file in files if file["source"] == "bundled" and _lacks_model(file)]
    if idle:
        yield (
            f"no model can be used here for {', '.join(idle)}: set `model` in team.yaml, "
            "or what their aliases mean under `models`"
        )


def _lacks_model(file: dict[str, Any]) -> bool:
    return file["model"] is not None and file["model"]["name"] is None


def has_problem(report: dict[str, Any]) -> bool:
    """Whether a file or a registry of `checked` has to be mended."""
    return any(file["problem"] for file in report["files"]) or any(
        registry["problem"] for registry in report["registries"]
    )


def warnings_of(
    parsed: ParsedAgent, effective: EffectiveAgent | None, names: Collection[str]
) -> list[str]:
    """What is odd about a file that was read; `names` are the agents that there are."""
    if parsed.definition is None or effective is None:
        return list(parsed.warnings)
    return [
        *parsed.warnings,
        *effective.warnings,
        *_unknown_spawns(effective, names),
    ]


def _unknown_spawns(effective: EffectiveAgent, names: Collection[str]) -> Iterator[str]:
    for name in effective.spawns.allowed:
        if effective.spawns.allowed != "*" and name not in names:
            near = ", ".join(nearest(name, names))
            meant = f"; did you mean {near}?" if near else ""
            yield f"may start agent {name!r}, which is not here{meant}"


def _file(found: FoundFile, names: Collection[str], setting: AgentSetting) -> dict[str, Any]:
    parsed, agent = found.parsed, found.parsed.definition
    effective = setting.effective(agent) if agent else None
    counts = agent is not None and found.state == "used"
    model = setting.model(agent) if agent and counts else None
    why_not = obstacle(effective) if effective and counts else None
    return {
        "file": parsed.file,
        "source": found.source,
        "plugin": found.plugin,
        "state": found.state,
        "disabled": agent is not None and counts and setting.is_disabled(agent.name),
        "name": agent.name if agent else None,
        "shadowedBy": found.shadowed_by,
        "reason": parsed.reason or why_not,
        "line": parsed.line,
        "fallback": parsed.fallback,
        "unknownKeys": list(parsed.unknown_keys),
        "foreignKeys": list(parsed.foreign_keys),
        "unknownTools": _unknown_tools(agent) if agent else [],
        "model": None if model is None else {"name": model.name, "reason": model.reason},
        "warnings": [
            *warnings_of(parsed, effective, names),
            *(_model_warnings(model, found) if model else ()),
        ],
        "problem": found.state == "skipped" or why_not is not None,
    }


def _unknown_tools(agent: AgentDefinition) -> list[str]:
    """The entries of both tool lists that are no tool's name in any family."""
    rules = [*(agent.tool_rules or ()), *agent.disallowed_rules]
    return [rule.written for rule in rules if rule.name != "*" and not is_known(rule.name)]


def _model_warnings(model: ChosenModel, found: FoundFile) -> Iterator[str]:
    """For bundled agents the team's default is meant too, and `_without_model` tells the rest."""
    if not model.is_own and found.source != "bundled":
        yield model.reason if model.name is None else f"model: {model.reason}"


def _repeated(repeated: RepeatedPlace) -> dict[str, Any]:
    place = repeated.place
    return {
        "directory": str(place.directory),
        "source": place.source,
        "plugin": place.plugin,
        "sameAs": str(repeated.same_as),
    }


def print_checked(report: dict[str, Any]) -> None:
    """All of `checked` as lines, and how many files there are of each state.

    What has to be mended is marked.
    """
    for file in report["files"]:
        _print_file(file)
    for repeated in report["repeated"]:
        _print_row("repeated", repeated["plugin"], repeated["directory"], marked=False)
        _print_note(f"the same directory as {repeated['sameAs']}, which is read")
    for registry in report["registries"]:
        _print_registry(registry)
    for warning in report["warnings"]:
        output.say(f"warning: {output.one_line(warning)}")
    output.say(_summary([_state(file) for file in report["files"]]))
    marked = [one for one in (*report["files"], *report["registries"]) if one["problem"]]
    if marked:
        output.say(f"to be mended, marked with !: {len(marked)} (exit 1)")


def _print_file(file: dict[str, Any]) -> None:
    at = f"{file['file']}:{file['line']}" if file["line"] else file["file"]
    _print_row(_state(file), file["name"], at, marked=file["problem"])
    for note in (
        file["plugin"] and f"of plugin {file['plugin']}",
        file["disabled"] and SWITCHED_OFF,
        file["reason"],
        file["shadowedBy"] and f"shadowed by {file['shadowedBy']}",
        file["unknownKeys"] and f"unknown keys: {', '.join(file['unknownKeys'])}",
        file["foreignKeys"] and f"mean nothing here: {', '.join(file['foreignKeys'])}",
        *file["warnings"],
    ):
        if note:
            _print_note(note)


def _print_registry(registry: dict[str, Any]) -> None:
    _print_row("registry", None, registry["file"], marked=registry["problem"] is not None)
    if registry["problem"]:
        _print_note(f"no plugin of it is used: {registry['problem']}")
    for plugin in registry["plugins"]:
        where = f", {plugin['path']}" if plugin["path"] else ""
        why = f": {plugin['reason']}" if plugin["reason"] else ""
        _print_note(f"{plugin['id']} ({plugin['scope']}) {plugin['state']}{why}{where}")


def _print_row(state: str, name: str | None, file: str, *, marked: bool) -> None:
    mark = "!" if marked else " "
    shown = output.cut(name or "-", NAME_LENGTH)
    output.say(output.spaced_line(f"{mark} {state:<9} {shown:<16} {file}"))


def _print_note(text: str) -> None:
    output.say(f"{_NOTE}{output.one_line(text)}")


def _state(file: dict[str, Any]) -> str:
    return "disabled" if file["disabled"] else str(file["state"])


def _summary(states: list[str]) -> str:
    counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    return f"{output.counted(len(states), 'file')}: {', '.join(counts)}"
