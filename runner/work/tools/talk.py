"""send_message: a line into a teammate's inbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.errors import ToolError
from runner.work.messages import ToolSpec
from runner.work.tools.base import Tool, ToolContext, parameters


async def _send_message(arguments: Mapping[str, Any], context: ToolContext) -> str:
    to, text = arguments["to"], arguments["text"]
    if not text.strip():
        raise ToolError("the message is empty")
    await context.teammate.send(to, text)
    return f"sent to {to}"


SEND_MESSAGE = Tool(
    run=_send_message,
    spec=ToolSpec(
        name="send_message",
        description="Send a message to a teammate, or to `lead`. It is read between two turns.",
        parameters=parameters(
            "to text",
            to={"type": "string", "description": "Name of the teammate."},
            text={"type": "string"},
        ),
    ),
)
