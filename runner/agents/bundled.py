"""The agents that ship with the package."""

from __future__ import annotations

import functools
from pathlib import Path

from runner.agents.definition import AgentDefinition, parse_agent
from runner.core.data import data_dir
from runner.errors import BundledAgentBroken

# In the order in which they are listed. Those with front matter here share one body.
_AGENTS = {
    "explore": "",
    "plan": "",
    "designer": "",
    "reviewer": "",
    "task": """---
name: task
description: Takes any task from start to finish with every tool; the default of a teammate
spawns: "*"
thinkingLevel: medium
---
""",
    "quick_task": """---
name: quick_task
description: Small mechanical tasks with a clear recipe, such as renames, moves and bulk edits
model: smol
thinkingLevel: low
---
""",
}
_SHARED_BODY = "task.md"


@functools.cache
def load_bundled_agents() -> tuple[AgentDefinition, ...]:
    """The bundled agents, parsed once. Raises: BundledAgentBroken."""
    folder = data_dir("bundled_agents")
    return tuple(read_bundled(folder, *agent) for agent in _AGENTS.items())


def clear_bundled_agents_cache() -> None:
    """Forget what was parsed; for tests."""
    load_bundled_agents.cache_clear()


def read_bundled(folder: Path, name: str, front_matter: str = "") -> AgentDefinition:
    """One agent from its own file, or from `front_matter` over the shared body.

    Raises: BundledAgentBroken.
    """
    path = folder / (_SHARED_BODY if front_matter else f"{name}.md")
    try:
        data = front_matter.encode() + path.read_bytes()
    except OSError as error:
        raise BundledAgentBroken(path, f"cannot be read: {error.strerror}") from error
    definition = parse_agent(data, str(path), "bundled").definition
    if definition is None or definition.name != name:
        raise BundledAgentBroken(path, f"it does not define {name!r}")
    return definition
