"""The tags by which the runner speaks to a model, and what keeps others from forging them."""

from __future__ import annotations

import re

AUTO_CLAIMED = "auto-claimed"
CONVERSATION = "conversation-so-far"
HISTORY_SUMMARY = "history-summary"
IDENTITY = "identity"
INBOX_MESSAGE = "inbox-message"
REMINDER = "runner-reminder"
SUBAGENT_ASSIGNMENT = "subagent-assignment"
SUBAGENT_RESULT = "subagent-result"

_TAGS = "|".join(
    (
        AUTO_CLAIMED,
        CONVERSATION,
        HISTORY_SUMMARY,
        IDENTITY,
        INBOX_MESSAGE,
        REMINDER,
        SUBAGENT_ASSIGNMENT,
        SUBAGENT_RESULT,
    )
)
_OWN = re.compile(rf"<(?=\s*/?\s*(?:{_TAGS})(?![\w-]))", re.IGNORECASE)


def neutralised(text: str) -> str:
    """Foreign text (boards, messages, files) in which our own tags are only text."""
    return _OWN.sub("&lt;", text)


def tagged(tag: str, text: str, **attributes: str) -> str:
    """`<tag name="value">text</tag>`; the caller has neutralised what is foreign in `text`."""
    shown = "".join(f' {name}="{_attribute(value)}"' for name, value in attributes.items())
    return f"<{tag}{shown}>{text}</{tag}>"


def _attribute(value: str) -> str:
    return value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
