"""One agent as its file defines it, and as it works here."""

from __future__ import annotations

from typing import Any

from runner.agents.definition import AgentDefinition
from runner.agents.discovery import Discovery, FoundFile
from runner.agents.effective import BASH, TASK, EffectiveAgent, SpawnPolicy
from runner.agents.merging import shadows
from runner.agents.rules import ToolRule
from runner.cli import output
from runner.cli.agent_files import warnings_of
from runner.cli.agent_setting import SWITCHED_OFF, AgentSetting, ChosenModel
from runner.cli.agent_use import obstacle
from runner.core.tool_names import TOOLS, missing


def _usable_tools(agent: EffectiveAgent) -> list[str]:
    """Its tools as a model gets them: without `task` where it may start nobody."""
    return [name for name in agent.tools if name != TASK or not agent.spawns.is_empty]


def tools_here(agent: EffectiveAgent) -> str:
    """The same in short, and which of those that its file lists are not here.

    `all` does not promise that it may start agents.
    """
    left_out = [name for name in TOOLS if name not in agent.tools and name != TASK]
    most = len(left_out) <= len(TOOLS) / 3
    if agent.definition.tool_rules is None and most and not agent.commands:
        return f"all but {', '.join(left_out)}" if left_out else "all"
    commands = ", ".join(pattern for patterns in agent.commands for pattern in patterns)
    named = [
        f"{name}({commands})" if name == BASH and commands else name
        for name in _usable_tools(agent)
    ]
    gone = [rule.written for rule in agent.definition.tool_rules or () if missing(rule.name)]
    not_here = f" (not here: {', '.join(gone)})" if gone else ""
    return (", ".join(named) or "none") + not_here


def _tools_text(agent: AgentDefinition) -> str:
    """Its tools as the file says them, with the reason beside one that is not there."""
    rules = agent.tool_rules
    if rules is None:
        return "all"
    return ", ".join(map(_marked, rules)) or "none"


def _marked(rule: ToolRule) -> str:
    why = missing(rule.name)
    return rule.written if why is None else f"{rule.written} ({why})"


def agent_object(found: FoundFile, discovery: Discovery, setting: AgentSetting) -> dict[str, Any]:
    """The object of `agents show`; `found` must be the file of an agent that counts."""
    agent = _agent(found)
    effective, model = setting.effective(agent), setting.model(agent)
    return {
        **agent.to_json(),
        "disallowedTools": list(agent.disallowed_tools),
        "maxTurns": agent.max_turns,
        "isolation": agent.isolation,
        "permissionMode": "plan" if agent.plan_mode else None,
        "plugin": found.plugin,
        "disabled": setting.is_disabled(agent.name),
        "shadows": shadows(discovery.files)[agent.name],
        "effective": _effective_object(effective, model),
        "reason": obstacle(effective),
        "warnings": warnings_of(found.parsed, effective, discovery.names),
        "body": agent.system_prompt,
    }


def _effective_object(effective: EffectiveAgent, model: ChosenModel) -> dict[str, Any]:
    policy = effective.spawns
    allowed = policy.allowed if policy.allowed == "*" else list(policy.allowed)
    return {
        "tools": _usable_tools(effective),
        "commands": [list(patterns) for patterns in effective.commands],
        "spawns": {"allowed": allowed, "denied": sorted(policy.denied)},
        "model": {"name": model.name, "reason": model.reason},
        "thinkingLevel": effective.thinking_level,
        "prompt": effective.prompt,
    }


def print_agent(found: FoundFile, discovery: Discovery, setting: AgentSetting) -> None:
    """The same for people: the file, then what holds here, then the prompt as it is sent."""
    agent = _agent(found)
    effective = setting.effective(agent)
    _print_file(found, shadows(discovery.files)[agent.name])
    output.say()
    output.say("on a task here:")
    for key, text in _use(effective, setting.model(agent), setting):
        output.say(f"  {key}: {output.one_line(text)}")
    output.warn(warnings_of(found.parsed, effective, discovery.names))
    output.say()
    output.say_text(effective.prompt)


def _print_file(found: FoundFile, shadowed: list[str]) -> None:
    agent = _agent(found)
    written = agent.to_json()
    for key, value in {
        "name": agent.name,
        "description": agent.description,
        "source": agent.source,
        "plugin": found.plugin,
        "file": agent.file,
        "shadows": shadowed,
        "tools": _tools_text(agent),
        "disallowedTools": [_marked(rule) for rule in agent.disallowed_rules],
        "spawns": (written["spawns"] or "none") if agent.has_spawns else None,
        "model": written["model"],
        "thinkingLevel": agent.thinking_level,
        "output": agent.output,
        "blocking": agent.blocking,
        "maxTurns": agent.max_turns,
        "isolation": agent.isolation,
        "permissionMode": "plan" if agent.plan_mode else None,
    }.items():
        if value not in (None, []):
            output.say(f"{key}: {output.one_line(_value_text(value))}")


def _use(
    effective: EffectiveAgent, model: ChosenModel, setting: AgentSetting
) -> list[tuple[str, str]]:
    """What holds where the agent works, by its name."""
    lines = []
    if setting.is_disabled(effective.name):
        lines.append(("not used", SWITCHED_OFF))
    if why := obstacle(effective):
        lines.append(("cannot work", why))
    lines.append(("tools", ", ".join(_usable_tools(effective)) or "none but submit_result"))
    lines += [("commands", f"only {', '.join(patterns)}") for patterns in effective.commands]
    lines.append(("may start", _policy_text(effective.spawns)))
    lines.append(("model", _model_text(model)))
    if effective.thinking_level:
        lines.append(("thinking level", effective.thinking_level))
    return lines


def _model_text(model: ChosenModel) -> str:
    """The reason of a choice names the model itself."""
    if model.name is None:
        return f"none: {model.reason.removeprefix('no usable model: ')}"
    return model.reason if model.name in model.reason else f"{model.name}: {model.reason}"


def _policy_text(policy: SpawnPolicy) -> str:
    if policy.is_empty:
        return "no agent"
    return str(policy).replace("*", "every agent", 1) if policy.allowed == "*" else str(policy)


def _agent(found: FoundFile) -> AgentDefinition:
    if found.parsed.definition is None:
        raise AssertionError("unreachable: only files of agents come here")
    return found.parsed.definition


def _value_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value_text, value))
    return value if isinstance(value, str) else output.json_text(value, escape=False)
