"""The `members` of team.yaml: who is wanted, by number or by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runner.core import readers
from runner.core.ids import LEAD
from runner.core.readers import Unfit

DEFAULT_MEMBER_NAMES = ("alice", "bob", "carol")
_MORE_NAMES = ("dave", "erin", "frank", "grace", "heidi", "ivan", "judy", "mallory", "niaj")
DEFAULT_ROLE = "worker"
MOST_MEMBERS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSpec:
    """One wanted teammate. `agent` None means: the agent named like the role, else `task`."""

    name: str
    role: str = DEFAULT_ROLE
    agent: str | None = None


def first_members(listed: tuple[MemberSpec, ...], count: int) -> tuple[MemberSpec, ...]:
    """The first `count` of a listed team; workers beyond its end."""
    members = list(listed[:count])
    taken = {member.name for member in listed}
    spare = [name for name in (*DEFAULT_MEMBER_NAMES, *_MORE_NAMES) if name not in taken]
    while len(members) < count:
        name = spare.pop(0) if spare else f"{DEFAULT_ROLE}-{len(members) + 1}"
        members.append(MemberSpec(name=name))
    return tuple(members)


def read_members(value: Any) -> int | tuple[MemberSpec, ...]:
    """A number of members, or the listed ones. Raises: Unfit."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_MEMBERS:
        return value
    if not isinstance(value, list) or not 0 < len(value) <= MOST_MEMBERS:
        raise Unfit(
            f"a number of teammates from 1 to {MOST_MEMBERS}, or a list of as many "
            "{name, role, agent}"
        )
    members = tuple(_member(f"[{at}]", item) for at, item in enumerate(value))
    for at, member in enumerate(members):
        if member.name in {other.name for other in members[:at]}:
            raise Unfit("a name that no other member has", at=f"[{at}].name", found=member.name)
    return members


def _member(at: str, item: Any) -> MemberSpec:
    fields = {"name": item} if isinstance(item, str) else item
    if not isinstance(fields, dict) or "name" not in fields:
        raise Unfit("{name, role, agent}", at=at, found=item)
    for key, value in fields.items():
        reader = _MEMBER_READERS.get(key)
        if reader is None:
            raise Unfit("one of name, role, agent", at=f"{at}.{key}", found="an unknown key")
        if key != "name" and value is None:
            continue
        try:
            reader(value)
        except Unfit as unfit:
            raise Unfit(unfit.expected, at=f"{at}.{key}", found=value) from None
    if fields["name"] == LEAD:
        raise Unfit(
            f"another name: {LEAD} is reserved for the person at the command line",
            at=f"{at}.name",
            found=LEAD,
        )
    return MemberSpec(
        name=fields["name"], role=fields.get("role") or DEFAULT_ROLE, agent=fields.get("agent")
    )


_MEMBER_READERS = {"name": readers.name, "role": readers.one_line, "agent": readers.one_line}
