"""`runner init`: an empty board with commented settings."""

from __future__ import annotations

from pathlib import Path

import click

from runner.cli import here, output
from runner.core.files import create_exclusive
from runner.core.layout import Layout

TEAM_YAML = """\
# Settings of the team that works on this board. Every line is optional; what is
# commented out shows the default or an example. RUNNER_* variables and flags win over it.

# team: team
# model: anthropic/NAME            # its key in ANTHROPIC_API_KEY; or openai/, ollama/, script/PATH
# models:                          # short names that agents may use; the first that can be used
#   smol: ollama/NAME
#   slow: [anthropic/NAME, openai/NAME]

# providers:                       # only for servers of your own
#   openai: {base_url: "http://127.0.0.1:8080/v1"}
# catalog:                         # only for models that the runner does not know
#   openai/my-model: {window: 32768, usd_per_million: {input: 0.5, output: 2}}

# members: 3                       # alice, bob and carol, role worker; or a list:
# members:
#   - {name: alice, role: coder}
#   - {name: bob, role: reviewer, agent: reviewer}

# history: carry                   # carry a teammate's history to its next task, or: fresh
# disabled_agents: []

# limits:                          # seconds and counts
#   poll_interval: 5
#   idle_timeout: 60
#   grace: 10
#   max_turns: 50
#   timeout: 1800
#   verify_timeout: 600
#   max_recursion_depth: 2         # how deep subagents may start subagents
#   max_subagents: 50              # of one run, in all
#   max_parallel_subagents: 4

# budget:                          # ceilings of one run; none by default
#   usd: 5
#   tokens: 1000000
#   time: 3600
"""


@click.command("init")
@click.argument("folder", metavar="[DIR]", required=False, type=Path, help="Default: here.")
@here.as_json
@click.pass_context
def command(context: click.Context, folder: Path | None, as_json: bool) -> None:
    """Make a board: .tasks/, team.yaml and a folder for agents.

    The settings in team.yaml are commented. What is there already is never touched.
    """
    root = here.directory(context)
    if folder is not None:
        root = root / folder
        root.mkdir(parents=True, exist_ok=True)
    layout = Layout(root=root, workspace=root)
    made = _make(layout)
    if as_json:
        output.print_json({"root": str(root), "created": [str(path) for path in made]})
        return
    for path in made:
        output.say(f"made {path}")
    if not made:
        output.say(f"{root} has a board already; nothing was changed")
    output.say('next: `runner tasks add "SUBJECT"`, then `runner run --drain`')
    output.say("tasks for agents need a model: set one in team.yaml, or by --model PROVIDER/NAME")
    output.say("or let an agent propose team and tasks: `runner run --drain --command init`")


def _make(layout: Layout) -> list[Path]:
    """What was missing and is there now. `.team/` brings its own .gitignore at first use."""
    made = []
    for folder in (layout.tasks, layout.root / ".xcsh" / "agents"):
        if not folder.is_dir():
            folder.mkdir(parents=True)
            made.append(folder)
    if create_exclusive(layout.team_yaml, TEAM_YAML.encode()):
        made.append(layout.team_yaml)
    if not layout.team.is_dir():
        layout.ensure_team()
        made.append(layout.team)
    return made
